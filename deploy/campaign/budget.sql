-- Deploy fencepost:campaign/budget to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.spent_budget(
    p_campaign ledger.campaign,
    p_class    ledger.class,
    p_phase    text
)
    returns text
    language sql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
    select case
        when p_phase = 'work' and p_campaign.failure_count >= p_class.attempt_budget
            then 'attempt_budget'
        when p_phase = 'work'
            and p_campaign.loss_count
                + greatest(p_campaign.release_count - p_class.release_budget, 0)
                >= p_class.loss_budget
            then 'loss_budget'
        when p_phase = 'verification'
            and p_campaign.verification_loss_count >= p_class.verification_loss_budget
            then 'verification_loss_budget'
        when p_phase = 'promotion'
            and p_campaign.promotion_loss_count >= p_class.promotion_loss_budget
            then 'promotion_loss_budget'
    end;
$fn$;

comment on function ledger.spent_budget(ledger.campaign, ledger.class, text) is
$doc$Which budget of a phase (work, verification, promotion) has run out; null while none has.

Releases beyond release_budget count as losses.$doc$;

create or replace function ledger.retry_at(
    p_class ledger.class,
    p_count integer,
    p_now   timestamptz
)
    returns timestamptz
    language sql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
    -- The exponent is bounded: 2^20 times the longest base, 31 days, still is an interval.
    select p_now
        + least(
            p_class.backoff_cap,
            p_class.backoff_base * power(2, least(greatest(p_count - 1, 0), 20))
        )
        * (1 + p_class.backoff_jitter::double precision * (2 * random() - 1));
$fn$;

comment on function ledger.retry_at(ledger.class, integer, timestamptz) is
$doc$When to try again after something went wrong the p_count-th time: the one policy of waiting.

backoff_base, doubled each time, up to backoff_cap; then shorter or longer by up to the share
backoff_jitter, so that what failed together is not tried again together.$doc$;

create or replace function ledger.lease_length(p_class ledger.class, p_lease_for interval)
    returns interval
    language plpgsql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    -- Compared in seconds: as intervals '1 year -359 days' is a day, and lasts for six.
    v_seconds constant numeric := extract(epoch from p_lease_for);
begin
    if v_seconds < extract(epoch from p_class.lease_min)
        or v_seconds > extract(epoch from p_class.lease_max)
    then
        raise exception 'a lease of % is out of range', p_lease_for
            using errcode = 'KN104',
                  detail  = format('A lease of class %s lasts from %s to %s.',
                                   p_class.class, p_class.lease_min, p_class.lease_max),
                  hint    = 'Claim for a part of the attempt and renew while it runs.';
    end if;
    return coalesce(make_interval(secs => v_seconds::double precision), p_class.lease_default);
end
$fn$;

comment on function ledger.lease_length(ledger.class, interval) is
$doc$How long a lease lasts from now: p_lease_for, or the class's default where that is null.

Errors
    KN104 argument_out_of_range (outside lease_min to lease_max)$doc$;

commit;
