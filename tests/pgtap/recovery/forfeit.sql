-- ledger.forfeit says why a lease may be taken back.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
select plan(13);

create function testing.forfeited(p_at timestamptz, p_class text default 'fix')
    returns text
    language sql
as $fn$ select ledger.forfeit(testing.campaign('parser', p_class), p_at) $fn$;

select testing.open();
select is(testing.forfeited('infinity'), null, 'where there is no lease there is nothing to take');
select testing.claim();
select is(testing.forfeited('2026-09-01 03:14:59.999999+00'), null, 'a live lease is not taken');
select is(testing.forfeited('2026-09-01 03:15+00'), 'the lease ran out', 'one that ran out is');
select is(testing.forfeited('2027-09-01 03:15+00'), 'the lease ran out', 'a year later too');

-- Its holder may have been dismissed while the claim was under way: then no dismissal ended it. A
-- lease of that kind is taken from the row that it would stand in.
create function testing.held_by(
    p_principal name,
    p_state     text,
    p_at        timestamptz default '2026-09-01 03:00+00',
    p_oid       oid         default null
)
    returns text
    language sql
as $fn$
    select ledger.forfeit(jsonb_populate_record(testing.campaign(), jsonb_build_object(
        'lease_principal', p_principal, 'state', p_state,
        'lease_principal_oid', coalesce(p_oid, p_principal::text::regrole)
    )), p_at)
$fn$;

select is(testing.held_by(h.principal, h.state), h.why, h.description)
from (values
    ('worker_2'::name, 'leased', null, 'a worker that is enrolled keeps it'),
    ('verifier_1', 'verifying', null, 'as does a verifier'),
    ('verifier_1', 'promoting', null, 'in promoting too'),
    ('verifier_1', 'leased', 'its holder was dismissed', 'which is not enrolled to work'),
    ('worker_2', 'verifying', 'its holder was dismissed', 'nor a worker to verify'),
    ('worker_elsewhere', 'leased', 'its holder was dismissed', 'nor whoever is elsewhere')
) as h (principal, state, why, description);
select testing.must('admin_1', testing.call('dismiss', jsonb_build_object(
    'p_class', 'fix', 'p_principal', 'worker_2', 'p_duty', 'worker')));
select is(
    testing.held_by('worker_2', 'leased'), 'its holder was dismissed',
    'of who was dismissed it is taken, however long it would last'
);
select is(
    testing.held_by('worker_2', 'leased', '2027-09-01 03:00+00'), 'its holder was dismissed',
    'and that is the reason, also when it has run out'
);
select is(
    testing.held_by('worker_1', 'leased', p_oid => 'worker_2'::regrole),
    'its holder was dismissed', 'another role of an enrolled name is not enrolled'
);

select finish();
rollback;
