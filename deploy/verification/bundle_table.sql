-- Deploy fencepost:verification/bundle_table to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create table ledger.bundle (
    class       text        not null,
    campaign_id bigint      not null,
    attempt_no  integer     not null,
    content     jsonb       not null,
    sha256      bytea       not null,
    made_at     timestamptz not null,

    constraint bundle_pk primary key (class, campaign_id, attempt_no),
    constraint bundle_attempt_fk foreign key (class, campaign_id, attempt_no)
        references ledger.attempt (class, campaign_id, attempt_no),
    constraint bundle_digest_is_a_sha256 check (octet_length(sha256) = 32)
);

create trigger bundle_10_kept
    before update or delete on ledger.bundle
    for each row execute function ledger.tg__kept_with_campaign();
create trigger bundle_20_no_truncate
    before truncate on ledger.bundle
    for each statement execute function ledger.tg__append_only();
create trigger bundle_30_not_by_hand
    after insert or update or delete on ledger.bundle
    for each row
    when (
        current_user <> 'fencepost_owner'
        or session_user = 'fencepost_owner'
        or current_setting('role') <> 'none'
        or current_setting('session_replication_role') = 'replica'
    )
    execute function ledger.tg__not_by_hand();
alter table ledger.bundle enable always trigger bundle_10_kept;
alter table ledger.bundle enable always trigger bundle_20_no_truncate;
alter table ledger.bundle enable always trigger bundle_30_not_by_hand;

comment on table ledger.bundle is
    'What is judged of an attempt: made once, by the first verification that is claimed.';
comment on column ledger.bundle.content is
    'class, campaign_id, attempt_no, target, location, desired_state, acceptance, result, '
    'fingerprint.';
comment on column ledger.bundle.sha256 is 'Of content; a judgement names it.';

create type kernel.bundle as (
    outcome              text,
    duplicate            boolean,
    moved                boolean,
    note                 text,
    class                text,
    campaign_id          bigint,
    generation           bigint,
    state                text,
    lease_expires_at     timestamptz,
    message              text,
    attempt_no           integer,
    target               text,
    location             jsonb,
    desired_state        jsonb,
    acceptance           jsonb,
    result               jsonb,
    fingerprint          text,
    refused_fingerprints text[],
    bundle_sha256        bytea,
    promotes             boolean,
    operations           jsonb
);

comment on type kernel.bundle is 'What a verifier is given to judge, and then to promote.';
comment on column kernel.bundle.acceptance is 'As frozen when the campaign opened.';
comment on column kernel.bundle.result is 'What the worker submitted.';
comment on column kernel.bundle.bundle_sha256 is 'To be passed to judge: what was judged is this.';
comment on column kernel.bundle.operations is
    'External operations of the campaign of which nobody knows whether they took effect: as in '
    'kernel.assignment.';

commit;
