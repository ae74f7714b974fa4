-- kernel.begin_operation on a key whose owner's lease has run out: what was not started is taken
-- over, from exactly the lease's end; what was started becomes unknown. The clock is the
-- database's.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
\ir ../../_support/operation.psql
select plan(29);

select testing.allows_operations('fix');
create function testing.by_another(p_key text, p_changes jsonb default '{}')
    returns text
    language sql
as $fn$
    select testing.posting(jsonb_build_object(
        'p_key', p_key, 'p_operation_token', testing.token('of worker_2')) || p_changes)
$fn$;

-- == not started ==================================================================================

select testing.clock() as begun \gset
select testing.posted('pending');
select (testing.operation()).incarnation as incarnation \gset
select testing.clock_is(:'begun'::timestamptz + interval '15 minutes' - interval '1 microsecond');
select is(
    testing.told('worker_2', testing.by_another('pay-1')), 'ok pending pending 1',
    'D01: it is its owner''s until its lease ends, by the database''s clock'
);
select testing.clock_passes('1 microsecond');
set local session authorization worker_2;
select results_eq(
    format('select status, moved, incarnation, revision, principal, is_started, created_at, '
           'lease_expires_at from (%s) as b', testing.by_another('pay-1')),
    format($$ values ('owner'::text, true, %L::uuid, 2, 'worker_2'::name, false, %L::timestamptz,
                      %L::timestamptz + interval '30 minutes') $$,
           :'incarnation', :'begun', :'begun'),
    'from exactly then it is taken over: revision 2 of the same incarnation'
);
reset session authorization;
select results_eq(
    'select * from testing.steps()',
    array['1 begin: none to pending', '2 take_over: pending to pending'], 'as the history says'
);
set local session authorization worker_1;
select testing.refused(
    testing.on_operation(f.name, f.changes), 'stale', f.name || ' of the former owner is stale'
)
from (values
    ('start_operation', '{}'::jsonb), ('complete_operation', '{}'), ('fail_operation', '{}'),
    ('mark_operation_unknown', '{}'), ('release_operation', '{}'), ('renew_operation', '{}')
) as f (name, changes);
select is(
    testing.told('worker_1', testing.posting()), 'ok pending pending 2',
    'and its beginning again finds the other''s'
);
reset session authorization;

-- D18: what nobody took up is no obstacle: it can be taken over, and the reaper releases it.
select testing.posted('pending', 'dead', 'fix', '{"p_fingerprint": "wrong"}');
select testing.clock_passes('15 minutes');
select is(
    testing.told('worker_2', testing.by_another('dead')), 'ok conflict',
    'D18: a dead owner''s other request is a conflict'
);
select testing.must('reaper_1', $$ select * from kernel.expire_operations('fix') $$);
select is(
    testing.told('worker_2', testing.by_another('dead')), 'ok owner pending 1 moved',
    'D18: until it is released for its age'
);

-- The same owner, with another token: taken over from itself.
select testing.posted('pending', 'own');
select is(
    testing.told('worker_1', testing.by_another('own')), 'ok pending pending 1',
    'its owner is not let in twice, either'
);
select testing.clock_passes('15 minutes');
select is(
    testing.told('worker_1', testing.by_another('own')), 'ok owner pending 2 moved',
    'but takes over from itself'
);

-- Late, but nobody took it: its repeat is still the owner's.
select testing.posted('pending', 'late');
select testing.clock_passes('1 hour');
select is(
    testing.told('worker_1', testing.posting('{"p_key": "late"}')),
    'ok owner pending 1 duplicate', 'who is late, while nobody has come, owns it'
);

-- == started ======================================================================================

select testing.posted('started', 'sent');
select testing.clock_passes('15 minutes' - interval '1 microsecond');
select is(
    testing.told('worker_2', testing.by_another('sent')), 'ok pending pending 2 started',
    'a started one is its owner''s until its lease ends'
);
select testing.clock_passes('1 microsecond');
set local session authorization worker_2;
select results_eq(
    format('select status, moved, operation_state, revision, principal, reason, lease_expires_at, '
           'retry_after from (%s) as b', testing.by_another('sent')),
    $$ values ('unknown'::text, true, 'unknown'::text, 3, 'worker_1'::name,
               'its lease ran out after it had been started'::text, null::timestamptz,
               null::interval) $$,
    'D03: from then on nobody knows: it is unknown, and done again by nobody'
);
reset session authorization;
select is(
    testing.told('worker_2', testing.by_another('sent')), 'ok unknown unknown 3 started',
    'D03: whoever asks'
);
select testing.clock_passes('10 years');
select is(
    testing.told('worker_2', testing.by_another('sent')), 'ok unknown unknown 3 started',
    'D03: and however long it is'
);
select results_eq(
    $$ select * from testing.steps('sent') $$,
    array['1 begin: none to pending', '2 start: pending to pending',
          '3 expire: pending to unknown'],
    'as the history says'
);
select is(
    testing.told('worker_1', testing.on_operation('complete_operation', '{}', 'sent')),
    'ok completed 4 started moved', 'D02: its owner may still say that it happened'
);
select row_eq(
    $$ select e.is_late from ledger.operation_event as e
       where e.operation_key = 'sent' and e.event_no = 4 $$,
    row(true), 'which is late'
);

-- == the length of a lease ========================================================================

select is(
    testing.act('worker_1', testing.posting(jsonb_build_object(
        'p_key', l.length, 'p_lease_for', l.length))) ->> 'lease_expires_at',
    to_jsonb(testing.clock() + l.length::interval) #>> '{}', 'a lease may be of ' || l.length
)
from (values ('1 second'), ('4 hours')) as l (length);
set local session authorization worker_1;
select testing.raises(
    testing.posting(jsonb_build_object('p_key', 'x', 'p_lease_for', l.length)), 'KN104', null,
    'D13: not of ' || l.length
)
from (values ('0.9 seconds'), ('4 hours 1 second'), ('-1 hour'), ('100000000 days'),
             ('0.0000001 seconds')) as l (length);
reset session authorization;

select finish();
rollback;
