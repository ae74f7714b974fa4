-- kernel.judge accepts: the verdict is recorded, and the campaign goes to verified, or on to
-- promoting.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
select plan(20);

select testing.callable_by('kernel.judge', 'verifier');

-- == where nothing is promoted ====================================================================

select testing.verifying();
select testing.clock_passes('2 minutes');

set local session authorization verifier_1;
select results_eq(
    $$ select * from kernel.judge(
           p_class => 'fix', p_campaign_id => testing.id(), p_generation => 2,
           p_token => testing.token('verifier_1'), p_verdict => 'accepted',
           p_bundle_sha256 => testing.bundle_sha256(), p_fingerprint => 'patch-1',
           p_command => 'make test', p_exit_code => 0, p_reason => 'all green',
           p_evidence_uri => 'file:///evidence/verdict',
           p_evidence_sha256 => sha256('verdict')) $$,
    $$ values ('ok'::text, false, true, null::text, 'fix'::text, testing.id(), 2::bigint,
               'verified'::text, null::timestamptz, null::text) $$,
    'goes to verified in a class that does not promote, and gives the lease back'
);
reset session authorization;

select results_eq(
    $$ select c.state, c.generation, c.lease_principal, c.lease_token_sha256, c.lease_expires_at,
              c.failure_count, c.loss_count, c.attempt_count, c.phase_since, c.evidence_uri,
              c.evidence_sha256, c.closed_at
       from testing.campaign() as c $$,
    $$ values ('verified'::text, 2::bigint, null::name, null::bytea, null::timestamptz, 0, 0, 1,
               '2026-09-01 03:02+00'::timestamptz, 'file:///evidence/verdict'::text,
               sha256('verdict'), null::timestamptz) $$,
    'writes the state, its time, and the verifier''s evidence into the campaign'
);
select results_eq(
    $$ select v.attempt_no, v.generation, v.verdict, v.principal, v.principal_oid, v.token_sha256,
              v.family, v.fingerprint, v.command, v.exit_code, v.reason, v.evidence_uri,
              v.evidence_sha256, v.judged_at
       from testing.verdict() as v $$,
    $$ values (1, 2::bigint, 'accepted'::text, 'verifier_1'::name, 'verifier_1'::regrole::oid,
               ledger.token_digest(testing.token('verifier_1')), 'south'::text, 'patch-1'::text,
               'make test'::text, 0, 'all green'::text, 'file:///evidence/verdict'::text,
               sha256('verdict'), '2026-09-01 03:02+00'::timestamptz) $$,
    'records the verdict: by whom, of which family, what ran, how it ended, on which evidence'
);
select results_eq(
    $$ select e.event_no, e.transition, e.from_state, e.to_state, e.generation, e.by_principal,
              e.holder, e.is_late, e.at, e.detail
       from testing.event() as e $$,
    $$ values (5::bigint, 'accept'::text, 'verifying'::text, 'verified'::text, 2::bigint,
               'verifier_1'::name, 'verifier_1'::name, false, '2026-09-01 03:02+00'::timestamptz,
               '{"attempt": 1, "reason": "all green", "exit_code": 0}'::jsonb) $$,
    'writes the event'
);
select results_eq(
    $$ select a.ended_at, a.ending, a.promoted_at from testing.attempt() as a $$,
    $$ values (null::timestamptz, null::text, null::timestamptz) $$,
    'leaves the attempt open: whether it holds is for a later observation to say'
);
select is(
    (select count(*) from ledger.verdict), 1::bigint, 'records one verdict'
);

-- == where the class promotes =====================================================================

select testing.attempted('parser', 'ship');
select testing.must('verifier_1', $$ select * from kernel.claim_verification(
    p_class => 'ship', p_token => testing.token('verifier_1'), p_label => 'v1',
    p_lease_for => '20 minutes') $$);
select c.lease_token_sha256 as token, c.lease_granted_at as granted, c.lease_xid as xid
from testing.campaign('parser', 'ship') as c \gset
select testing.clock_passes('3 minutes');

set local session authorization verifier_1;
select results_eq(
    testing.judging('{}', 'parser', 'ship'),
    $$ values ('ok'::text, false, true, null::text, 'ship'::text, testing.id('parser', 'ship'),
               2::bigint, 'promoting'::text, '2026-09-01 03:22+00'::timestamptz, null::text) $$,
    'goes on to promoting in a class that promotes, under the same generation and expiry'
);
reset session authorization;
select results_eq(
    $$ select c.state, c.generation, c.lease_principal, c.lease_label, c.lease_expires_at,
              c.phase_since
       from testing.campaign('parser', 'ship') as c $$,
    $$ values ('promoting'::text, 2::bigint, 'verifier_1'::name, 'v1'::text,
               '2026-09-01 03:22+00'::timestamptz, '2026-09-01 03:05+00'::timestamptz) $$,
    'keeps the lease: same generation, holder, label and expiry'
);
select results_eq(
    $$ select c.lease_token_sha256, c.lease_granted_at, c.lease_xid
       from testing.campaign('parser', 'ship') as c $$,
    format('values (%L::bytea, %L::timestamptz, %L::xid8)', :'token', :'granted', :'xid'),
    'same token, same time and transaction of the grant'
);
select results_eq(
    $$ select e.transition, e.from_state, e.to_state, e.generation, e.holder
       from testing.event('parser', 'ship') as e $$,
    $$ values ('accept'::text, 'verifying'::text, 'promoting'::text, 2::bigint,
               'verifier_1'::name) $$,
    'writes the event with its holder'
);
select lives_ok(
    $$ select testing.must('verifier_1', testing.promotion())
       from testing.moved() as operation $$,
    'so that its holder promotes with the same token, and claims nothing in between'
);

-- Frozen at opening: what the class says today does not matter.
select testing.verifying('frozen');
select testing.verifying('frozen', 'ship', 'verifier_2');
select testing.must('admin_1', $$ select * from kernel.define_class(
    p_class => 'fix', p_policy => '{"promotes": true}') $$);
select testing.must('admin_1', $$ select * from kernel.define_class(
    p_class => 'ship', p_policy => '{"promotes": false}') $$);
select testing.judge('accepted', 'frozen');
select testing.judge('accepted', 'frozen', 'ship', 'verifier_2');
select is(testing.state('frozen'), 'verified', 'goes by what the campaign was opened with');
select is(testing.state('frozen', 'ship'), 'promoting', 'in both directions');

-- == late =========================================================================================

select testing.class('late');
select testing.verifying('parser', 'late');
select testing.clock_passes('1 day');
set local session authorization verifier_1;
select results_eq(
    format('select outcome, state, generation from (%s) as j',
           testing.judging('{}', 'parser', 'late')),
    $$ values ('ok'::text, 'verified'::text, 2::bigint) $$,
    'takes a verdict after the lease has run out, while nobody has taken the campaign'
);
reset session authorization;
select ok((testing.event('parser', 'late')).is_late, 'and says so in the event');

-- == bounds =======================================================================================

select testing.verifying('long', 'late');
set local session authorization verifier_1;
select lives_ok(
    testing.judging(jsonb_build_object(
        'p_reason', repeat('r', 4096), 'p_command', repeat('c', 4096),
        'p_evidence_uri', 'file:///' || repeat('e', 4088)), 'long', 'late'),
    'takes 4096 bytes of reason, command and URI'
);
reset session authorization;
select is(octet_length((testing.verdict('long', 'late')).reason), 4096, 'and keeps them whole');

select testing.leased('wide', 'late');
select testing.submit('wide', 'late', p_fingerprint => repeat('f', 200));
select testing.claim_verification('wide', 'late');
set local session authorization verifier_1;
select lives_ok(
    testing.judging('{"p_command": null}', 'wide', 'late'),
    'takes a fingerprint of 200 bytes, and does without a command'
);
reset session authorization;
select is(testing.state('wide', 'late'), 'verified', 'which accepts as well');

select finish();
rollback;
