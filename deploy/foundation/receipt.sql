-- Deploy fencepost:foundation/receipt to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create type kernel.receipt as (
    outcome          text,
    duplicate        boolean,
    moved            boolean,
    note             text,
    class            text,
    campaign_id      bigint,
    generation       bigint,
    state            text,
    lease_expires_at timestamptz,
    message          text
);

comment on type kernel.receipt is
    'What a writing function answers. Every other result type begins with these fields.';
comment on column kernel.receipt.outcome is 'ok, or why not: a code of ledger.answer.';
comment on column kernel.receipt.duplicate is
    'The same call had been carried out before; nothing was written now.';
comment on column kernel.receipt.moved is 'This call changed the state of a campaign.';
comment on column kernel.receipt.note is
    'Why an ok call moved nothing, or which transition it made where that is not plain.';
comment on column kernel.receipt.generation is 'The campaign''s generation as it stands.';
comment on column kernel.receipt.state is 'The campaign''s state as it stands.';
comment on column kernel.receipt.message is 'A sentence for people; null when ok.';

commit;
