-- kernel.get_operation shows an operation as it stands, with the fence of a reconciler.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/operation.psql
select plan(18);

select testing.callable_by('kernel.get_operation', 'worker', 'verifier', 'admin');
select testing.allows_operations('fix');

select testing.posted(s.state, s.state)
from unnest(array['pending', 'started', 'completed', 'failed', 'unknown', 'released']) as s (state);
create function testing.getting(p_key text)
    returns text
    language sql
as $fn$ select format('select * from kernel.get_operation(%L, %L)', 'fix', p_key) $fn$;
select testing.ledger_digest(true) as before \gset
select is(testing.told('worker_2', testing.getting(s.key)), s.told, 'one that is ' || s.key)
from (values
    ('pending', 'ok pending 1'), ('started', 'ok pending 2 started'),
    ('completed', 'ok completed 3 started'), ('failed', 'ok failed 3 started'),
    ('unknown', 'ok unknown 3 started'), ('released', 'ok released 2')
) as s (key, told);
set local session authorization verifier_1;
select results_eq(
    format('select status, result, result is not null, principal, incarnation, reason, '
           'retry_after, message from (%s) as g', testing.getting('completed')),
    $$ select null::text, '{"id": 7}'::jsonb, true, 'worker_1'::name,
              (testing.operation('completed')).incarnation, null::text, null::interval,
              null::text $$,
    'has its result and its fence'
);
select is_empty(testing.getting('nothing'), 'there is no row where there is none');
set local session authorization admin_1;
select isnt_empty(testing.getting('unknown'), 'an admin may look');
reset session authorization;
select testing.leased();
select testing.pushed('pending') as key \gset
set local session authorization worker_2;
select results_eq(
    format('select campaign_id, generation, state, attempt_no, lease_expires_at from (%s) as g',
           testing.getting(:'key')),
    $$ values (testing.id(), 1::bigint, null::text, 1, null::timestamptz) $$,
    'one of a campaign names it, and the generation that began it'
);
reset session authorization;
select testing.refused(testing.getting('pending'), 'forbidden', 'is forbidden to a superuser');
set local session authorization worker_elsewhere;
select testing.refused(
    testing.getting(k.key), 'forbidden', 'and to who is of another class, be there one or not'
)
from (values ('pending'), ('nothing')) as k (key);
set local session authorization worker_1;
select testing.raises(
    testing.call('get_operation', '{"p_class": "fix", "p_operation_key": "x"}'::jsonb || m.changes),
    m.code, m.message, 'wants ' || m.what
)
from (values
    ('{"p_class": null}'::jsonb, 'KN101', 'argument p_class is null', 'a class'),
    ('{"p_operation_key": null}', 'KN101', 'argument p_operation_key is null', 'a key'),
    ('{"p_operation_key": ""}', 'KN102', null, 'one that is not empty'),
    (jsonb_build_object('p_operation_key', repeat('x', 513)), 'KN103', null, 'of 512 bytes')
) as m (changes, code, message, what);
reset session authorization;
select finish();
rollback;
