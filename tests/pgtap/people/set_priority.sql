-- kernel.set_priority gives an open campaign a head start; lease/claim_one.sql shows what it does.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
select plan(51);

select testing.callable_by('kernel.set_priority', 'admin');

select testing.in_state(s.state)
from unnest(array['ready', 'leased', 'attempted', 'verifying', 'accepted', 'promoting', 'verified',
                  'parked', 'confirmed', 'cancelled', 'lapsed']) as s (state);
create table testing.before as
select s.state as stood, c.*
from unnest(array['ready', 'leased', 'attempted', 'verifying', 'accepted', 'promoting',
                  'verified', 'parked']) as s (state),
     testing.campaign('parser', 'in_' || s.state) as c;
grant select on testing.before to public;

-- == in every open state ==========================================================================

set local session authorization admin_1;
select results_eq(
    testing.on_campaign('set_priority', '{"p_priority": 2}', 'parser', 'in_' || b.stood),
    format($$ values ('ok'::text, false, false, null::text, %L::text, %s::bigint, %s::bigint,
                      %L::text, %L::timestamptz, null::text) $$,
           b.class, b.campaign_id, b.generation, b.state, b.lease_expires_at),
    format('answers ok in %s; the campaign did not move, and its generation stays', b.stood)
)
from testing.before as b;
reset session authorization;
select is(
    to_jsonb(testing.campaign('parser', b.class))
        - array['priority', 'event_count', 'last_transition', 'last_at', 'last_detail',
                'last_content_sha256'],
    to_jsonb(b)
        - array['stood', 'priority', 'event_count', 'last_transition', 'last_at', 'last_detail',
                'last_content_sha256'],
    format('changes nothing but the priority in %s: its holder keeps the lease', b.stood)
)
from testing.before as b;
select results_eq(
    format($$ select c.priority, e.event_no, e.transition, e.from_state, e.to_state, e.generation,
                     e.by_principal, e.holder, e.is_late, e.at, e.detail
              from testing.campaign('parser', %L) as c, testing.event('parser', %L) as e $$,
           b.class, b.class),
    format($$ select 2::smallint, b.event_count + 1, 'set_priority'::text, b.state, b.state,
                     b.generation, 'admin_1'::name, b.lease_principal, false, testing.clock(),
                     '{"priority": 2}'::jsonb
              from testing.before as b where b.class = %L $$, b.class),
    format('writes its event in %s', b.stood)
)
from testing.before as b;
set local session authorization worker_1;
select is(
    testing.must('worker_1', testing.holding('renew', '{}', 'parser', 'in_leased')) ->> 'outcome',
    'ok', 'the worker who holds it goes on'
);
reset session authorization;

-- == each of its values ===========================================================================

set local session authorization admin_1;
select is(
    (select (testing.campaign('parser', 'in_ready')).priority
     from (select testing.must('admin_1', testing.on_campaign(
               'set_priority', jsonb_build_object('p_priority', p.priority), 'parser',
               'in_ready'))) as done),
    p.priority::smallint, format('sets %s', p.priority)
)
from unnest(array[0, 1, 3]) as p (priority);

-- == repeated =====================================================================================

select testing.duplicate(
    testing.on_campaign('set_priority', '{"p_priority": 3}', 'parser', 'in_ready'),
    'repeated is a duplicate and writes nothing'
);
select testing.on_campaign('set_priority', '{"p_priority": 3}', 'parser', 'in_ready') as again \gset
select testing.must('admin_1', testing.on_campaign('park', '{}', 'parser', 'in_ready'));
select testing.duplicate(:'again', 'also after the campaign has moved on');
select testing.must('admin_1', testing.on_campaign('cancel', '{}', 'parser', 'in_ready'));
select testing.duplicate(:'again', 'and after it was closed');
select testing.must('admin_1', testing.on_campaign('park', '{}', 'parser', 'in_attempted'));
select testing.refused(
    testing.on_campaign('set_priority', jsonb_build_object(
        'p_priority', 1, 'p_generation', testing.generation('parser', 'in_attempted') - 1
    ), 'parser', 'in_attempted'),
    'stale', 'one that was never set under that generation is stale'
);
reset session authorization;
create role admin_2 login;
grant fencepost_admin to admin_2;
set local session authorization admin_2;
select testing.refused(:'again', 'stale', 'as is the same act of another admin');
reset session authorization;

-- == refusals =====================================================================================

set local session authorization admin_1;
select testing.refused(
    testing.on_campaign('set_priority', '{"p_priority": 1, "p_generation": 99}', 'parser',
                        'in_leased'),
    'stale', 'refuses a generation that the campaign does not have'
);
select testing.refused(
    testing.on_campaign('set_priority', '{"p_priority": 1}', 'parser', 'in_' || s.state),
    'illegal', format('refuses in %s', s.state)
)
from unnest(array['confirmed', 'cancelled', 'lapsed']) as s (state);
reset session authorization;
select testing.refused(
    testing.on_campaign('set_priority', '{"p_priority": 1}', 'parser', 'in_leased'), 'forbidden',
    'is forbidden to a superuser'
);
select testing.refused(
    testing.on_campaign('set_priority', '{"p_priority": 1, "p_campaign_id": 123456789}', 'parser',
                        'in_leased'),
    'forbidden', 'also where there is no such campaign'
);

-- == misuse =======================================================================================

select testing.ledger_digest(true) as before \gset
set local session authorization admin_1;
select testing.raises(
    testing.on_campaign('set_priority', m.changes, 'parser', 'in_leased'), m.code, m.message,
    'wants ' || m.what
)
from (values
    ('{"p_class": null, "p_priority": 1}'::jsonb, 'KN101', 'argument p_class is null', 'a class'),
    ('{"p_campaign_id": null, "p_priority": 1}', 'KN101', 'argument p_campaign_id is null',
     'a campaign'),
    ('{"p_generation": null, "p_priority": 1}', 'KN101', 'argument p_generation is null',
     'a generation'),
    ('{"p_priority": null}', 'KN101', 'argument p_priority is null', 'a priority'),
    ('{"p_priority": -1}', 'KN104', 'a priority of -1 is out of range', 'one from 0'),
    ('{"p_priority": 4}', 'KN104', 'a priority of 4 is out of range', 'to 3'),
    ('{"p_priority": 2147483647}', 'KN104', 'a priority of 2147483647 is out of range',
     'not beyond'),
    ('{"p_campaign_id": 123456789, "p_priority": 1}', 'KN108', null, 'a campaign that there is'),
    ('{"p_class": "Fix", "p_priority": 1}', 'KN102', null, 'the name of a class')
) as m (changes, code, message, what);
select is(testing.ledger_digest(true), :'before', 'has written nothing');
select set_config('transaction_read_only', 'on', true);
select testing.raises(
    testing.on_campaign('set_priority', '{"p_priority": 1}', 'parser', 'in_leased'), 'KN112', null,
    'wants a transaction that may write'
);
reset session authorization;

select finish();
rollback;
