-- kernel.renew_operation moves the end of the lease of an operation that is of no campaign.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/operation.psql
select plan(29);

select testing.callable_by('kernel.renew_operation', 'worker', 'verifier');
select testing.allows_operations('fix');
create function testing.renewed(p_for interval default null, p_key text default 'pay-1')
    returns text
    language sql
as $fn$
    select concat_ws(' ', r.answer ->> 'outcome', r.answer ->> 'note',
                     (r.answer ->> 'lease_expires_at')::timestamptz - testing.clock())
    from (select testing.act('worker_1', testing.on_operation(
        'renew_operation', jsonb_build_object('p_lease_for', p_for), p_key)) as answer) as r
$fn$;

select testing.posted('pending');
select testing.clock_passes('10 minutes');
select testing.operation() as before \gset
select testing.ledger_digest(true, 'operation') as rest \gset
select is(testing.renewed(), 'ok 00:15:00', 'D02: its owner renews it: lease_default from now');
select is(testing.ledger_digest(true, 'operation'), :'rest', 'there is no event');
select is(
    to_jsonb(testing.operation()) - 'lease_expires_at',
    to_jsonb(:'before'::ledger.operation) - 'lease_expires_at',
    'nor is anything else written: the fence stays'
);
select is(testing.renewed('2 hours'), 'ok 02:00:00', 'for as long as is asked for');
select is(testing.renewed('1 second'), 'ok 02:00:00', 'never to an earlier end');
select testing.clock_passes('23 hours');
select is(testing.renewed('4 hours'), 'ok lease_cap 00:50:00',
          'and never past lease_cap, counted from its beginning');
select is(testing.renewed('1 second'), 'ok lease_cap 00:50:00', 'which is said again');
select testing.clock_passes('1 hour');
select is(testing.renewed('4 hours'), 'ok lease_cap -00:10:00', 'after that nothing helps');

-- Late, while nobody has come.
select testing.posted('started', 'late');
select testing.clock_passes('1 hour');
select is(testing.renewed(null, 'late'), 'ok 00:15:00', 'one that has run out is renewed');
select is(
    testing.told('worker_2', testing.posting(
        '{"p_key": "late", "p_operation_token": "00000000-0000-4000-8000-000000000001"}')),
    'ok pending pending 2 started', 'and its owner''s again'
);

select testing.posted(s.state, 'key ' || s.state)
from unnest(array['pending', 'started', 'completed', 'failed', 'unknown', 'released']) as s (state);
select is(
    testing.told('worker_1', testing.on_operation('renew_operation', '{}', 'key ' || s.state)),
    s.told, 'one that is ' || s.state
)
from (values
    ('pending', 'ok pending 1'), ('started', 'ok pending 2 started'), ('completed', 'stale'),
    ('failed', 'stale'), ('released', 'stale'), ('unknown', 'illegal')
) as s (state, told);
select testing.leased();
select testing.pushed('started') as key \gset
set local session authorization worker_1;
select testing.refused(
    testing.on_operation('renew_operation', '{}', :'key', 'fix', 'of push'), 'illegal',
    'one of a campaign lives as long as the campaign''s lease'
);
reset session authorization;

select testing.posted('pending', 'mine');
select testing.refused(
    testing.on_operation('renew_operation', '{}', 'mine'), 'forbidden',
    'is forbidden to a superuser'
);
set local session authorization worker_elsewhere;
select testing.refused(
    testing.on_operation('renew_operation', '{}', 'mine'), 'forbidden',
    'and to who is of another class'
);
set local session authorization worker_2;
select testing.refused(
    testing.on_operation('renew_operation', '{}', 'mine'), 'not_holder', 'nobody else renews it'
);
reset session authorization;
select testing.ledger_digest(true) as before \gset
set local session authorization worker_1;
select testing.raises(
    testing.on_operation('renew_operation', m.changes, 'mine'), m.code, m.message,
    'wants ' || m.what
)
from (values
    ('{"p_class": null}'::jsonb, 'KN101', 'argument p_class is null', 'a class'),
    ('{"p_operation_key": null}', 'KN101', 'argument p_operation_key is null', 'a key'),
    ('{"p_operation_key": "nothing"}', 'KN116', null, 'one that there is'),
    ('{"p_operation_token": null}', 'KN101', 'argument p_operation_token is null', 'a token'),
    ('{"p_lease_for": "0.9 seconds"}', 'KN104', null, 'lease_min at least'),
    ('{"p_lease_for": "4 hours 1 second"}', 'KN104', null, 'lease_max at most'),
    ('{"p_lease_for": "-1 hour"}', 'KN104', null, 'nothing that is past')
) as m (changes, code, message, what);
reset session authorization;
select is(testing.ledger_digest(true), :'before', 'has written nothing');

select finish();
rollback;
