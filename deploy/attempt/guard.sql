-- Deploy fencepost:attempt/guard to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.tg_attempt__guard()
    returns trigger
    language plpgsql
    volatile
    security definer
    set search_path = pg_catalog, pg_temp
    set client_min_messages = warning
    set timezone = 'UTC'
    set datestyle = 'ISO, MDY'
    set intervalstyle = 'postgres'
    set bytea_output = 'hex'
    set standard_conforming_strings = on
    set lock_timeout = '5s'
as $fn$
begin
    if tg_op = 'DELETE' and ledger.is_pruned_now(old.class, old.campaign_id) then
        return old;
    end if;
    if tg_relid <> 'ledger.attempt'::regclass or tg_op = 'DELETE' then
        raise exception '% of an attempt is refused', tg_op
            using errcode = 'KN902',
                  detail  = 'An attempt is kept as long as its campaign.',
                  hint    = 'Leave it; the campaign''s next attempt is another row.';
    end if;
    if tg_op = 'INSERT' then
        if new.ended_at is not null or new.submitted_at is not null or not exists (
            select
            from ledger.campaign as c
            where c.class = new.class
              and c.campaign_id = new.campaign_id
              and c.state = 'leased'
              and c.attempt_count = new.attempt_no
              and c.generation = new.generation
              and c.lease_principal = session_user
              and c.lease_token_sha256 = new.token_sha256
        ) then
            raise exception 'an attempt begins with the claim of its campaign only'
                using errcode = 'KN901',
                      detail  = 'No open lease of the campaign has this number, generation, '
                                'holder and token.',
                      hint    = 'Call kernel.claim.';
        end if;
        return new;
    end if;

    if old.ended_at is not null
        or row(new.class, new.campaign_id, new.attempt_no, new.generation, new.principal,
               new.principal_oid, new.token_sha256, new.family, new.label, new.begun_at)
            is distinct from
           row(old.class, old.campaign_id, old.attempt_no, old.generation, old.principal,
               old.principal_oid, old.token_sha256, old.family, old.label, old.begun_at)
        or (old.submitted_at is not null
            and row(new.submitted_at, new.submitted_sha256, new.fingerprint, new.approach,
                    new.result, new.evidence_uri, new.evidence_sha256)
                is distinct from
                row(old.submitted_at, old.submitted_sha256, old.fingerprint, old.approach,
                    old.result, old.evidence_uri, old.evidence_sha256))
        or (old.promoted_at is not null and new.promoted_at is distinct from old.promoted_at)
    then
        raise exception 'what an attempt was begun, submitted or ended with never changes'
            using errcode = 'KN903',
                  detail  = 'Each part of an attempt is written once.',
                  hint    = 'Leave it; the campaign''s next attempt is another row.';
    end if;
    return new;
end
$fn$;

comment on function ledger.tg_attempt__guard() is
$doc$Lets an attempt begin with its claim, and each of its parts be written once.

Errors
    KN901 move_refused, KN902 append_only, KN903 frozen_column$doc$;

create trigger attempt_10_guard
    before insert or update or delete on ledger.attempt
    for each row execute function ledger.tg_attempt__guard();
create trigger attempt_20_no_truncate
    before truncate on ledger.attempt
    for each statement execute function ledger.tg__append_only();
create trigger attempt_30_not_by_hand
    after insert or update or delete on ledger.attempt
    for each row
    when (
        current_user <> 'fencepost_owner'
        or session_user = 'fencepost_owner'
        or current_setting('role') <> 'none'
        or current_setting('session_replication_role') = 'replica'
    )
    execute function ledger.tg__not_by_hand();
alter table ledger.attempt enable always trigger attempt_10_guard;
alter table ledger.attempt enable always trigger attempt_20_no_truncate;
alter table ledger.attempt enable always trigger attempt_30_not_by_hand;

commit;
