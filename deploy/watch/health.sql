-- Deploy fencepost:watch/health to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create type kernel.health as (
    class    text,
    subject  text,
    quantity numeric,
    is_well  boolean,
    message  text
);

comment on type kernel.health is 'One thing that health looked at.';
comment on column kernel.health.class is 'Null where it concerns the server.';
comment on column kernel.health.quantity is 'A count, or seconds where the subject ends in _s.';

create or replace function kernel.health()
    returns setof kernel.health
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
    v_now constant timestamptz := ledger.clock();
begin
    if not (ledger.session_is('auditor') or ledger.session_is('admin')) then
        return;
    end if;

    return query
    select c.class, s.subject, s.quantity, s.is_well, s.message
    from ledger.class as c
    cross join lateral (
        select count(*) filter (where h.lease_expires_at <= v_now) as expired,
               max(extract(epoch from v_now - h.lease_expires_at))
                   filter (where h.lease_expires_at <= v_now) as longest_s
        from ledger.campaign as h
        where h.class = c.class and h.lease_token_sha256 is not null
    ) as leases
    cross join lateral (
        select extract(epoch from v_now - max(r.passed_at)) as since_s
        from ledger.reaper_pass as r
        where r.class = c.class
    ) as pass
    cross join lateral (
        select count(*) as overdue
        from ledger.target as t
        where t.class = c.class
          and t.retired_at is null
          and t.next_slot_at + t.observe_within <= v_now
    ) as slots
    cross join lateral (
        select count(*) as parked
        from ledger.campaign as p
        where p.class = c.class and p.state = 'parked'
    ) as parking
    cross join lateral (
        select count(*) as unjudgeable
        from ledger.campaign as a
        where a.class = c.class
          and a.state = 'attempted'
          and not exists (
              select
              from ledger.enrolment as e
              join pg_catalog.pg_roles as r
                  on r.rolname = e.principal and r.oid = e.principal_oid
              where e.class = c.class
                and e.duty = 'verifier'
                and ledger.is_member(e.principal_oid, 'fencepost_verifier')
                and ledger.bar_of(e.principal, e.principal_oid, a.class, a.campaign_id,
                                  a.attempt_count, a.separate_family) is null
          )
    ) as judging
    cross join lateral (values
        ('reaper_last_pass_s', pass.since_s,
         coalesce(pass.since_s < 600, false) or leases.expired = 0,
         'How long ago a reaper went over the class; null: never.'),
        ('expired_leases', leases.expired::numeric,
         coalesce(leases.longest_s < 600, true),
         'Leases that have run out and were not taken back. Start a reaper; if one runs, the '
         'holder''s transaction is open.'),
        ('overdue_observations', slots.overdue::numeric, slots.overdue = 0,
         'Targets whose scheduled observation is late. Look after the sensor.'),
        ('parked_campaigns', parking.parked::numeric, parking.parked = 0,
         'Campaigns that wait for a person: redrive or cancel them.'),
        ('unjudgeable_campaigns', judging.unjudgeable::numeric, judging.unjudgeable = 0,
         'Submitted attempts that no enrolled verifier may judge. Enrol an independent one.')
    ) as s (subject, quantity, is_well, message)
    where c.retired_at is null
    order by c.class, s.subject;

    return query
    select null::text, s.subject, s.quantity, s.is_well, s.message
    from (
        select max(extract(epoch from v_now - a.xact_start)) as oldest_s
        from pg_catalog.pg_stat_activity as a
        where a.datname = current_database() and a.backend_xmin is not null
    ) as snapshots
    cross join (
        select coalesce(sum(t.n_dead_tup), 0) as dead, coalesce(sum(t.n_live_tup), 0) as live
        from pg_catalog.pg_stat_all_tables as t
        where t.schemaname = 'ledger'
    ) as rows
    cross join lateral (values
        ('oldest_snapshot_s', snapshots.oldest_s::numeric,
         coalesce(snapshots.oldest_s < 600, true),
         'The oldest open snapshot. Dead rows newer than it stay, and claims walk over them.'),
        ('dead_rows', rows.dead, rows.dead <= rows.live + 10000,
         'Dead rows of the ledger''s tables. Let autovacuum run more often.'),
        ('notification_queue_share', pg_notification_queue_usage()::numeric,
         pg_notification_queue_usage() < 0.5,
         'How full the queue of notifications is, 0 to 1. End the session that listens and idles.')
    ) as s (subject, quantity, is_well, message);
end
$fn$;

comment on function kernel.health() is
$doc$Looks over every class and the server, for auditors and admins: one row per subject, with
whether it is well and what to do where it is not. No row to anybody else.

Subjects of a class: reaper_last_pass_s, expired_leases, overdue_observations, parked_campaigns,
unjudgeable_campaigns. Of the server: oldest_snapshot_s, dead_rows, notification_queue_share. What
other roles' sessions do is seen only as far as this server shows it to fencepost_owner.$doc$;

grant execute on function kernel.health() to fencepost_auditor, fencepost_admin;

commit;
