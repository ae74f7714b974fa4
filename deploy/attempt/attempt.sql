-- Deploy fencepost:attempt/attempt to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create table ledger.attempt (
    class                   text        not null,
    campaign_id             bigint      not null,
    attempt_no              integer     not null,
    generation              bigint      not null,
    principal               name        not null,
    principal_oid           oid         not null,
    token_sha256            bytea       not null,
    family                  text,
    label                   text,
    begun_at                timestamptz not null,

    submitted_at            timestamptz,
    submitted_sha256        bytea,
    fingerprint             text,
    approach                text,
    result                  jsonb,
    evidence_uri            text,
    evidence_sha256         bytea,

    promotion_generation    bigint,
    promotion_principal     name,
    promotion_principal_oid oid,
    promotion_token_sha256  bytea,
    promotion_sha256        bytea,
    promoted_at             timestamptz,

    ended_at                timestamptz,
    ended_sha256            bytea,
    ending                  text,
    reason                  text,

    constraint attempt_pk primary key (class, campaign_id, attempt_no),
    constraint attempt_generation_uq unique (class, campaign_id, generation),
    constraint attempt_campaign_fk
        foreign key (class, campaign_id) references ledger.campaign (class, campaign_id),
    constraint attempt_ending_is_known check (ending in (
        'failed', 'released', 'lost', 'rejected', 'outdated', 'contradicted', 'confirmed',
        'withdrawn'
    )),
    constraint attempt_ends_at_a_time check ((ended_at is null) = (ending is null)),
    constraint attempt_submission_is_whole check (
        (submitted_at is null) = (result is null)
        and (submitted_at is null) = (submitted_sha256 is null)
        and (submitted_at is null or fingerprint is not null)
    ),
    constraint attempt_is_judged_only_when_submitted check (
        submitted_at is not null
        or ending is null
        or ending in ('failed', 'released', 'lost', 'withdrawn')
    ),
    constraint attempt_promotion_is_whole check (
        num_nulls(promotion_generation, promotion_principal, promotion_principal_oid,
                  promotion_token_sha256, promotion_sha256) in (0, 5)
        and (promoted_at is null or promotion_sha256 is not null)
    )
);

comment on table ledger.attempt is 'One try at a campaign, made under one lease and ended once.';
comment on column ledger.attempt.generation is 'The generation under which it was claimed.';
comment on column ledger.attempt.family is
    'The model family of its principal, as registered when it was claimed.';
comment on column ledger.attempt.fingerprint is
    'What identifies its outcome; for Git, a patch id. The next attempt must have another.';
comment on column ledger.attempt.promotion_sha256 is
    'The digest of the promote or outdate that settled it; the other promotion columns say whose.';

commit;
