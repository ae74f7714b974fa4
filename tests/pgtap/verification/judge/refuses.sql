-- kernel.judge refuses: one row in ledger.refusal, and nothing else is written.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
select plan(35);

select testing.verifying();

-- == who =========================================================================================

set local session authorization verifier_elsewhere;
select testing.refused(
    testing.judging(jsonb_build_object('p_token', testing.token('verifier_1'))), 'forbidden',
    'refuses who is not enrolled, before anything is said of the campaign'
);
select testing.refused(
    testing.judging('{"p_campaign_id": 123456789}'), 'forbidden',
    'also where there is no such campaign'
);
select testing.refused(
    testing.judging('{"p_class": "nowhere"}'), 'forbidden', 'and where there is no such class'
);
reset session authorization;

set local session authorization verifier_2;
select testing.refused(
    testing.judging(jsonb_build_object('p_token', testing.token('verifier_1'))), 'not_holder',
    'refuses another principal, though it has the token'
);
reset session authorization;
set local session authorization verifier_1;
select testing.refused(
    testing.judging(jsonb_build_object('p_token', testing.token('other'))), 'not_holder',
    'refuses the holder without its token'
);
select testing.refused(
    testing.judging('{"p_generation": 1}'), 'stale', 'refuses an earlier generation'
);
select testing.refused(
    testing.judging('{"p_generation": 3}'), 'stale', 'refuses a generation yet to come'
);
select results_eq(
    format('select outcome, class, campaign_id, generation, state, lease_expires_at from (%s) as j',
           testing.judging('{"p_generation": 1}')),
    $$ values ('stale'::text, 'fix'::text, testing.id(), 2::bigint, 'verifying'::text,
               null::timestamptz) $$,
    'and names the present generation and state'
);
reset session authorization;

-- == independence, checked again ==================================================================

grant worker_1 to verifier_1;
set local session authorization verifier_1;
select testing.refused(
    testing.judging(), 'self_verdict', 'refuses who became a member of the worker meanwhile'
);
select testing.refused(
    testing.judging('{"p_verdict": "rejected", "p_reason": "red"}'), 'self_verdict',
    'a rejection, too'
);
select testing.refused(
    testing.judging('{"p_verdict": "unverifiable", "p_reason": "no network"}'), 'self_verdict',
    'and an abstention'
);
reset session authorization;
revoke worker_1 from verifier_1;

grant verifier_1 to worker_1;
set local session authorization verifier_1;
select testing.refused(
    testing.judging(), 'self_verdict', 'refuses who got the worker as a member meanwhile'
);
reset session authorization;
revoke verifier_1 from worker_1;

-- The gate in claim_verification opened by force: judge does not rely on it.
create function pg_temp.judge_bar_for_claims()
    returns void
    language plpgsql
as $fn$
begin
    alter function ledger.judge_bar(text, bigint, integer, boolean) rename to judge_bar_kept;
    create function ledger.judge_bar(text, bigint, integer, boolean)
        returns text language sql stable as 'select null::text';
    grant execute on function ledger.judge_bar(text, bigint, integer, boolean) to fencepost_owner;
end
$fn$;
create function pg_temp.judge_bar_again()
    returns void
    language plpgsql
as $fn$
begin
    drop function ledger.judge_bar(text, bigint, integer, boolean);
    alter function ledger.judge_bar_kept(text, bigint, integer, boolean) rename to judge_bar;
end
$fn$;

grant fencepost_verifier to worker_1;
select testing.must('admin_1', $$ select * from kernel.enrol(
    p_class => 'fix', p_principal => 'worker_1', p_duty => 'verifier') $$);
select testing.attempted('own');
select pg_temp.judge_bar_for_claims();
select testing.claim_verification('own', p_verifier => 'worker_1');
select pg_temp.judge_bar_again();
set local session authorization worker_1;
select testing.refused(testing.judging('{}', 'own'), 'self_verdict', 'refuses the worker itself');
reset session authorization;

select testing.class('apart', '{"separate_family": true}');
select testing.attempted('parser', 'apart');
select pg_temp.judge_bar_for_claims();
select testing.claim_verification('parser', 'apart', 'verifier_2');
select pg_temp.judge_bar_again();
set local session authorization verifier_2;
select testing.refused(
    testing.judging('{}', 'parser', 'apart'), 'same_family', 'refuses one of the worker''s family'
);
reset session authorization;
select testing.must('admin_1', $$ select * from kernel.register_principal(
    p_principal => 'verifier_2', p_family => null) $$);
set local session authorization verifier_2;
select testing.refused(
    testing.judging('{}', 'parser', 'apart'), 'same_family', 'refuses one whose family nobody knows'
);
reset session authorization;
select testing.must('admin_1', $$ select * from kernel.register_principal(
    p_principal => 'verifier_2', p_family => 'east') $$);
set local session authorization verifier_2;
select results_eq(
    format('select outcome from (%s) as j', testing.judging('{}', 'parser', 'apart')),
    $$ values ('ok'::text) $$, 'and takes the same verdict once the families differ'
);
reset session authorization;

-- == what =========================================================================================

set local session authorization verifier_1;
select testing.refused(
    testing.judging(jsonb_build_object('p_bundle_sha256', sha256('another'))), 'bundle_mismatch',
    'refuses an acceptance of another digest'
);
select testing.refused(
    testing.judging(jsonb_build_object('p_bundle_sha256', sha256('another'),
                                       'p_verdict', 'rejected', 'p_reason', 'red')),
    'bundle_mismatch', 'and a rejection of another digest'
);
select testing.refused(
    testing.judging('{"p_fingerprint": "patch-2"}'), 'bundle_mismatch',
    'refuses an acceptance whose fingerprint is not the attempt''s'
);
select testing.refused(
    testing.judging('{"p_evidence_uri": null, "p_evidence_sha256": null}'), 'no_evidence',
    'refuses an acceptance without evidence'
);
select testing.refused(
    testing.judging('{"p_evidence_uri": null, "p_evidence_sha256": null,
                      "p_verdict": "rejected", "p_reason": "red"}'),
    'no_evidence', 'and a rejection without evidence'
);
reset session authorization;

-- The digest of another attempt's bundle is another digest.
select testing.leased('lexer', p_worker => 'worker_2');
select testing.submit('lexer', p_worker => 'worker_2');
select testing.claim_verification('lexer', p_verifier => 'verifier_2');
set local session authorization verifier_1;
select testing.refused(
    testing.judging(jsonb_build_object('p_bundle_sha256', testing.bundle_sha256('lexer'))),
    'bundle_mismatch', 'refuses the digest of another campaign''s bundle'
);
reset session authorization;

-- So is that of an earlier attempt of the same campaign.
select testing.class('earlier');
select testing.verifying('parser', 'earlier');
select testing.bundle_sha256('parser', 'earlier') as first \gset
select testing.judge('rejected', 'parser', 'earlier');
select testing.clock_passes('1 minute');
select testing.claim('parser', 'earlier');
select testing.submit('parser', 'earlier', p_fingerprint => 'patch-2');
select testing.claim_verification('parser', 'earlier');
set local session authorization verifier_1;
select testing.refused(
    testing.judging(jsonb_build_object('p_bundle_sha256', :'first'), 'parser', 'earlier'),
    'bundle_mismatch', 'refuses the digest of an earlier attempt''s bundle'
);
reset session authorization;

-- Refused calls leave the lease as it was: the right one still counts.
set local session authorization verifier_1;
select results_eq(
    format('select outcome, state from (%s) as j', testing.judging()),
    $$ values ('ok'::text, 'verified'::text) $$,
    'takes the right verdict after all those refusals'
);
reset session authorization;

-- == a refused fingerprint, computed by the verifier ==============================================

-- The worker submits while "patch-1" is free; a twin of the target has no bearing on it. Then the
-- same campaign's earlier attempt turns out to have been that, as its verifier saw it.
select testing.class('again');
select testing.verifying('parser', 'again');
set local session authorization verifier_1;
select testing.must('verifier_1', testing.judging(
    '{"p_verdict": "rejected", "p_fingerprint": "patch-2", "p_reason": "red"}', 'parser', 'again'));
reset session authorization;
select testing.clock_passes('1 hour');
create function pg_temp.submit_unchecked()
    returns void
    language plpgsql
as $fn$
begin
    alter function ledger.refused_fingerprints(text, bigint) rename to refused_fingerprints_kept;
    create function ledger.refused_fingerprints(text, bigint)
        returns text[] language sql stable as $stub$ select '{}'::text[] $stub$;
    grant execute on function ledger.refused_fingerprints(text, bigint) to fencepost_owner;
    perform testing.claim('parser', 'again');
    perform testing.submit('parser', 'again', p_fingerprint => 'patch-2');
    perform testing.claim_verification('parser', 'again');
    drop function ledger.refused_fingerprints(text, bigint);
    alter function ledger.refused_fingerprints_kept(text, bigint) rename to refused_fingerprints;
end
$fn$;
select pg_temp.submit_unchecked();
set local session authorization verifier_1;
select testing.refused(
    testing.judging('{}', 'parser', 'again'), 'repeated',
    'refuses to accept a fingerprint that is refused, though it was submitted'
);
select results_eq(
    format('select outcome, state from (%s) as j', testing.judging(
        '{"p_verdict": "rejected", "p_reason": "repeated"}', 'parser', 'again')),
    $$ values ('ok'::text, 'ready'::text) $$,
    'but not to reject it'
);
reset session authorization;

-- == where it is not done =========================================================================

select testing.open('untouched');
set local session authorization verifier_1;
select testing.refused(
    testing.judging(jsonb_build_object('p_bundle_sha256', sha256('x'), 'p_fingerprint', 'f',
                                       'p_token', testing.token('verifier_1')), 'untouched'),
    'illegal', 'refuses in ready, where nobody ever held the generation'
);
reset session authorization;

select testing.class('states', '{"promotes": true}');
select testing.leased('leased', 'states', p_worker => 'worker_2');
select testing.must('admin_1', $$ select * from kernel.enrol(
    p_class => 'states', p_principal => 'worker_1', p_duty => 'verifier') $$);
grant fencepost_worker to verifier_1;
select testing.must('admin_1', $$ select * from kernel.enrol(
    p_class => 'states', p_principal => 'verifier_1', p_duty => 'worker') $$);
select testing.leased('mine', 'states', p_worker => 'verifier_1');
set local session authorization verifier_1;
select testing.refused(
    testing.judging(jsonb_build_object('p_bundle_sha256', sha256('x'), 'p_fingerprint', 'f'),
                    'mine',
                    'states'),
    'illegal', 'refuses in leased, under the caller''s own lease as a worker'
);
select testing.refused(
    testing.judging(jsonb_build_object('p_bundle_sha256', sha256('x'), 'p_fingerprint', 'f'),
                    'leased', 'states'),
    'not_holder', 'refuses in leased, under another''s'
);
reset session authorization;

select testing.must('worker_2', testing.holding(
    'submit', '{"p_fingerprint": "patch-1", "p_approach": null,
                "p_result": {"base": "b", "commit": "c"}}', 'leased', 'states'));
select testing.must('verifier_2', $$ select * from kernel.claim_verification(
    p_class => 'states', p_token => testing.token('verifier_2')) $$);
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', $$ select * from kernel.reap(p_class => 'states') $$);
select is(testing.state('leased', 'states'), 'attempted', 'the verification was lost');
set local session authorization verifier_2;
select testing.refused(
    testing.judging('{"p_generation": 2}', 'leased', 'states'), 'stale',
    'refuses a verdict that comes after the lease was lost'
);
select testing.refused(
    testing.judging('{}', 'leased', 'states'), 'illegal', 'and one under the generation of the loss'
);
reset session authorization;

select testing.claim_verification('leased', 'states', 'verifier_2', testing.token('anew'));
set local session authorization verifier_2;
select testing.refused(
    testing.judging('{"p_generation": 2}', 'leased', 'states'), 'stale',
    'the old lease is stale, though its principal holds the campaign again'
);
reset session authorization;
select testing.must('verifier_2', testing.judging(
    jsonb_build_object('p_token', testing.token('anew')), 'leased', 'states'));
select testing.must('admin_1', testing.on_campaign('park', '{}', 'leased', 'states'));
set local session authorization verifier_2;
select testing.refused(
    testing.judging('{"p_verdict": "rejected", "p_reason": "red"}', 'leased', 'states'), 'illegal',
    'refuses in parked'
);
reset session authorization;
select testing.cancel('leased', 'states');
set local session authorization verifier_2;
select testing.refused(
    testing.judging('{"p_verdict": "rejected", "p_reason": "red"}', 'leased', 'states'), 'illegal',
    'and in cancelled'
);
reset session authorization;

select finish();
rollback;
