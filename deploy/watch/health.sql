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
comment on column kernel.health.quantity is
    'A count, a share, or seconds where the subject ends in _s; null where it is not known.';
comment on column kernel.health.message is 'What it is, and what to do where it is not well.';

create or replace function ledger.class_health(p_class ledger.class, p_at timestamptz)
    returns setof kernel.health
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    with waiting as (
        -- What only a reaper takes further when nobody else does.
        select count(*) as campaigns,
               count(*) filter (where c.lease_expires_at <= p_at) as expired,
               max(extract(epoch from p_at - c.lease_expires_at)) as longest_s
        from ledger.campaign as c
        where c.class = p_class.class
          and c.state in ('leased', 'attempted', 'verifying', 'accepted', 'promoting')
    ),
    passed as (
        select extract(epoch from p_at - r.passed_at) as since_s, r.locked_count
        from ledger.reaper_pass as r
        where r.class = p_class.class
        order by r.passed_at desc
        limit 1
    ),
    slots as (
        select count(*) as overdue,
               string_agg(t.target, ', ' order by t.next_slot_at)
                   filter (where t.place <= 5) as named
        from (
            select t.target, t.next_slot_at, row_number() over (order by t.next_slot_at) as place
            from ledger.target as t
            where t.class = p_class.class
              and t.retired_at is null
              and t.next_slot_at + t.observe_within <= p_at
        ) as t
    ),
    parking as (
        select count(*) as parked,
               string_agg(c.campaign_id::text, ', ' order by c.campaign_id)
                   filter (where c.place <= 5) as named
        from (
            select c.campaign_id, row_number() over (order by c.campaign_id) as place
            from ledger.campaign as c
            where c.class = p_class.class and c.state = 'parked'
        ) as c
    ),
    judging as (
        select count(*) as unjudgeable,
               string_agg(c.campaign_id::text, ', ' order by c.campaign_id)
                   filter (where c.place <= 5) as named
        from (
            select c.campaign_id, row_number() over (order by c.campaign_id) as place
            from ledger.campaign as c
            where c.class = p_class.class
              and c.state in ('attempted', 'accepted')
              and not ledger.has_judge(c)
        ) as c
    ),
    effects as (
        select count(*) filter (where o.state = 'unknown') as unknown,
               count(*) filter (where o.state = 'pending') as overdue,
               max(extract(epoch from p_at - o.lease_expires_at)) as longest_s,
               string_agg(o.operation_key, ', ' order by o.updated_at)
                   filter (where o.state = 'unknown' and o.place <= 5) as named
        from (
            select o.operation_key, o.state, o.updated_at, o.lease_expires_at,
                   row_number() over (partition by o.state order by o.updated_at) as place
            from ledger.operation as o
            where o.class = p_class.class
              and (o.state = 'unknown'
                   or (o.state = 'pending' and o.lease_expires_at <= p_at))
        ) as o
    )
    select p_class.class, s.subject, s.quantity, s.is_well, s.message
    from waiting as w
    cross join slots as o
    cross join effects as x
    cross join parking as k
    cross join judging as j
    left join passed as r on true
    cross join lateral (values
        ('reaper_last_pass_s', r.since_s, coalesce(r.since_s < 600, w.campaigns = 0),
         'Since a reaper last went over the class, to the minute; null: never. Start one.'),
        ('expired_leases', w.expired::numeric, coalesce(w.longest_s < 600, true),
         'Leases that have run out and were not taken back. Start a reaper.'),
        ('locked_leases', coalesce(r.locked_count, 0)::numeric,
         coalesce(r.locked_count, 0) = 0 or coalesce(w.longest_s < 60, true),
         'Of these, what the reaper left at its last pass since another transaction had it locked. '
         'End the session that holds that transaction open.'),
        ('overdue_observations', o.overdue::numeric, o.overdue = 0,
         concat('Targets whose scheduled observation is late. Look after the sensor.',
                ' Of these: ' || o.named)),
        ('parked_campaigns', k.parked::numeric, k.parked = 0,
         concat('Campaigns that wait for a person: redrive or cancel them.',
                ' Of these: ' || k.named)),
        ('unjudgeable_campaigns', j.unjudgeable::numeric, j.unjudgeable = 0,
         concat('Attempts that no enrolled verifier may judge or promote. Enrol another.',
                ' Of these: ' || j.named)),
        ('unknown_operations', x.unknown::numeric, x.unknown = 0,
         concat('External operations of which nobody knows whether they took effect. Read the '
                'target, then call kernel.resolve_operation.', ' Of these: ' || x.named)),
        ('expired_operations', x.overdue::numeric, coalesce(x.longest_s < 600, true),
         'External operations without a campaign whose lease has run out. Let the reaper call '
         'kernel.expire_operations.')
    ) as s (subject, quantity, is_well, message);
$fn$;

comment on function ledger.class_health(ledger.class, timestamptz) is
$doc$What kernel.health says of a class at p_at.$doc$;

create or replace function ledger.server_health(
    p_oldest_s    numeric,
    p_oldest_xids numeric,
    p_dead        numeric,
    p_live        numeric,
    p_queue       numeric,
    p_collectors  numeric,
    p_collecting  numeric,
    p_collected   text
)
    returns setof kernel.health
    language sql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
    values
        (null::text, 'oldest_snapshot_s', p_oldest_s, coalesce(p_oldest_s < 600, true),
         'How long the oldest transaction is open, as far as fencepost_owner is shown it; null: it '
         'is not. Dead rows newer than it stay, and claims walk over them. End its session.'),
        (null, 'oldest_snapshot_xids', p_oldest_xids, coalesce(p_oldest_xids < 1000000, true),
         'How many transactions ago the oldest snapshot was taken, also by a replication slot or a '
         'prepared transaction. Dead rows newer than it stay. End what holds it.'),
        (null, 'dead_rows', p_dead, p_dead <= p_live + 10000,
         'Dead rows of the ledger''s tables. Let autovacuum run more often.'),
        (null, 'notification_queue_share', p_queue, p_queue < 0.5,
         'How full the queue of notifications is, 0 to 1. End the session that listens and idles.'),
        (null, 'collector_sessions', p_collecting, p_collecting > 0 or p_collectors = 0,
         concat('Sessions of collectors: what the server itself denies is recorded while there is '
                'one. Start a collector that goes on.',
                ' The last denial was recorded at ' || p_collected || '.'));
$fn$;

comment on function ledger.server_health(
    numeric, numeric, numeric, numeric, numeric, numeric, numeric, text
) is
$doc$What kernel.health says of the server.

Parameters
    p_oldest_s      the age of the oldest transaction, in seconds; null where it is not shown
    p_oldest_xids   the age of the oldest snapshot, in transactions; null where there is none
    p_dead, p_live  rows of the ledger's tables
    p_queue         the share of the queue of notifications that is in use
    p_collectors    how many roles may collect
    p_collecting    how many sessions of theirs there are
    p_collected     when the newest denial was recorded; null where there is none$doc$;

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
    v_class ledger.class;
    v_now   timestamptz;
begin
    if not (ledger.session_is('auditor') or ledger.session_is('admin')) then
        return;
    end if;

    for v_class in
        select c.* from ledger.class as c where c.retired_at is null order by c.class
    loop
        v_now := ledger.clock();
        return query select h.* from ledger.class_health(v_class, v_now) as h;
    end loop;

    -- When a transaction began is hidden from who may not see all of pg_stat_activity; how old its
    -- snapshot is, is not.
    v_now := ledger.clock();
    return query
    select h.*
    from (
        select max(o.open_s) as open_s, max(o.xids) as xids
        from (
            select extract(epoch from v_now - a.xact_start) as open_s,
                   greatest(age(a.backend_xid), age(a.backend_xmin)) as xids
            from pg_catalog.pg_stat_activity as a
            -- Somebody's session here, or one that sends the log; vacuum holds nothing back.
            where coalesce(a.datname, current_database()) = current_database()
              and a.usesysid is not null
              and (a.backend_xid is not null or a.backend_xmin is not null)
            union all
            select extract(epoch from v_now - p.prepared), age(p.transaction)
            from pg_catalog.pg_prepared_xacts as p
            where p.database = current_database()
            union all
            select null, age(s.xmin)
            from pg_catalog.pg_replication_slots as s
        ) as o
    ) as oldest
    cross join (
        select coalesce(sum(t.n_dead_tup), 0) as dead, coalesce(sum(t.n_live_tup), 0) as live
        from pg_catalog.pg_stat_all_tables as t
        where t.schemaname = 'ledger'
    ) as rows
    cross join (
        select count(*) as roles, coalesce(sum(r.sessions), 0) as sessions
        from (
            select (select count(*) from pg_catalog.pg_stat_activity as a
                    where a.usesysid = r.oid and a.datname = current_database()) as sessions
            from pg_catalog.pg_roles as r
            where r.rolcanlogin and ledger.is_member(r.oid, 'fencepost_collector')
        ) as r
    ) as collectors
    cross join lateral ledger.server_health(
        oldest.open_s, oldest.xids, rows.dead, rows.live, pg_notification_queue_usage()::numeric,
        collectors.roles, collectors.sessions,
        (select d.reported_at::text from ledger.denial as d order by d.denial_no desc limit 1)
    ) as h;
end
$fn$;

comment on function kernel.health() is
$doc$Looks over every class that is in use and the server, for auditors and admins: one row per
subject, with whether it is well and what to do where it is not. No row to anybody else.

Subjects of a class: reaper_last_pass_s, expired_leases, locked_leases, overdue_observations,
parked_campaigns, unjudgeable_campaigns, unknown_operations, expired_operations. Of the server:
oldest_snapshot_s, oldest_snapshot_xids, dead_rows, notification_queue_share, and, where a role may
collect, collector_sessions: one that is run now and then is seen only while it runs. Grant
pg_read_all_stats to fencepost_owner to be shown how long other roles' transactions are open.$doc$;

grant execute on function kernel.health() to fencepost_auditor, fencepost_admin;

commit;
