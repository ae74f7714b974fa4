-- kernel.cancel closes a campaign for good, out of every open state, and keeps it quiet if asked.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
select plan(77);

select testing.callable_by('kernel.cancel', 'admin');

create table testing.open_state (state text);
insert into testing.open_state values
    ('ready'), ('leased'), ('attempted'), ('verifying'), ('accepted'), ('promoting'), ('verified'),
    ('parked');
grant select on testing.open_state to public;
select testing.in_state(s.state) from testing.open_state as s;
select testing.in_state(s.state)
from unnest(array['confirmed', 'cancelled', 'lapsed']) as s (state);
create table testing.before as
select s.state as stood_in, c.*, c.lease_principal as holder
from testing.open_state as s, testing.campaign('parser', 'in_' || s.state) as c;
grant select on testing.before to public;

-- == out of every open state ======================================================================

set local session authorization admin_1;
select results_eq(
    testing.on_campaign('cancel', '{"p_reason": "no longer wanted"}', 'parser', b.class),
    format($$ values ('ok'::text, false, true, null::text, %L::text, %s::bigint, %s::bigint,
                      'cancelled'::text, null::timestamptz, null::text) $$,
           b.class, b.campaign_id, b.generation + 1),
    format('answers ok out of %s, under a new generation', b.stood_in)
)
from testing.before as b;
reset session authorization;

select results_eq(
    format($$ select c.state, c.generation, c.lease_principal, c.lease_token_sha256, c.closed_at,
                     c.parked_for, c.failure_count, c.loss_count, c.attempt_count
              from testing.campaign('parser', %L) as c $$, b.class),
    format($$ select 'cancelled'::text, b.generation + 1, null::name, null::bytea, testing.clock(),
                     null::text, b.failure_count, b.loss_count, b.attempt_count
              from testing.before as b where b.class = %L $$, b.class),
    format('closes it out of %s, and counts nothing', b.stood_in)
)
from testing.before as b;
select results_eq(
    format($$ select e.transition, e.from_state, e.to_state, e.generation, e.by_principal, e.holder,
                     e.is_late, e.at, e.detail
              from testing.event('parser', %L) as e $$, b.class),
    format($$ select 'cancel'::text, b.stood_in, 'cancelled'::text, b.generation + 1,
                     'admin_1'::name, b.holder, false, testing.clock(),
                     '{"reason": "no longer wanted", "quiet_for": "00:00:00"}'::jsonb
              from testing.before as b where b.class = %L $$, b.class),
    format('writes the event out of %s: by whom, and who held it', b.stood_in)
)
from testing.before as b;
select results_eq(
    format($$ select a.ending, a.reason, a.ended_at from testing.attempt('parser', %L) as a $$,
           b.class),
    case
        when b.attempt_count = 0 then 'values (null::text, null::text, null::timestamptz)'
        else $$ values ('withdrawn'::text, 'no longer wanted'::text, testing.clock()) $$
    end,
    case
        when b.attempt_count = 0 then format('finds no attempt to end out of %s', b.stood_in)
        else format('ends the attempt as withdrawn, submitted or not, out of %s', b.stood_in)
    end
)
from testing.before as b;
select is(
    (select count(*) from ledger.verdict as v where v.class in ('in_accepted', 'in_verified')),
    2::bigint,
    'leaves the verdicts that were given'
);

-- == whoever held it is told, and nothing brings it back ==========================================

set local session authorization worker_1;
select testing.refused(
    testing.holding('submit', '{"p_generation": 1, "p_fingerprint": "f", "p_approach": null,
        "p_result": {"base": "b", "commit": "c"}}', 'parser', 'in_leased'),
    'stale', 'makes the worker''s generation stale'
);
select is_empty(
    $$ select * from kernel.claim(p_class => 'in_ready', p_token => gen_random_uuid()) $$,
    'offers it to no worker'
);
reset session authorization;
set local session authorization verifier_1;
select testing.refused(
    testing.judging('{"p_generation": 2}', 'parser', 'in_verifying'), 'stale', 'and the verifier''s'
);
select testing.refused(
    testing.promotion('{"p_generation": 2}', 'parser', 'in_promoting'), 'stale',
    'and the promoter''s'
);
select is_empty(
    $$ select * from kernel.claim_verification(p_class => 'in_attempted',
                                               p_token => gen_random_uuid())
       union all
       select * from kernel.claim_promotion(p_class => 'in_accepted',
                                            p_token => gen_random_uuid()) $$,
    'offers it to no verifier'
);
reset session authorization;
set local session authorization admin_1;
select testing.refused(
    testing.on_campaign('redrive', '{}', 'parser', 'in_parked'), 'illegal', 'cannot be redriven'
);
reset session authorization;

-- == repeated =====================================================================================

select testing.on_campaign('cancel', jsonb_build_object(
    'p_reason', 'no longer wanted', 'p_generation', b.generation), 'parser', b.class) as again
from testing.before as b where b.stood_in = 'verifying' \gset
set local session authorization admin_1;
select testing.duplicate(:'again', 'answers a repeat with ok and duplicate');
select testing.refused(
    testing.on_campaign(
        'cancel', '{"p_generation": 2, "p_reason": "another"}', 'parser', 'in_verifying'),
    'stale', 'refuses another reason under the same generation'
);
select testing.refused(
    testing.on_campaign(
        'cancel', '{"p_generation": 2, "p_reason": "no longer wanted", "p_quiet_for": "1 hour"}',
        'parser', 'in_verifying'),
    'stale', 'and another quiet_for'
);
reset session authorization;
select testing.open('parser', 'in_verifying');
select is(testing.state('parser', 'in_verifying'), 'ready', 'the target can be opened again');
set local session authorization admin_1;
select testing.duplicate(
    replace(:'again', format('''%s''', testing.id('parser', 'in_verifying')),
            (select format('''%s''', b.campaign_id) from testing.before as b
             where b.stood_in = 'verifying')),
    'answers a repeat with ok and duplicate even then, and leaves the new campaign alone'
);
select is(testing.state('parser', 'in_verifying'), 'ready', 'which stays open');
reset session authorization;
create role admin_2 login;
grant fencepost_admin to admin_2;
set local session authorization admin_2;
select testing.refused(:'again', 'stale', 'refuses the same act of another admin');
reset session authorization;

-- == quiet ========================================================================================

select testing.class('quiet');
select testing.open('parser', 'quiet');
select testing.clock() + interval '2 days' as until \gset
select testing.must('admin_1', testing.on_campaign(
    'cancel', '{"p_quiet_for": "2 days"}', 'parser', 'quiet'));
select is(
    (testing.target('parser', 'quiet')).quiet_until, :'until'::timestamptz,
    'keeps the target quiet for as long as asked'
);
select is(
    (testing.event('parser', 'quiet')).detail, '{"quiet_for": "2 days"}'::jsonb,
    'and says so in the event'
);
select testing.clock_passes('1 day');
select results_eq(
    $$ select r.j ->> 'note', r.j -> 'moved'
       from testing.observed(false, 'parser', 'quiet') as r (j) $$,
    $$ values ('quiet'::text, 'false'::jsonb) $$,
    'keeps a red observation from opening: it is recorded, and moves nothing'
);
select is(testing.state('parser', 'quiet'), 'cancelled', 'no campaign is open');
select testing.clock_is(:'until'::timestamptz - interval '1 microsecond');
select is(
    testing.observed(false, 'parser', 'quiet') ->> 'note', 'quiet', 'up to the last moment'
);
select testing.clock_is(:'until');
select is(testing.observed(false, 'parser', 'quiet') ->> 'note', 'open', 'and no longer');

-- A second cancellation does not shorten the first one's quiet; an admin may open all the same.
select testing.must('admin_1', testing.on_campaign(
    'cancel', '{"p_quiet_for": "31 days"}', 'parser', 'quiet'));
select (testing.target('parser', 'quiet')).quiet_until as until \gset
select is(
    :'until'::timestamptz, testing.clock() + interval '31 days', 'takes a quiet_for of 31 days'
);
select testing.must('admin_1', $$ select * from kernel.open_campaign(
    p_class => 'quiet', p_target => 'parser', p_token => gen_random_uuid()) $$);
select is(testing.state('parser', 'quiet'), 'ready', 'keeps no admin from opening');
select testing.must('admin_1', testing.on_campaign(
    'cancel', '{"p_quiet_for": "1 hour"}', 'parser', 'quiet'));
select is(
    (testing.target('parser', 'quiet')).quiet_until, :'until'::timestamptz,
    'never makes a quiet time shorter'
);
select is(
    (testing.target('parser', 'in_ready')).quiet_until, null, 'sets none where none was asked'
);
-- An observation that was begun before speaks of what was open then.
select testing.class('begun');
select testing.open('parser', 'begun');
select testing.must('sensor_1', $$ select * from kernel.begin_observation(
    p_class => 'begun', p_target => 'parser', p_token => testing.token('red')) $$) ->> 'number'
    as number \gset
select testing.cancel('parser', 'begun');
select is(
    testing.must('sensor_1', testing.call('report_observation', jsonb_build_object(
        'p_class', 'begun', 'p_target', 'parser', 'p_number', :'number',
        'p_token', testing.token('red'), 'p_is_green', false))) ->> 'note',
    'superseded', 'lets no observation reopen that was begun before, also without a quiet time'
);

-- == refusals =====================================================================================

select testing.class('kept');
select testing.leased('parser', 'kept');
set local session authorization admin_1;
select testing.refused(
    testing.on_campaign('cancel', '{"p_generation": 0}', 'parser', 'kept'), 'stale',
    'refuses a generation that the campaign does not have any more'
);
select testing.refused(
    testing.on_campaign('cancel', '{}', 'parser', 'in_' || s.state), 'illegal',
    format('refuses in %s', s.state)
)
from unnest(array['confirmed', 'cancelled', 'lapsed']) as s (state);
reset session authorization;

create role between_them;
grant fencepost_admin to between_them;
grant between_them to stranger;
set local session authorization stranger;
select testing.refused(
    testing.on_campaign('cancel', '{}', 'parser', 'kept'), 'forbidden',
    'refuses whose membership is indirect'
);
select testing.refused(
    testing.on_campaign('cancel', '{"p_campaign_id": 123456789}', 'parser', 'kept'), 'forbidden',
    'also where there is no such campaign'
);
reset session authorization;

-- == misuse =======================================================================================

select testing.ledger_digest(true) as before \gset
set local session authorization admin_1;
select testing.raises(
    testing.on_campaign('cancel', format('{"%s": null}', a.name)::jsonb, 'parser', 'kept'), 'KN101',
    format('argument %s is null', a.name), format('wants %s', a.name)
)
from unnest(array['p_class', 'p_campaign_id', 'p_generation', 'p_quiet_for']) as a (name);
select testing.raises(
    testing.on_campaign('cancel', '{"p_quiet_for": "-1 microsecond"}', 'parser', 'kept'), 'KN104',
    'quiet_for is out of range', 'wants a quiet_for that is not negative'
);
select testing.raises(
    testing.on_campaign('cancel', '{"p_quiet_for": "31 days 1 second"}', 'parser', 'kept'), 'KN104',
    null, 'of at most 31 days'
);
select testing.raises(
    testing.on_campaign('cancel', '{"p_quiet_for": "1 year -330 days"}', 'parser', 'kept'), 'KN104',
    null, 'of at most 31 days as they pass, however it is written'
);
select testing.raises(
    testing.on_campaign('cancel', '{"p_class": "K"}', 'parser', 'kept'), 'KN102', null,
    'wants the name of a class'
);
select testing.raises(
    testing.on_campaign('cancel', '{"p_campaign_id": 123456789}', 'parser', 'kept'), 'KN108', null,
    'wants a campaign that there is'
);
select testing.raises(
    testing.on_campaign('cancel', '{"p_reason": " "}', 'parser', 'kept'), 'KN102', null,
    'wants a reason that is not blank, or none'
);
select testing.raises(
    testing.on_campaign('cancel', jsonb_build_object('p_reason', repeat('x', 4097)), 'parser',
                        'kept'),
    'KN103', null, 'of at most 4096 bytes'
);
select is(testing.ledger_digest(true), :'before', 'has written nothing');
select set_config('transaction_read_only', 'on', true);
select testing.raises(
    testing.on_campaign('cancel', '{}', 'parser', 'kept'), 'KN112', null,
    'wants a transaction that may write'
);
reset session authorization;

select finish();
rollback;
