-- kernel.prune_operations removes what is of no campaign and ended long ago: oldest first, and never
-- what is open or unknown.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/operation.psql
select plan(37);

select testing.callable_by('kernel.prune_operations', 'reaper');
select testing.allows_operations('fix');
create function testing.pruning(p_changes jsonb default '{}', p_class text default 'fix')
    returns text
    language sql
as $fn$
    select testing.call('prune_operations', jsonb_build_object('p_class', p_class) || p_changes)
$fn$;
create function testing.pruned(p_changes jsonb default '{}', p_class text default 'fix')
    returns text
    language sql
as $fn$
    select concat_ws(' ', p.answer ->> 'outcome', p.answer ->> 'removed',
                     case when (p.answer ->> 'is_more')::boolean then 'more' end)
    from (select testing.act('reaper_1', testing.pruning(p_changes, p_class)) as answer) as p
$fn$;
create function testing.kept(p_class text default 'fix')
    returns text
    language sql
as $fn$
    select string_agg(o.operation_key, ' ' order by o.operation_key)
    from ledger.operation as o where o.class = p_class and o.campaign_id is null
$fn$;

-- == which, and when ==============================================================================

select testing.posted(s.state, s.state)
from unnest(array['pending', 'started', 'completed', 'failed', 'unknown', 'released']) as s (state);
select testing.leased();
select testing.pushed('completed') as push \gset
select testing.clock() as ended \gset
select testing.clock_passes('30 days');
select testing.ledger_digest(true) as before \gset
select is(testing.pruned(), 'ok 0', 'not what is exactly as old as the class keeps it');
select is(testing.ledger_digest(true), :'before', 'nothing was written');
select testing.clock_passes('1 microsecond');
set local session authorization reaper_1;
select results_eq(
    testing.pruning(),
    $$ values ('ok'::text, false, false, null::text, 'fix'::text, null::bigint, null::bigint,
               null::text, null::timestamptz, null::text, 3, false) $$,
    'but what is older: completed, failed and released'
);
reset session authorization;
select is(testing.kept(), 'pending started unknown', 'D06: unknown stays, and what is open');
select is_empty(
    $$ select from ledger.operation_event as e
       where e.operation_key in ('completed', 'failed', 'released') $$,
    'the history goes with its operation'
);
select isnt_empty(
    $$ select from ledger.operation_event as e where e.operation_key = 'unknown' $$,
    'that of the others stays'
);
select is((testing.operation(:'push')).state, 'completed', 'that of a campaign stays with it');
select testing.clock_passes('100 years');
select is(testing.pruned(), 'ok 0', 'D06: however old');
select is(
    testing.told('worker_2', testing.posting(
        '{"p_key": "unknown", "p_operation_token": "00000000-0000-4000-8000-000000000001"}')),
    'ok unknown unknown 3 started', 'D06: so that nobody does it again'
);
select testing.must('worker_2', testing.resolving('failed', '{}', 'unknown'));
select testing.clock_passes('30 days 1 second');
select is(testing.pruned(), 'ok 1', 'once it is resolved, it goes in its time');

-- D18: what was abandoned is expired, then pruned.
select testing.must('reaper_1', $$ select * from kernel.expire_operations('fix') $$);
select testing.clock_passes('30 days 1 second');
select is(testing.pruned(), 'ok 1', 'D18: an abandoned one is expired, and goes in its time');
select is(testing.kept(), 'started', 'D18: where it was started, it is unknown, and stays');

-- A key that was pruned is free, and its new operation another incarnation.
select is(
    testing.told('worker_1', testing.posting(
        '{"p_key": "completed", "p_operation_token": "00000000-0000-4000-8000-000000000001"}')),
    'ok owner pending 1 moved', 'a key that was pruned is free'
);
select is(
    testing.told('worker_1', testing.on_operation('complete_operation', '{}', 'completed')),
    'not_holder', 'its former owner has no part in it'
);
select results_eq(
    $$ select * from testing.steps('completed') $$, array['1 begin: none to pending'],
    'its history begins anew'
);

-- == oldest first, in batches =====================================================================

select testing.class('batch', '{"operation_retention": "1 day"}');
select testing.allows_operations('batch');
create function testing.ended_after(p_key text)
    returns void
    language plpgsql
as $fn$
begin
    perform testing.posted('completed', p_key, 'batch');
    perform testing.clock_passes('1 minute');
end
$fn$;
select testing.ended_after(k.key) from unnest(array['z', 'a', 'y', 'b', 'x']) as k (key);
select testing.clock_passes('1 day');
select is(testing.pruned('{"p_limit": 2}', 'batch'), 'ok 2 more', 'D07: as many as asked for');
select is(testing.kept('batch'), 'b x y', 'D07: oldest first, whatever their keys');
select is(testing.pruned('{"p_limit": 2}', 'batch'), 'ok 2 more', 'D07: then the next');
select is(testing.pruned('{"p_limit": 2}', 'batch'), 'ok 1', 'D07: then the rest: no more');
-- What cannot go is in nobody's way.
select testing.ended_after('young');
select is(testing.pruned('{}', 'batch'), 'ok 0', 'none that is younger');

-- == how old ======================================================================================

select testing.ended_after(k.key) from unnest(array['1', '2']) as k (key);
select testing.clock_passes('2 days');
select is(testing.pruned('{"p_older_than": "3 days"}', 'batch'), 'ok 0', 'an age may be more');
select is(testing.pruned('{"p_older_than": "1 day"}', 'batch'), 'ok 3', 'or what the class says');
set local session authorization reaper_1;
select testing.raises(
    testing.pruning(jsonb_build_object('p_older_than', a.age), 'batch'), 'KN104', null,
    'but not ' || a.age
)
from unnest(array['23:59:59', '0', '-1 day', '36526 days']) as a (age);
reset session authorization;
-- A month is 30 days where lengths are compared, and fewer on the 1st of March.
select testing.class('monthly', '{"operation_retention": "30 days"}');
select testing.allows_operations('monthly');
select testing.clock_is('2026-01-31 12:00+00');
select testing.posted('completed', 'january', 'monthly');
select testing.clock_is('2026-02-01 11:00+00');
select testing.posted('completed', 'february', 'monthly');
select testing.clock_is('2026-03-01 12:00+00');
select is(testing.pruned('{"p_older_than": "1 month"}', 'monthly'), 'ok 0',
          'a short month does not shorten what the class keeps');
select testing.clock_is('2026-03-03 12:00+00');
select is(testing.pruned('{"p_older_than": "1 month"}', 'monthly'), 'ok 2', 'nor lengthen it');
-- D08, D09: all go in one statement, whatever is in a row.
select testing.class('lean', '{"operation_retention": "0"}');
select testing.allows_operations('lean');
select testing.posted('completed', 'now', 'lean');
select is(testing.pruned('{}', 'lean'), 'ok 0', 'a class that keeps nothing');
select testing.clock_passes('1 microsecond');
select is(testing.pruned('{}', 'lean'), 'ok 1', 'keeps it until the clock moves');

-- == who, and misuse ==============================================================================

select testing.refused(testing.pruning(), 'forbidden', 'is forbidden to a superuser');
set local session authorization reaper_1;
select testing.raises(testing.pruning(m.changes), m.code, m.message, 'wants ' || m.what)
from (values
    ('{"p_class": null}'::jsonb, 'KN101', 'argument p_class is null', 'a class'),
    ('{"p_class": "nowhere"}', 'KN106', null, 'one that there is'),
    ('{"p_limit": null}', 'KN101', 'argument p_limit is null', 'a limit'),
    ('{"p_limit": 0}', 'KN104', 'a limit of 0 is out of range', 'of one at least'),
    ('{"p_limit": 100001}', 'KN104', null, 'and 100000 at most')
) as m (changes, code, message, what);
reset session authorization;
select finish();
rollback;
