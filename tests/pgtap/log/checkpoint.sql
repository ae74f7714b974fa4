-- kernel.checkpoint digests what was logged since the last one, chained to it.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/log.psql
select plan(34);

select testing.callable_by('kernel.checkpoint', 'auditor', 'reaper');

-- The digest as whoever keeps the checkpoints outside would make it.
create function testing.text_of(p_values text[])
    returns text
    language sql
as $fn$
    select string_agg(coalesce(octet_length(v) || ':' || v, '-'), ',' order by place)
    from unnest(p_values) with ordinality as x (v, place)
$fn$;

create function testing.digest_of(p_class text, p_no bigint, p_from text, p_upto text)
    returns bytea
    language sql
as $fn$
    select sha256(convert_to(testing.text_of(array[
        '1', k.class, k.checkpoint_no::text,
        to_char(k.made_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), k.made_by::text,
        k.upto_epoch::text, k.upto_xid::text, k.event_count::text,
        (select encode(sha256(coalesce(string_agg(
                    ledger.event_digest(e), '' order by e.epoch, e.xid, e.campaign_id, e.event_no
                ), '')), 'hex')
         from ledger.campaign_event as e
         where e.class = p_class and e.xid >= p_from::xid8 and e.xid < p_upto::xid8),
        (select encode(p.sha256, 'hex') from ledger.checkpoint as p
         where p.class = p_class and p.checkpoint_no = p_no - 1)
    ]), 'UTF8'))
    from ledger.checkpoint as k
    where k.class = p_class and k.checkpoint_no = p_no
$fn$;

create function testing.now_xid()
    returns text
    language sql
as $fn$ select pg_current_xact_id()::text $fn$;

-- == the first ====================================================================================

select testing.verified();
select testing.open('another');
select testing.open('elsewhere', 'ship');
select testing.as_if_committed_each();
-- Two campaigns moved in one transaction, amid the moves of one of them.
select testing.tamper('ledger.campaign_event', $$
    update ledger.campaign_event as e
    set xid = (select x.xid from ledger.campaign_event as x
               where x.class = 'fix' and x.campaign_id = testing.id() and x.event_no = 2)
    where e.class = 'fix' and e.campaign_id = testing.id('another') $$);
select testing.clock_passes('1 minute');
set local session authorization auditor_1;
select results_eq(
    $$ select outcome, duplicate, moved, note, class, campaign_id, generation, state,
              lease_expires_at, message, checkpoint_no, event_count, octet_length(sha256)
       from kernel.checkpoint(p_class => 'fix') $$,
    $$ values ('ok'::text, false, false, null::text, 'fix'::text, null::bigint, null::bigint,
               null::text, null::timestamptz, null::text, 1::bigint, 6::bigint, 32) $$,
    'answers ok, with its number, how many events it covers, and its digest'
);
reset session authorization;
select row_eq(
    $$ select k.class, k.checkpoint_no, k.made_at, k.made_by, k.version, k.upto_epoch,
              k.upto_xid = pg_current_xact_id(), k.event_count, k.previous_sha256
       from ledger.checkpoint as k $$,
    row('fix'::text, 1::bigint, testing.clock(), 'auditor_1'::name, 1, 0, true, 6::bigint,
        null::bytea),
    'writes who made it when, up to which transaction'
);
select is(
    (select k.sha256 from ledger.checkpoint as k where k.class = 'fix'),
    testing.digest_of('fix', 1, '0', testing.now_xid()),
    'digests the events of the class in the order of the log, and what it says of them'
);

-- == what is still under way ======================================================================

-- This very transaction is: its events come into a later one.
select testing.open('of this transaction');
select testing.act('reaper_1', testing.call('checkpoint', '{"p_class": "fix"}')) as second \gset
select is(
    :'second'::jsonb - 'sha256',
    '{"outcome": "ok", "duplicate": false, "moved": false, "note": null, "class": "fix",
      "campaign_id": null, "generation": null, "state": null, "lease_expires_at": null,
      "message": null, "checkpoint_no": 2, "event_count": 0}'::jsonb,
    'leaves out the events of transactions that are under way; a reaper may make one too'
);
select is(
    (select k.previous_sha256 from ledger.checkpoint as k where k.checkpoint_no = 2),
    (select k.sha256 from ledger.checkpoint as k where k.checkpoint_no = 1),
    'each names the digest of the one before'
);
select isnt(
    (select k.sha256 from ledger.checkpoint as k where k.checkpoint_no = 2),
    (select k.sha256 from ledger.checkpoint as k where k.checkpoint_no = 1),
    'so that even an empty one has a digest of its own'
);
select is(
    (select k.sha256 from ledger.checkpoint as k where k.checkpoint_no = 2),
    testing.digest_of('fix', 2, testing.now_xid(), testing.now_xid()), 'which is known'
);

-- == the next =====================================================================================

-- As if the first had been made before the last three events of the six.
select testing.tamper('ledger.checkpoint', 'delete from ledger.checkpoint');
select testing.tamper('ledger.campaign_event', $$
    update ledger.campaign_event as e set xid = '900000000000'
    where e.class = 'fix' and e.transition in ('submit', 'claim_verification', 'accept') $$);
select testing.act('auditor_1', testing.call('checkpoint', '{"p_class": "fix"}'))
    ->> 'event_count' as first_count \gset
select is(:'first_count'::text, '3', 'covers what was logged before it');
select testing.tamper('ledger.checkpoint', $$
    update ledger.checkpoint as k
    set upto_xid = '100',
        sha256 = ledger.checkpoint_digest(row(
            k.class, k.checkpoint_no, k.made_at, k.made_by, k.version, k.upto_epoch, '100',
            k.event_count, k.events_sha256, k.previous_sha256, null
        )::ledger.checkpoint) $$);
select testing.tamper('ledger.campaign_event', $$
    update ledger.campaign_event as e set xid = (100 + e.event_no)::text::xid8
    where e.class = 'fix' and e.xid = '900000000000' $$);
select is(
    testing.act('auditor_1', testing.call('checkpoint', '{"p_class": "fix"}')) ->> 'event_count',
    '3', 'and the next what came since, each event once'
);
select is(
    (select k.sha256 from ledger.checkpoint as k where k.checkpoint_no = 2),
    testing.digest_of('fix', 2, '100', testing.now_xid()), 'chained to it'
);
set local session authorization auditor_1;
select is_empty($$ select * from kernel.check(p_class => 'fix') $$, 'both come out again');
reset session authorization;

-- == a new epoch ==================================================================================

select testing.must('admin_1', testing.call('new_epoch', jsonb_build_object(
    'p_class', 'ship', 'p_token', testing.token('lost'))));
select testing.open('after', 'ship');
-- As after a restore: transactions are numbered anew, and lower than before.
select testing.tamper('ledger.campaign_event', $$
    update ledger.campaign_event as e
    set xid = case e.epoch when 0 then '900000000000'::xid8 else '5' end
    where e.class = 'ship' $$);
select testing.act('auditor_1', testing.call('checkpoint', '{"p_class": "ship"}')) as third \gset
select is(
    :'third'::jsonb ->> 'event_count', '3',
    'covers all of an epoch that has ended, whatever its transactions'' numbers'
);
select is(
    testing.act('auditor_1', testing.call('checkpoint', '{"p_class": "ship"}')) ->> 'event_count',
    '0', 'each event once'
);
select row_eq(
    $$ select k.upto_epoch, k.upto_xid = pg_current_xact_id()
       from ledger.checkpoint as k where k.class = 'ship' and k.checkpoint_no = 1 $$,
    row(1, true), 'and says up to which epoch'
);
set local session authorization auditor_1;
select is_empty($$ select * from kernel.check(p_class => 'ship') $$, 'both come out again');
reset session authorization;

-- A server that counts anew and was not told so: it goes no further back.
select testing.tamper('ledger.checkpoint', $$
    update ledger.checkpoint as k set upto_xid = '900000000000' where k.class = 'ship' $$);
select testing.must('auditor_1', testing.call('checkpoint', '{"p_class": "ship"}'));
select is(
    (select k.upto_xid from ledger.checkpoint as k where k.class = 'ship' and k.checkpoint_no = 3),
    '900000000000'::xid8, 'never ends before the one before did'
);

-- == append-only ==================================================================================

create function testing.by_hand(p_who text) returns setof text language plpgsql as $fn$
begin
    return query select testing.raises(
        s.statement, 'KN902', null, format('is append-only for %s: %s', p_who, s.statement)
    )
    from (values
        ('update ledger.checkpoint set sha256 = sha256'),
        ('delete from ledger.checkpoint'),
        ('truncate ledger.checkpoint')
    ) as s (statement);
end
$fn$;
select testing.by_hand('a superuser');
set local session authorization fencepost_owner;
select testing.by_hand('its owner');
reset session authorization;
set local session_replication_role = replica;
select testing.by_hand('a superuser while other triggers are off');
set local session_replication_role = origin;

-- == who may, and misuse ==========================================================================

select testing.refused(
    format('select * from kernel.checkpoint(p_class => %L)', c.class), 'forbidden',
    format('is forbidden to a superuser in %s', c.class)
)
from unnest(array['fix', 'no-such-class']) as c (class);
create role between_them;
grant fencepost_auditor to between_them;
grant between_them to stranger;
set local session authorization stranger;
select testing.refused(
    $$ select * from kernel.checkpoint(p_class => 'fix') $$, 'forbidden',
    'and to whose membership is indirect'
);
reset session authorization;

select testing.ledger_digest(true) as before \gset
set local session authorization auditor_1;
select testing.raises(m.call, m.code, null, 'wants ' || m.what)
from (values
    ('select * from kernel.checkpoint(p_class => null)', 'KN101', 'a class'),
    ('select * from kernel.checkpoint(p_class => ''Fix'')', 'KN102', 'the name of one'),
    ('select * from kernel.checkpoint(p_class => ''no-such-class'')', 'KN106', 'one that there is')
) as m (call, code, what);
select is(testing.ledger_digest(true), :'before', 'has written nothing');
select set_config('transaction_read_only', 'on', true);
select testing.raises(
    $$ select * from kernel.checkpoint(p_class => 'fix') $$, 'KN112', null,
    'wants a transaction that may write'
);
reset session authorization;

select finish();
rollback;
