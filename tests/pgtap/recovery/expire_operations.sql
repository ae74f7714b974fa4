-- kernel.expire_operations ends what is of no campaign and whose lease has run out.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/operation.psql
select plan(18);

select testing.callable_by('kernel.expire_operations', 'reaper');
select testing.allows_operations('fix');
select testing.posted(s.state, s.state)
from unnest(array['pending', 'started', 'completed', 'failed', 'unknown', 'released']) as s (state);
select testing.leased();
select testing.pushed('started') as push \gset
create function testing.expired(p_limit integer default 100)
    returns text
    language sql
as $fn$ select format('select * from kernel.expire_operations(%L, %s)', 'fix', p_limit) $fn$;

select testing.clock_passes('15 minutes' - interval '1 microsecond');
select testing.ledger_digest(true) as before \gset
set local session authorization reaper_1;
select is_empty(testing.expired(), 'nothing before its lease has run out');
reset session authorization;
select is(testing.ledger_digest(true), :'before', 'nor is anything written');
select testing.clock_passes('1 microsecond');
set local session authorization reaper_1;
select results_eq(
    format('select operation_key, outcome, moved, duplicate, operation_state, revision, reason, '
           'lease_expires_at, principal, status from (%s) as e order by operation_key',
           testing.expired()),
    $$ values
       ('pending'::text, 'ok'::text, true, false, 'released'::text, 2, 'its lease ran out'::text,
        null::timestamptz, 'worker_1'::name, null::text),
       ('started', 'ok', true, false, 'unknown', 3,
        'its lease ran out after it had been started', null, 'worker_1', null) $$,
    'D03: from exactly then what was started is unknown, and what was not is released'
);
select is_empty(testing.expired(), 'once');
reset session authorization;
select results_eq(
    $$ select (e.operation_key || ' ' || e.event)::text collate "default", e.by_principal,
              e.is_late, e.at
       from ledger.operation_event as e
       where e.by_principal = 'reaper_1' order by 1 $$,
    $$ values ('pending release', 'reaper_1'::name, false, testing.clock()),
              ('started expire', 'reaper_1', false, testing.clock()) $$,
    'each with an event'
);
select row_eq(
    format($$ select o.state, o.revision from testing.operation(%L) as o $$, :'push'),
    row('pending'::text, 2), 'that of a campaign is the campaign''s'
);
select testing.posted('pending', 'renewed');
select testing.clock_passes('15 minutes');
select testing.must('worker_1', testing.on_operation('renew_operation', '{}', 'renewed'));
set local session authorization reaper_1;
select is_empty(testing.expired(), 'nor what was renewed');
reset session authorization;

-- == oldest first, so many at once ================================================================

select testing.clock_passes('1 hour');
select testing.must('reaper_1', testing.expired());
select testing.posted('pending', 'n' || n, 'fix', jsonb_build_object(
    'p_lease_for', format('%s seconds', n)))
from unnest(array[3, 1, 5, 2, 4]) as k (n);
select testing.clock_passes('1 minute');
set local session authorization reaper_1;
select results_eq(
    format('select operation_key from (%s) as e', testing.expired(2)), array['n1', 'n2'],
    'D18: those whose lease ended first, as many as asked for'
);
select results_eq(
    format('select operation_key from (%s) as e', testing.expired(2)), array['n3', 'n4'],
    'then the next'
);
select results_eq(
    format('select operation_key from (%s) as e', testing.expired(2)), array['n5'], 'then the rest'
);
reset session authorization;

-- == also while the class is paused ===============================================================

select testing.posted('started', 'calm');
select testing.clock_passes('1 hour');
select testing.must('admin_1', $$ select * from kernel.pause('fix', 'wait') $$);
set local session authorization reaper_1;
select results_eq(
    format('select operation_key, operation_state from (%s) as e', testing.expired()),
    $$ values ('calm'::text, 'unknown'::text) $$, 'also while the class is paused'
);
reset session authorization;

-- == who, and misuse ==============================================================================

select testing.refused(testing.expired(), 'forbidden', 'is forbidden to a superuser');
set local session authorization reaper_1;
select testing.raises(
    testing.call('expire_operations', '{"p_class": "fix"}'::jsonb || m.changes), m.code, m.message,
    'wants ' || m.what
)
from (values
    ('{"p_class": null}'::jsonb, 'KN101', 'argument p_class is null', 'a class'),
    ('{"p_class": "nowhere"}', 'KN106', null, 'one that there is'),
    ('{"p_limit": null}', 'KN101', 'argument p_limit is null', 'a limit'),
    ('{"p_limit": 0}', 'KN104', 'a limit of 0 is out of range', 'of one at least'),
    ('{"p_limit": 10001}', 'KN104', null, 'and 10000 at most')
) as m (changes, code, message, what);
reset session authorization;
select finish();
rollback;
