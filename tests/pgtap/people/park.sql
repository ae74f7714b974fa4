-- kernel.park sets a campaign aside, out of every open state, until a person sends it on.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
select plan(65);

select testing.callable_by('kernel.park', 'admin');

select testing.in_state(s.state)
from unnest(array['ready', 'leased', 'attempted', 'verifying', 'accepted', 'promoting', 'verified',
                  'parked', 'confirmed', 'cancelled', 'lapsed']) as s (state);
create table testing.before as
select s.state, c.*, c.lease_principal as holder
from unnest(array['ready', 'leased', 'attempted', 'verifying', 'accepted', 'promoting',
                  'verified']) as s (state),
     testing.campaign('parser', 'in_' || s.state) as c (class, campaign_id, target, present_state);
grant select on testing.before to public;

-- == out of every open state ======================================================================

set local session authorization admin_1;
select results_eq(
    testing.on_campaign('park', '{"p_reason": "wait for the summer"}', 'parser', 'in_' || b.state),
    format($$ values ('ok'::text, false, true, null::text, %L::text, %s::bigint, %s::bigint,
                      'parked'::text, null::timestamptz, null::text) $$,
           b.class, b.campaign_id, b.generation + 1),
    format('answers ok out of %s, under a new generation', b.state)
)
from testing.before as b;
reset session authorization;

select results_eq(
    format($$ select c.state, c.generation, c.parked_for, c.lease_principal, c.lease_token_sha256,
                     c.attempt_count, c.failure_count, c.loss_count, c.verification_loss_count,
                     c.promotion_loss_count, c.next_attempt_at, c.phase_since, c.closed_at
              from testing.campaign('parser', %L) as c $$, b.class),
    format($$ select 'parked'::text, b.generation + 1, 'admin'::text, null::name, null::bytea,
                     b.attempt_count, b.failure_count, b.loss_count, b.verification_loss_count,
                     b.promotion_loss_count, b.next_attempt_at, b.phase_since, null::timestamptz
              from testing.before as b where b.class = %L $$, b.class),
    format('takes the lease out of %s, and counts nothing', b.state)
)
from testing.before as b;
select results_eq(
    format($$ select e.transition, e.from_state, e.to_state, e.generation, e.by_principal, e.holder,
                     e.is_late, e.at, e.detail
              from testing.event('parser', %L) as e $$, b.class),
    format($$ select 'park'::text, %L::text, 'parked'::text, b.generation + 1, 'admin_1'::name,
                     b.holder, false, testing.clock(),
                     jsonb_strip_nulls(jsonb_build_object(
                         'attempt', nullif(b.attempt_count, 0), 'reason', 'wait for the summer',
                         'parked_for', 'admin'))
              from testing.before as b where b.class = %L $$, b.state, b.class),
    format('writes the event out of %s: by whom, and who held it', b.state)
)
from testing.before as b;
select is(
    (testing.attempt('parser', b.class)).ending,
    case when b.state = 'leased' then 'withdrawn' end,
    case b.state
        when 'leased' then 'ends an attempt not yet submitted as withdrawn'
        else format('leaves the attempt as it is out of %s', b.state)
    end
)
from testing.before as b;
select is(
    (testing.attempt('parser', 'in_leased')).reason, 'wait for the summer',
    'with the reason for those that follow'
);

-- == whoever held it is told ======================================================================

set local session authorization worker_1;
select testing.refused(
    testing.holding('submit', '{"p_generation": 1, "p_fingerprint": "f", "p_approach": null,
        "p_result": {}}', 'parser', 'in_leased'),
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
select is(
    testing.observed(true, 'parser', 'in_verified') ->> 'note', 'in_progress',
    'lets no observation confirm it'
);

-- == repeated =====================================================================================

select testing.on_campaign('park', jsonb_build_object(
    'p_reason', 'wait for the summer', 'p_generation', b.generation), 'parser', b.class) as again
from testing.before as b where b.state = 'leased' \gset
set local session authorization admin_1;
select testing.duplicate(:'again', 'answers a repeat with ok and duplicate');
select testing.refused(
    testing.on_campaign('park', '{"p_generation": 1, "p_reason": "another"}', 'parser',
                        'in_leased'),
    'stale', 'refuses another reason under the same generation'
);
select testing.refused(
    testing.on_campaign('park', '{"p_reason": "wait for the summer"}', 'parser', 'in_leased'),
    'illegal', 'refuses to park what is parked, in the generation that it has'
);
reset session authorization;
select testing.must('admin_1', testing.on_campaign('redrive', '{}', 'parser', 'in_leased'));
set local session authorization admin_1;
select testing.duplicate(:'again', 'answers a repeat with ok and duplicate after it was redriven');
reset session authorization;
select testing.cancel('parser', 'in_leased');
set local session authorization admin_1;
select testing.duplicate(:'again', 'and after it was cancelled');
reset session authorization;
create role admin_2 login;
grant fencepost_admin to admin_2;
set local session authorization admin_2;
select testing.refused(:'again', 'stale', 'refuses the same act of another admin');
reset session authorization;

-- The same act on another campaign, in the same generation, is another act.
select testing.class('twins');
select testing.open('first', 'twins');
select testing.open('second', 'twins');
set local session authorization admin_1;
select results_eq(
    format('select campaign_id, state from (%s) as p',
           testing.on_campaign('park', '{}', 'second', 'twins')),
    $$ values (testing.id('second', 'twins'), 'parked'::text) $$, 'parks the campaign named'
);
select is(testing.state('first', 'twins'), 'ready', 'and no other in the same generation');
reset session authorization;
select testing.must('admin_1', testing.on_campaign('park', '{"p_reason": "x"}', 'first', 'twins'));
set local session authorization admin_1;
select testing.refused(
    testing.on_campaign('park', '{"p_reason": "x", "p_generation": 0}', 'second', 'twins'), 'stale',
    'takes the act on one campaign for no act on another'
);
reset session authorization;

-- == refusals =====================================================================================

set local session authorization admin_1;
select testing.refused(
    testing.on_campaign('park', '{"p_generation": 99}', 'parser', 'in_ready'), 'stale',
    'refuses a generation that the campaign does not have'
);
select results_eq(
    format('select campaign_id, generation, state from (%s) as p',
           testing.on_campaign('park', '{"p_generation": 99}', 'parser', 'in_ready')),
    $$ select c.campaign_id, c.generation, c.state
       from testing.campaign('parser', 'in_ready') as c $$,
    'and names the one it has'
);
select testing.refused(
    testing.on_campaign('park', '{}', 'parser', 'in_' || s.state), 'illegal',
    format('refuses in %s', s.state)
)
from unnest(array['parked', 'confirmed', 'cancelled', 'lapsed']) as s (state);
reset session authorization;

create role between_them;
grant fencepost_admin to between_them;
grant between_them to stranger;
set local session authorization stranger;
select testing.refused(
    testing.on_campaign('park', '{}', 'parser', 'in_ready'), 'forbidden',
    'refuses whose membership is indirect'
);
select testing.refused(
    testing.on_campaign('park', '{"p_campaign_id": 123456789}', 'parser', 'in_ready'), 'forbidden',
    'also where there is no such campaign'
);
reset session authorization;

-- == misuse =======================================================================================

select testing.ledger_digest(true) as before \gset
set local session authorization admin_1;
select testing.raises(
    testing.on_campaign('park', format('{"%s": null}', a.name)::jsonb, 'parser', 'in_ready'),
    'KN101',
    format('argument %s is null', a.name), format('wants %s', a.name)
)
from unnest(array['p_class', 'p_campaign_id', 'p_generation']) as a (name);
select testing.raises(
    testing.on_campaign('park', '{"p_class": "In"}', 'parser', 'in_ready'), 'KN102', null,
    'wants the name of a class'
);
select testing.raises(
    testing.on_campaign('park', '{"p_campaign_id": 123456789}', 'parser', 'in_ready'), 'KN108',
    null,
    'wants a campaign that there is'
);
select testing.raises(
    testing.on_campaign('park', '{"p_reason": " "}', 'parser', 'in_ready'), 'KN102', null,
    'wants a reason that is not blank, or none'
);
select testing.raises(
    testing.on_campaign('park', jsonb_build_object('p_reason', repeat('x', 4097)), 'parser',
                        'in_ready'),
    'KN103', null, 'of at most 4096 bytes'
);
select is(testing.ledger_digest(true), :'before', 'has written nothing');
select testing.must('admin_1', testing.on_campaign('redrive', '{}', 'parser', 'in_ready'));
select lives_ok(
    testing.on_campaign('park', jsonb_build_object('p_reason', repeat('x', 4096)), 'parser',
                        'in_ready'),
    'takes a reason of 4096 bytes'
);
select testing.must('admin_1', testing.on_campaign('redrive', '{}', 'parser', 'in_ready'));
select lives_ok(testing.on_campaign('park', '{}', 'parser', 'in_ready'), 'or none');
select is(
    (testing.event('parser', 'in_ready')).detail, '{"parked_for": "admin"}'::jsonb,
    'and says nothing of one in the event then'
);
select set_config('transaction_read_only', 'on', true);
select testing.raises(
    testing.on_campaign('park', '{}', 'parser', 'in_ready'), 'KN112', null,
    'wants a transaction that may write'
);
reset session authorization;

select finish();
rollback;
