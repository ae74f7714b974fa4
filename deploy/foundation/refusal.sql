-- Deploy fencepost:foundation/refusal to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create table ledger.refusal (
    class       text        not null,
    refusal_no  bigint      not null generated always as identity,
    principal   name        not null,
    function    text        not null,
    outcome     text        not null,
    campaign_id bigint,
    generation  bigint,
    message     text        not null,
    refused_at  timestamptz not null,
    suppressed  bigint      not null default 0,

    constraint refusal_pk primary key (class, refusal_no),
    constraint refusal_outcome_fk foreign key (outcome) references ledger.answer (code),
    constraint refusal_is_not_ok check (outcome <> 'ok'),
    constraint refusal_suppressed_is_a_count check (suppressed >= 0)
);

create index refusal_principal_ix on ledger.refusal (principal, refusal_no);

comment on table ledger.refusal is 'Calls that the kernel did not carry out.';
comment on column ledger.refusal.class is 'The class that the caller named; it need not exist.';
comment on column ledger.refusal.generation is 'The generation that the caller named.';
comment on column ledger.refusal.suppressed is
    'Further refusals of this principal that were over the rate and got no row of their own.';

commit;
