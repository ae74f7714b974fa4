-- kernel.judge, repeated, is the same verdict however far the campaign has moved; another is stale.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
select plan(24);

-- == accepted, nothing to promote =================================================================

select testing.verifying();
select testing.judging(jsonb_build_object('p_token', testing.token('verifier_1'))) as accept \gset
select testing.judging(jsonb_build_object(
    'p_token', testing.token('verifier_1'), 'p_verdict', 'rejected', 'p_reason', 'red')) as reject
\gset
select testing.must('verifier_1', :'accept');

set local session authorization verifier_1;
select testing.duplicate(:'accept', 'answers a repeat in verified with ok and duplicate');
select results_eq(
    format('select class, campaign_id, generation, state, message from (%s) as j', :'accept'),
    $$ values ('fix'::text, testing.id(), 2::bigint, 'verified'::text, null::text) $$,
    'and with the campaign as it stands'
);
select testing.refused(:'reject', 'stale', 'refuses another verdict under the same lease');
select testing.refused(
    testing.judging('{"p_reason": "another reason"}'), 'stale',
    'refuses the same verdict with another reason'
);
select testing.refused(
    testing.judging('{"p_command": "make check"}'), 'stale', 'with another command'
);
select testing.refused(
    testing.judging('{"p_evidence_uri": "file:///elsewhere"}'), 'stale', 'with other evidence'
);
select testing.refused(
    testing.judging(jsonb_build_object('p_evidence_sha256', sha256('other'))), 'stale',
    'with evidence of another digest'
);
select testing.refused(
    testing.judging(jsonb_build_object('p_bundle_sha256', sha256('other'))), 'stale',
    'and with another bundle'
);
reset session authorization;
set local session authorization verifier_2;
select testing.refused(:'accept', 'not_holder', 'refuses the same call of another principal');
reset session authorization;
set local session authorization verifier_1;
select testing.refused(
    testing.judging(jsonb_build_object('p_token', testing.token('other'))), 'not_holder',
    'and of the same principal with another token'
);
reset session authorization;

select testing.clock_passes('1 day');
select testing.observed(true);
select is(testing.state(), 'confirmed', 'the campaign has been confirmed');
set local session authorization verifier_1;
select testing.duplicate(:'accept', 'answers a repeat with ok and duplicate even then');
select testing.refused(:'reject', 'stale', 'and another verdict with stale');
reset session authorization;
select is((select count(*) from ledger.verdict), 1::bigint, 'one verdict stands');

-- == accepted, and going on to promoting ==========================================================

select testing.verifying('parser', 'ship');
select testing.judging(
    jsonb_build_object('p_token', testing.token('verifier_1')), 'parser', 'ship') as accept \gset
select testing.must('verifier_1', :'accept');
set local session authorization verifier_1;
select testing.duplicate(:'accept', 'answers a repeat in promoting, under the lease that goes on');
select testing.refused(
    testing.judging('{"p_verdict": "rejected", "p_reason": "red"}', 'parser', 'ship'), 'stale',
    'but takes no other verdict under it: what is accepted stays so'
);
reset session authorization;
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', $$ select * from kernel.reap(p_class => 'ship') $$);
set local session authorization verifier_1;
select testing.duplicate(:'accept', 'answers a repeat after the promotion was lost');
reset session authorization;

-- == rejected =====================================================================================

select testing.class('back');
select testing.verifying('parser', 'back');
select testing.judging(jsonb_build_object(
    'p_token', testing.token('verifier_1'), 'p_verdict', 'rejected', 'p_reason', 'red'),
    'parser', 'back') as reject \gset
select testing.judging(
    jsonb_build_object('p_token', testing.token('verifier_1')), 'parser', 'back') as accept \gset
select testing.must('verifier_1', :'reject');
set local session authorization verifier_1;
select testing.duplicate(:'reject', 'answers a repeated rejection in ready');
reset session authorization;
select testing.clock_passes('1 hour');
select testing.claim('parser', 'back');
set local session authorization verifier_1;
select testing.duplicate(:'reject', 'and while the next attempt is under way');
select testing.refused(:'accept', 'stale', 'refuses to accept after all');
reset session authorization;
select is(
    (testing.campaign('parser', 'back')).failure_count, 1, 'and has counted one failure'
);

-- == abstained ====================================================================================

select testing.class('off');
select testing.verifying('parser', 'off');
select testing.judging(jsonb_build_object(
    'p_token', testing.token('verifier_1'), 'p_verdict', 'unverifiable', 'p_reason', 'no network'),
    'parser', 'off') as abstain \gset
select testing.judging(
    jsonb_build_object('p_token', testing.token('verifier_1')), 'parser', 'off') as accept \gset
select testing.must('verifier_1', :'abstain');
select testing.clock_passes('1 hour');
select testing.claim_verification('parser', 'off', 'verifier_2');
set local session authorization verifier_1;
select testing.duplicate(:'abstain', 'answers a repeated abstention while another verifies');
select testing.refused(:'accept', 'stale', 'refuses to accept under the lease it abstained with');
reset session authorization;
select is(
    (select count(*) from ledger.verdict as v where v.class = 'off'), 1::bigint,
    'and has recorded one abstention'
);

select finish();
rollback;
