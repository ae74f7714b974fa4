-- kernel.begin_operation of kind promote: the move of the accepted result to the target's place, by
-- its verifier in state promoting, one at a time on a place, whichever campaign.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
\ir ../../_support/operation.psql
select plan(34);

select testing.allows_operations('ship');
create function testing.promotes(p_changes jsonb default '{}', p_target text default 'parser')
    returns text
    language sql
as $fn$
    select testing.told('verifier_1', testing.moving(
        jsonb_build_object('p_operation_token', gen_random_uuid()) || p_changes, p_target))
$fn$;

-- == when, by whom, where to ======================================================================

select testing.verifying('parser', 'ship');
set local session authorization verifier_1;
select testing.refused(
    testing.moving(), 'illegal', 'nothing is promoted before it is accepted'
);
reset session authorization;
select testing.judge('accepted', 'parser', 'ship');
set local session authorization verifier_1;
select testing.refused(testing.moving(c.change), c.outcome, c.what)
from (values
    ('{"p_target": "/srv/parser.git#refs/heads/other"}'::jsonb, 'forbidden',
     'only to the target''s own place'),
    ('{"p_target": "target:parser"}', 'forbidden', 'as its location spells it'),
    ('{"p_kind": "git.push"}', 'forbidden', 'and by no other kind'),
    ('{"p_expected": {"before": "b", "fence": "f", "after": {"commit": "other"}}}',
     'bundle_mismatch', 'only what was accepted'),
    ('{"p_expected": {"before": "b", "fence": "f", "after": {"commit": null}}}',
     'bundle_mismatch', 'not nothing'),
    ('{"p_expected": {"before": "b", "fence": "f", "after": {"tree": "other"}}}',
     'bundle_mismatch', 'nor what is not said')
) as c (change, outcome, what);
select testing.raises(
    testing.moving(jsonb_build_object('p_expected', e.expected)), 'KN102',
    'a promotion says what it found and what it shall bring about',
    'and nothing that does not say what it found: ' || coalesce(e.expected::text, 'null')
)
from (values
    ('{"after": {"commit": "commit-of-patch-1"}}'::jsonb),
    ('{"after": {"commit": "commit-of-patch-1"}, "before": "base-1"}'),
    ('{"after": {"commit": "commit-of-patch-1"}, "fence": "fence-1"}')
) as e (expected);
select testing.raises(
    testing.moving('{"p_expected": {"before": "b", "fence": "f", "after": {}}}'), 'KN102',
    'nothing is said of what the target must show afterwards', 'nor what shows nothing'
);
reset session authorization;
select testing.must('admin_1', $$ select * from kernel.deauthorise(
    p_class => 'ship', p_duty => 'verifier', p_kind => 'promote', p_target => '*') $$);
select is(testing.promotes(), 'forbidden', 'it needs an authority');
select testing.authorised('promote', '{repository}#refs/heads/*', 'ship', 'verifier');
select is(testing.promotes(), 'ok owner pending 1 moved', 'with one it is begun');
select row_eq(
    $$ select o.kind, o.target, o.duty, o.attempt_no, o.expected
       from ledger.operation as o where o.class = 'ship' $$,
    row('promote'::text, '/srv/parser.git#refs/heads/main'::text, 'verifier'::text, 1,
        '{"before": "base-1", "after": {"commit": "commit-of-patch-1"},
          "fence": "fence-1"}'::jsonb),
    'as the verifier''s, with what it expects'
);

-- == the target was given another place since =====================================================

select testing.class('moved', '{"promotes": true}');
select testing.allows_operations('moved');
select testing.promoting('parser', 'moved');
select testing.must('admin_1', testing.call('define_target', jsonb_build_object(
    'p_class', 'moved', 'p_target', 'parser', 'p_desired_state', '{}',
    'p_location', '{"repository": "/srv/parser.git", "ref": "refs/heads/next"}'::jsonb,
    'p_acceptance', '{"command": ["true"]}'::jsonb)));
set local session authorization verifier_1;
select testing.refused(
    testing.moving('{"p_target": "/srv/parser.git#refs/heads/next"}', 'parser', 'moved'),
    'forbidden', 'what was judged at one place is not promoted to another'
);
reset session authorization;
-- An authority that kernel.authorise would not have granted.
alter table ledger.authority disable trigger authority_10_not_by_hand;
insert into ledger.authority
    (class, duty, kind, target, is_standalone, granted_at, granted_by)
values ('moved', 'verifier', 'git.push', '/srv/parser.git#refs/heads/*', false, now(), 'postgres');
alter table ledger.authority enable always trigger authority_10_not_by_hand;
select is(
    testing.told('verifier_1', testing.moving(jsonb_build_object(
        'p_kind', 'git.push', 'p_target', '/srv/parser.git#refs/heads/' || p.ref,
        'p_operation_token', gen_random_uuid()), 'parser', 'moved')),
    p.told, format('by another kind nothing is done to either place: %s', p.ref)
)
from (values ('main', 'forbidden'), ('next', 'forbidden'), ('other', 'ok owner pending 1 moved'))
    as p (ref, told);
select is(
    testing.told('verifier_1', testing.moving('{}', 'parser', 'moved')),
    'ok owner pending 1 moved', 'it is promoted to where it was judged'
);

-- == one at a time ================================================================================

-- Two targets that name one place, each with a campaign in promoting.
create function testing.two_on_one_place(p_class text)
    returns void
    language plpgsql
as $fn$
begin
    perform testing.class(p_class, '{"promotes": true}');
    perform testing.allows_operations(p_class);
    perform testing.promoting('parser', p_class);
    perform testing.attempted('twin', p_class);
    perform testing.claim_verification('twin', p_class, 'verifier_2');
    perform testing.judge('accepted', 'twin', p_class, 'verifier_2');
end
$fn$;
create function testing.of_the_twin(p_class text, p_token uuid default gen_random_uuid())
    returns text
    language sql
as $fn$
    select testing.moving(jsonb_build_object('p_operation_token', p_token), 'twin', p_class)
$fn$;

select testing.two_on_one_place('with_' || s.state)
from unnest(array['pending', 'started', 'completed', 'failed', 'unknown', 'released'])
    as s (state);
select testing.promotion_is(s.state, 'parser', 'with_' || s.state)
from unnest(array['pending', 'started', 'completed', 'failed', 'unknown', 'released'])
    as s (state);
select is(
    testing.told('verifier_2', testing.of_the_twin('with_' || s.state)), s.told,
    format('where another campaign''s promotion to this place is %s', s.state)
)
from (values
    ('pending', 'ok owner pending 1 moved'), ('started', 'operation_open'),
    ('completed', 'ok owner pending 1 moved'), ('failed', 'ok owner pending 1 moved'),
    ('unknown', 'operation_open'), ('released', 'ok owner pending 1 moved')
) as s (state, told);
select testing.of_the_twin('with_started') as call \gset
set local session authorization verifier_2;
select testing.refused(:'call', 'operation_open', 'which is recorded');
reset session authorization;

-- Both begun, one of them is started.
select testing.as_if_committed();
select testing.two_on_one_place('both');
select testing.must(t.verifier, testing.moving(jsonb_build_object(
    'p_operation_token', testing.token('of ' || t.target)), t.target, 'both'))
from (values ('parser', 'verifier_1'), ('twin', 'verifier_2')) as t (target, verifier);
select testing.must('verifier_1', testing.on_operation(
    'start_operation', '{}', testing.newest('parser', 'both'), 'both', 'of parser'));
set local session authorization verifier_2;
select testing.refused(
    testing.on_operation('start_operation', '{}', testing.newest('twin', 'both'), 'both',
                         'of twin'),
    'operation_open', 'of two that were begun, one is started'
);
reset session authorization;
select testing.must('verifier_1', testing.on_operation(
    'mark_operation_unknown', '{}', testing.newest('parser', 'both'), 'both', 'of parser'));
set local session authorization verifier_2;
select testing.refused(
    testing.on_operation('start_operation', '{}', testing.newest('twin', 'both'), 'both',
                         'of twin'),
    'operation_open', 'nor is the other while that is unknown'
);
reset session authorization;
select testing.must('verifier_1', testing.resolving(
    'failed', jsonb_build_object('p_token', testing.token('verifier_1')),
    testing.newest('parser', 'both'), 'both'));
select is(
    testing.told('verifier_2', testing.on_operation(
        'start_operation', '{}', testing.newest('twin', 'both'), 'both', 'of twin')),
    'ok pending 2 started', 'but once that is known to have failed'
);
-- == again, in the same and in the next attempt ===================================================

select testing.class('again', '{"promotes": true}');
select testing.allows_operations('again');
select testing.promoting('parser', 'again');
select testing.promotion_is('failed', 'parser', 'again');
select is(
    testing.told('verifier_1', testing.moving(
        '{"p_ordinal": 2, "p_operation_token": "00000000-0000-4000-8000-000000000002"}',
        'parser', 'again')),
    'ok owner pending 1 moved', 'what failed is tried again, with the next ordinal'
);
select testing.must('verifier_1', testing.call('start_operation', jsonb_build_object(
    'p_class', 'again', 'p_operation_key', testing.newest('parser', 'again'),
    'p_operation_token', '00000000-0000-4000-8000-000000000002')));
select testing.must('verifier_1', testing.call('mark_operation_unknown', jsonb_build_object(
    'p_class', 'again', 'p_operation_key', testing.newest('parser', 'again'), 'p_reason', 'cut',
    'p_operation_token', '00000000-0000-4000-8000-000000000002')));
select is(
    testing.told('verifier_1', testing.moving(
        '{"p_ordinal": 3, "p_operation_token": "00000000-0000-4000-8000-000000000003"}',
        'parser', 'again')),
    'operation_open', 'what is unknown is not'
);

-- An unknown push of an earlier attempt stands in the way of the same push now.
select testing.allows_operations('fix');
select testing.authorised('git.tag', '{repository}#refs/tags/{campaign}*');
select testing.leased('tagged');
select testing.pushed('unknown', 'tagged', 'fix', jsonb_build_object(
    'p_kind', 'git.tag', 'p_target', format('/srv/parser.git#refs/tags/%s', testing.id('tagged'))))
    as unknown \gset
select testing.must('worker_1', testing.holding('fail', '{"p_reason": "no"}', 'tagged'));
select testing.clock_passes('1 hour');
select testing.claim('tagged', 'fix', 'worker_2');
create function testing.tags(p_more text default '')
    returns text
    language sql
as $fn$
    select testing.told('worker_2', testing.pushing(jsonb_build_object(
        'p_operation_token', gen_random_uuid(), 'p_kind', 'git.tag',
        'p_target', format('/srv/parser.git#refs/tags/%s%s', testing.id('tagged'), p_more)),
        'tagged'))
$fn$;
select is(testing.tags(), 'operation_open',
          'what is unknown since an earlier attempt is not begun in this one');
select is(testing.tags('a'), 'ok owner pending 1 moved', 'another target is');
select testing.must('worker_2', testing.resolving(
    'completed', jsonb_build_object('p_token', testing.token('worker_2')), :'unknown'));
select is(testing.tags(), 'ok owner pending 1 moved',
          'and the same, once it is known: what an earlier attempt completed is its own');

select finish();
rollback;
