-- Deploy fencepost:verification/verdict to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create table ledger.verdict (
    class           text        not null,
    campaign_id     bigint      not null,
    attempt_no      integer     not null,
    generation      bigint      not null,
    verdict         text        not null,
    principal       name        not null,
    principal_oid   oid         not null,
    token_sha256    bytea       not null,
    family          text,
    fingerprint     text,
    command         text,
    exit_code       integer,
    reason          text,
    evidence_uri    text,
    evidence_sha256 bytea,
    judged_at       timestamptz not null,
    content_sha256  bytea       not null,

    constraint verdict_pk primary key (class, campaign_id, generation),
    constraint verdict_attempt_fk foreign key (class, campaign_id, attempt_no)
        references ledger.attempt (class, campaign_id, attempt_no),
    constraint verdict_is_known check (verdict in ('accepted', 'rejected', 'unverifiable')),
    constraint verdict_acceptance_passed_the_command check (
        verdict <> 'accepted' or (exit_code = 0 and fingerprint is not null)
    ),
    constraint verdict_rests_on_evidence check (
        verdict = 'unverifiable' or (evidence_uri is not null and evidence_sha256 is not null)
    ),
    constraint verdict_gives_a_reason check (verdict = 'accepted' or reason is not null)
);

-- Recorded once and for good; abstentions are as many as there were verifiers.
create unique index verdict_final_uq
    on ledger.verdict (class, campaign_id, attempt_no)
    where verdict <> 'unverifiable';

create trigger verdict_10_kept
    before update or delete on ledger.verdict
    for each row execute function ledger.tg__kept_with_campaign();
create trigger verdict_20_no_truncate
    before truncate on ledger.verdict
    for each statement execute function ledger.tg__append_only();
create trigger verdict_30_not_by_hand
    after insert or update or delete on ledger.verdict
    for each row
    when (
        current_user <> 'fencepost_owner'
        or session_user = 'fencepost_owner'
        or current_setting('role') <> 'none'
        or current_setting('session_replication_role') = 'replica'
    )
    execute function ledger.tg__not_by_hand();
alter table ledger.verdict enable always trigger verdict_10_kept;
alter table ledger.verdict enable always trigger verdict_20_no_truncate;
alter table ledger.verdict enable always trigger verdict_30_not_by_hand;

comment on table ledger.verdict is
    'What a verifier found of an attempt, one row per verification lease that was used.';
comment on column ledger.verdict.verdict is 'unverifiable is an abstention: it ends nothing.';
comment on column ledger.verdict.fingerprint is
    'As the verifier computed it from its own clean checkout.';
comment on column ledger.verdict.command is
    'What was run; null where a submission was rejected unrun.';

commit;
