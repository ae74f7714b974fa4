-- Deploy fencepost:lease/as_lease to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.as_lease(
    p_receipt  kernel.receipt,
    p_campaign ledger.campaign default null,
    p_class    ledger.class    default null
)
    returns kernel.lease
    language sql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
    select row(
        p_receipt.outcome, p_receipt.duplicate, p_receipt.moved, p_receipt.note,
        p_receipt.class, p_receipt.campaign_id, p_receipt.generation, p_receipt.state,
        p_receipt.lease_expires_at, p_receipt.message,
        p_campaign.attempt_count, p_class.attempt_limit,
        p_campaign.lease_granted_at + p_class.lease_cap
    )::kernel.lease;
$fn$;

comment on function ledger.as_lease(kernel.receipt, ledger.campaign, ledger.class) is
$doc$A receipt as a lease; a refusal has neither campaign nor class, and null in their fields.$doc$;

commit;
