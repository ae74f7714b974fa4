-- Deploy fencepost:attempt/allowance to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create table ledger.allowance (
    class       text        not null,
    campaign_id bigint      not null,
    fingerprint text        not null,
    reason      text        not null,
    allowed_by  name        not null,
    allowed_at  timestamptz not null,

    constraint allowance_pk primary key (class, campaign_id, fingerprint),
    constraint allowance_campaign_fk
        foreign key (class, campaign_id) references ledger.campaign (class, campaign_id)
);

create trigger allowance_10_kept
    before update or delete on ledger.allowance
    for each row execute function ledger.tg__kept_with_campaign();
create trigger allowance_20_no_truncate
    before truncate on ledger.allowance
    for each statement execute function ledger.tg__append_only();
create trigger allowance_30_not_by_hand
    after insert or update or delete on ledger.allowance
    for each row
    when (
        current_user <> 'fencepost_owner'
        or session_user = 'fencepost_owner'
        or current_setting('role') <> 'none'
        or current_setting('session_replication_role') = 'replica'
    )
    execute function ledger.tg__not_by_hand();
alter table ledger.allowance enable always trigger allowance_10_kept;
alter table ledger.allowance enable always trigger allowance_20_no_truncate;
alter table ledger.allowance enable always trigger allowance_30_not_by_hand;

comment on table ledger.allowance is
    'Outcomes that an admin lets a campaign, and those that inherit from it, submit again.';

commit;
