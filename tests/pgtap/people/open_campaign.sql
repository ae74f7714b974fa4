-- kernel.open_campaign opens a campaign of a target without waiting for an observation.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
select plan(46);

create function testing.opening(
    p_changes jsonb default '{}',
    p_target  text  default 'parser',
    p_class   text  default 'fix'
)
    returns text
    language sql
as $fn$
    select testing.call('open_campaign', jsonb_build_object(
        'p_class', p_class, 'p_target', p_target, 'p_token', testing.token('opening')
    ) || p_changes)
$fn$;

select testing.callable_by('kernel.open_campaign', 'admin');

select testing.target_in('parser', 'fix');
select testing.target_in('parser', 'ship');

set local session authorization admin_1;
select results_eq(
    testing.opening('{"p_reason": "the release is near"}'),
    $$ values ('ok'::text, false, true, null::text, 'fix'::text, testing.id(), 0::bigint,
               'ready'::text, null::timestamptz, null::text) $$,
    'opens a campaign in ready, under generation 0'
);
reset session authorization;
select results_eq(
    $$ select c.target, c.state, c.generation, c.opened_at, c.opened_by, c.opening_observation_no,
              c.opening_token_sha256, c.previous_campaign_id, c.desired_state, c.acceptance,
              c.promotes, c.separate_family, c.needs_evidence
       from testing.campaign() as c $$,
    $$ values ('parser'::text, 'ready'::text, 0::bigint, '2026-09-01 03:00+00'::timestamptz,
               'admin_1'::name, null::bigint, ledger.token_digest(testing.token('opening')),
               null::bigint, '{"tests": "green"}'::jsonb,
               '{"command": ["make", "test"], "time_limit_s": 600, "protected": ["tests"]}'::jsonb,
               false, false, false) $$,
    'freezes what acceptance means, names who opened it, and no observation'
);
select results_eq(
    $$ select c.attempt_count, c.failure_count, c.loss_count, c.release_count,
              c.verification_loss_count, c.promotion_loss_count, c.next_attempt_at, c.phase_since,
              c.lease_principal, c.closed_at, c.event_count
       from testing.campaign() as c $$,
    $$ values (0, 0, 0, 0, 0, 0, '2026-09-01 03:00+00'::timestamptz,
               '2026-09-01 03:00+00'::timestamptz, null::name, null::timestamptz, 1::bigint) $$,
    'with no history, and due at once'
);
select results_eq(
    $$ select e.event_no, e.transition, e.from_state, e.to_state, e.generation, e.by_principal,
              e.holder, e.at, e.detail
       from testing.event() as e $$,
    $$ values (1::bigint, 'open'::text, 'none'::text, 'ready'::text, 0::bigint, 'admin_1'::name,
               null::name, '2026-09-01 03:00+00'::timestamptz,
               '{"reason": "the release is near"}'::jsonb) $$,
    'writes the event'
);
select is((select count(*) from ledger.observation), 0::bigint, 'invents no observation');

-- == repeated =====================================================================================

set local session authorization admin_1;
select testing.duplicate(testing.opening(), 'answers a repeat with ok and duplicate');
select results_eq(
    format('select class, campaign_id, generation, state from (%s) as o', testing.opening()),
    $$ values ('fix'::text, testing.id(), 0::bigint, 'ready'::text) $$,
    'with the campaign as it stands'
);
reset session authorization;
select testing.claim();
select testing.cancel();
set local session authorization admin_1;
select testing.duplicate(testing.opening(), 'answers a repeat even after the campaign was closed');
reset session authorization;
select is(testing.state(), 'cancelled', 'and does not open another one');

create role admin_2 login;
grant fencepost_admin to admin_2;
set local session authorization admin_2;
select testing.refused(
    testing.opening(), 'not_holder', 'refuses a token with which another admin has opened'
);
reset session authorization;
select testing.target_in('lexer', 'fix');
set local session authorization admin_1;
select testing.refused(
    testing.opening('{}', 'lexer'), 'not_holder',
    'refuses a token with which the caller has opened another target''s'
);
select is((testing.campaign('lexer')).campaign_id, null, 'and opens nothing there');
select results_eq(
    format('select outcome, duplicate, class from (%s) as o',
           testing.opening('{}', 'parser', 'ship')),
    $$ values ('ok'::text, false, 'ship'::text) $$, 'tokens are those of a class'
);
reset session authorization;
select ok((testing.campaign('parser', 'ship')).promotes, 'and freezes that this class promotes');

-- == one open campaign of a target ================================================================

select testing.in_state(s.state)
from unnest(array['ready', 'leased', 'attempted', 'verifying', 'accepted', 'promoting', 'verified',
                  'parked']) as s (state);
set local session authorization admin_1;
select testing.refused(
    testing.opening('{}', 'parser', 'in_' || s.state), 'illegal',
    format('refuses while one is %s', s.state)
)
from unnest(array['ready', 'leased', 'attempted', 'verifying', 'accepted', 'promoting', 'verified',
                  'parked']) as s (state);
select results_eq(
    format('select outcome, campaign_id, generation, state, message from (%s) as o',
           testing.opening('{}', 'parser', 'in_verifying')),
    $$ select 'illegal'::text, c.campaign_id, c.generation, c.state,
              format('campaign %s of this target is open', c.campaign_id)
       from testing.campaign('parser', 'in_verifying') as c $$,
    'and names the one that is open'
);
reset session authorization;

select testing.target_in('lexer', 'in_verifying');
set local session authorization admin_1;
select results_eq(
    format('select outcome, state from (%s) as o', testing.opening('{}', 'lexer', 'in_verifying')),
    $$ values ('ok'::text, 'ready'::text) $$, 'minds none of another target'
);
reset session authorization;

-- == soon after the last one ======================================================================

select testing.class('soon', '{"reopen_within": "1 day"}');
select testing.leased('parser', 'soon');
select testing.must('worker_1', testing.holding(
    'fail', '{"p_reason": "nothing helped", "p_fingerprint": "patch-0"}', 'parser', 'soon'));
select testing.clock_passes('1 hour');
select testing.claim('parser', 'soon');
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', $$ select * from kernel.reap(p_class => 'soon') $$);
select testing.cancel('parser', 'soon');
select testing.id('parser', 'soon') as first \gset
select testing.clock_passes('23:59:59.999999');
set local session authorization admin_1;
select results_eq(
    format('select outcome, state, generation from (%s) as o',
           testing.opening('{}', 'parser', 'soon')),
    $$ values ('ok'::text, 'ready'::text, 0::bigint) $$, 'opens again within reopen_within'
);
reset session authorization;
select results_eq(
    $$ select c.previous_campaign_id, c.failure_count, c.loss_count, c.attempt_count,
              c.failure_reason
       from testing.campaign('parser', 'soon') as c $$,
    format($$ values (%s::bigint, 1, 1, 0, 'nothing helped'::text) $$, :'first'),
    'naming the last campaign, with its counts and its reason'
);
select is(
    (testing.event('parser', 'soon')).detail, jsonb_build_object('previous', :'first'::bigint),
    'and says so in the event'
);
select testing.claim('parser', 'soon');
set local session authorization worker_1;
select testing.refused(
    testing.holding('submit', '{"p_fingerprint": "patch-0", "p_approach": null, "p_result": {}}',
                    'parser', 'soon'),
    'repeated', 'and what failed there is refused here'
);
reset session authorization;
select testing.cancel('parser', 'soon');
select testing.clock_passes('1 day');
set local session authorization admin_1;
select lives_ok(
    testing.opening(jsonb_build_object('p_token', testing.token('later')), 'parser', 'soon'),
    'opens again after reopen_within'
);
reset session authorization;
select results_eq(
    $$ select c.previous_campaign_id, c.failure_count, c.loss_count, c.failure_reason
       from testing.campaign('parser', 'soon') as c $$,
    $$ values (null::bigint, 0, 0, null::text) $$, 'naming none, with counts of its own'
);

-- == refusals =====================================================================================

create role between_them;
grant fencepost_admin to between_them;
grant between_them to stranger;
set local session authorization stranger;
select testing.refused(
    testing.opening('{}', 'lexer'), 'forbidden', 'refuses whose membership is indirect'
);
select testing.refused(
    testing.opening('{}', 'none such'), 'forbidden', 'also where there is no such target'
);
reset session authorization;

-- == misuse =======================================================================================

select testing.ledger_digest(true) as before \gset
set local session authorization admin_1;
select testing.raises(
    testing.opening(format('{"%s": null}', a.name)::jsonb), 'KN101',
    format('argument %s is null', a.name), format('wants %s', a.name)
)
from unnest(array['p_class', 'p_target', 'p_token']) as a (name);
select testing.raises(
    testing.opening('{"p_class": "F"}'), 'KN102', null, 'wants the name of a class'
);
select testing.raises(
    testing.opening('{}', 'none such'), 'KN107', null, 'wants a target that there is'
);
select testing.raises(
    testing.opening('{}', ' '), 'KN102', 'argument p_target is empty', 'of some name'
);
select testing.raises(
    testing.opening('{}', repeat('x', 201)), 'KN103', 'argument p_target is too long',
    'of at most 200 bytes'
);
select testing.raises(
    testing.opening('{}', 'parser', 'nowhere'), 'KN106', 'there is no class nowhere',
    'and a class that there is'
);
select testing.raises(
    testing.opening('{"p_reason": "\t"}'), 'KN102', null,
    'wants a reason that is not blank, or none'
);
select testing.raises(
    testing.opening(jsonb_build_object('p_reason', repeat('x', 4097))), 'KN103', null,
    'of at most 4096 bytes'
);
select is(testing.ledger_digest(true), :'before', 'has written nothing');
select lives_ok(
    testing.opening(jsonb_build_object('p_token', testing.token('long'),
                                       'p_reason', repeat('x', 4096)), 'lexer'),
    'takes a reason of 4096 bytes'
);
select set_config('transaction_read_only', 'on', true);
select testing.raises(testing.opening(), 'KN112', null, 'wants a transaction that may write');
reset session authorization;

select finish();
rollback;
