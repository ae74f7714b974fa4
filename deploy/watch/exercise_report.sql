-- Deploy fencepost:watch/exercise_report to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create type kernel.exercise as (
    class            text,
    day              date,
    window_begins_at timestamptz,
    window_ends_at   timestamptz,
    eligible         bigint,
    confirmed        bigint,
    human_acts       bigint,
    verdict          text
);

comment on type kernel.exercise is 'A day of exercise_report, or with day null its whole window.';
comment on column kernel.exercise.eligible is
    'Campaigns that were open at some time of it and needed work: not those that lapsed, nor those '
    'that an admin had set aside before.';
comment on column kernel.exercise.confirmed is
    'Campaigns that a scheduled green observation confirmed in it.';
comment on column kernel.exercise.human_acts is
    'What admins did to campaigns, and changes of the class''s configuration.';
comment on column kernel.exercise.verdict is
    'autonomous, assisted, failing or under_exercised; of the whole window.';

create or replace function ledger.exercise(
    p_class    text,
    p_begin_at timestamptz,
    p_end_at   timestamptz
)
    returns kernel.exercise
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    -- What was pruned since counts by its tombstone.
    select row(
        p_class,
        (p_begin_at at time zone 'UTC')::date,
        p_begin_at,
        p_end_at,
        (select count(*)
         from ledger.campaign as c
         where c.class = p_class
           and c.opened_at < p_end_at
           and (c.closed_at is null or c.closed_at >= p_begin_at)
           and c.state <> 'lapsed'
           and not (c.state = 'parked' and c.parked_for = 'admin' and c.last_at < p_begin_at))
        + (select count(*)
           from ledger.tombstone as t
           where t.class = p_class
             and t.opened_at < p_end_at
             and t.closed_at >= p_begin_at
             and t.final_state <> 'lapsed'),
        (select count(*)
         from ledger.campaign as c
         where c.class = p_class
           and c.state = 'confirmed'
           and c.closed_at >= p_begin_at
           and c.closed_at < p_end_at)
        + (select count(*)
           from ledger.tombstone as t
           where t.class = p_class
             and t.final_state = 'confirmed'
             and t.closed_at >= p_begin_at
             and t.closed_at < p_end_at),
        (select count(*)
         from ledger.campaign_event as e
         where e.class = p_class
           and e.at >= p_begin_at
           and e.at < p_end_at
           and ledger.is_human_act(e))
        + (select count(*)
           from ledger.tombstone as t
           cross join unnest(t.human_acts_at) as h (at)
           where t.class = p_class and h.at >= p_begin_at and h.at < p_end_at)
        + (select count(*)
           from ledger.config_event as f
           where f.class = p_class and f.at >= p_begin_at and f.at < p_end_at),
        null
    )::kernel.exercise;
$fn$;

comment on function ledger.exercise(text, timestamptz, timestamptz) is
$doc$What a class did from p_begin_at up to p_end_at, without a verdict.$doc$;

create or replace function kernel.exercise_report(
    p_class  text,
    p_window interval default '7 days'
)
    returns setof kernel.exercise
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
declare
    v_now   constant timestamptz := ledger.clock();
    v_begin timestamptz;
    v_whole kernel.exercise;
begin
    perform ledger.require_class(p_class);
    perform ledger.require('p_window', p_window is not null);
    if extract(epoch from p_window) not between 86400 and 31622400 then
        raise exception 'a window of % is out of range', p_window
            using errcode = 'KN104',
                  detail  = 'It lasts from 1 to 366 days.',
                  hint    = 'Ask for whole days, "7 days".';
    end if;
    if not (ledger.session_is('auditor') or ledger.session_is('admin')) then
        return;
    end if;
    perform ledger.known_class(p_class);
    v_begin := v_now - make_interval(secs => extract(epoch from p_window)::double precision);

    v_whole := ledger.exercise(p_class, v_begin, v_now);
    v_whole.day := null;
    v_whole.verdict := case
        when v_whole.eligible = 0 then 'under_exercised'
        when v_whole.confirmed = 0 or exists (
            select
            from ledger.campaign as c
            where c.class = p_class and c.state = 'parked' and c.parked_for <> 'admin'
        ) then 'failing'
        when v_whole.human_acts > 0 then 'assisted'
        else 'autonomous'
    end;

    return query
    select x.*
    from generate_series(0, ceil(extract(epoch from p_window) / 86400)::integer - 1) as d (no)
    cross join lateral ledger.exercise(
        p_class,
        v_begin + d.no * interval '24 hours',
        least(v_begin + (d.no + 1) * interval '24 hours', v_now)
    ) as x;
    return next v_whole;
end
$fn$;

comment on function kernel.exercise_report(text, interval) is
$doc$Counts, per day and for the whole window up to now, what a class did by itself. For auditors
and admins; no row to anybody else.

Parameters
    p_class   the class
    p_window  1 to 366 days

A day is one of 24 hours, from the beginning of the window on, and is named by the date (UTC) on
which it begins. The last row, its day null, is the whole window and has the verdict, the first of
these that holds:
    under_exercised  no campaign needed work: nothing to do is not success
    failing          none was confirmed; or one is parked because a budget or a term ran out
    assisted         an admin acted on a campaign, or changed the class's configuration
    autonomous       campaigns were confirmed, and nobody did

Errors
    KN101, KN102, KN104 (p_window), KN106$doc$;

grant execute on function kernel.exercise_report(text, interval)
    to fencepost_auditor, fencepost_admin;

commit;
