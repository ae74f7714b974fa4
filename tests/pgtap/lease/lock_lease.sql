-- ledger.lock_lease locks the campaign that the session's principal holds, and no other.
\ir ../_support/fixture.psql
\ir ../_support/helper.psql
select plan(13);

create function testing.locked(
    p_principal  name   default 'worker_1',
    p_generation bigint default 1,
    p_token      text   default 'worker_1',
    p_states     text   default '{leased}',
    p_class      text   default 'fix'
)
    returns bigint
    language sql
as $fn$
    select (testing.by(p_principal, format(
        'ledger.lock_lease(%L, %s, %L, ledger.token_digest(%L), %L)',
        p_class, testing.id(), p_generation, testing.token(p_token), p_states
    )) ->> 'campaign_id')::bigint
$fn$;

select testing.leased();
select is(testing.locked(), testing.id(), 'the holder''s campaign is returned');
select is(
    testing.locked(p_states => '{verifying,leased}'), testing.id(), 'in one of several states too'
);
select is(testing.locked(l.principal, l.generation::bigint, l.token, l.states, l.class), null, l.what)
from (values
    ('worker_2'::name, 1, 'worker_1', '{leased}', 'fix', 'another principal''s is not'),
    ('worker_1', 0, 'worker_1', '{leased}', 'fix', 'nor under the generation before'),
    ('worker_1', 2, 'worker_1', '{leased}', 'fix', 'nor under the next'),
    ('worker_1', null, 'worker_1', '{leased}', 'fix', 'nor under none'),
    ('worker_1', 1, 'worker_2', '{leased}', 'fix', 'nor with another token'),
    ('worker_1', 1, 'worker_1', '{verifying}', 'fix', 'nor in another state'),
    ('worker_1', 1, 'worker_1', '{}', 'fix', 'nor in no state'),
    ('worker_1', 1, 'worker_1', '{leased}', 'ship', 'nor in another class')
) as l (principal, generation, token, states, class, what);
select testing.clock_passes('1 day');
select is(testing.locked(), testing.id(), 'one that has run out is held until somebody takes it');
alter role worker_1 rename to worker_3;
select is(testing.locked('worker_3'), null, 'a role of another name does not hold it');
create role worker_1 login in role fencepost_worker;
select is(testing.locked('worker_1'), null, 'nor does a new role of its name');

select finish();
rollback;
