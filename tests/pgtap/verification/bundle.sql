-- kernel.bundle gives the holder of a verification or a promotion what there is to judge.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
select plan(32);

select testing.callable_by('kernel.bundle', 'verifier');

-- Of the same class, and at the same attempt: another's bundle is not this one's.
select testing.leased('before');
select testing.submit('before', p_fingerprint => 'patch-before');
select testing.claim_verification('before');
select testing.judge('accepted', 'before');

select testing.verifying();
select testing.promoting();

-- == not yet durable, not shown ===================================================================

set local session authorization verifier_1;
select testing.ledger_digest(true) as before \gset
select testing.raises(
    testing.holding('bundle'), 'KN113', 'the lease was granted in this same transaction',
    'shows nothing to the transaction that claimed'
);
select testing.raises(
    testing.holding('bundle', '{}', 'parser', 'ship'), 'KN113', null, 'nor while promoting'
);
select testing.raises(
    testing.holding('renew', '{}'), 'none', null, 'and a renewal'
);
select testing.raises(
    testing.holding('bundle'), 'KN113', null, 'does not make it durable'
);
select is(testing.ledger_digest(true), :'before', 'and has written nothing');
reset session authorization;

-- == the content, as a later transaction is shown it ==============================================

select testing.as_if_committed();
set local session authorization verifier_1;
select results_eq(
    $$ select outcome, duplicate, moved, note, class, campaign_id, generation, state,
              lease_expires_at, message
       from kernel.bundle(
           p_class => 'fix', p_campaign_id => testing.id(), p_generation => 2,
           p_token => testing.token('verifier_1')) $$,
    $$ values ('ok'::text, false, false, null::text, 'fix'::text, testing.id(), 2::bigint,
               'verifying'::text, '2026-09-01 03:15+00'::timestamptz, null::text) $$,
    'answers ok and moves nothing'
);
select results_eq(
    $$ select attempt_no, target, location, desired_state, acceptance, result, fingerprint,
              refused_fingerprints, bundle_sha256, promotes
       from kernel.bundle(
           p_class => 'fix', p_campaign_id => testing.id(), p_generation => 2,
           p_token => testing.token('verifier_1')) $$,
    $$ values (1, 'parser'::text,
               '{"repository": "/srv/parser.git", "ref": "refs/heads/main"}'::jsonb,
               '{"tests": "green"}'::jsonb,
               '{"command": ["make", "test"], "time_limit_s": 600, "protected": ["tests"]}'::jsonb,
               '{"base": "base-1", "commit": "commit-of-patch-1"}'::jsonb, 'patch-1'::text,
               '{}'::text[], testing.bundle_sha256(), false) $$,
    'shows where, what, the acceptance, the result, its fingerprint, and the digest of it all'
);
select results_eq(
    $$ select state, promotes, bundle_sha256, generation
       from kernel.bundle(
           p_class => 'ship', p_campaign_id => testing.id('parser', 'ship'), p_generation => 2,
           p_token => testing.token('verifier_1')) $$,
    $$ values ('promoting'::text, true, testing.bundle_sha256('parser', 'ship'), 2::bigint) $$,
    'shows the same bundle after an acceptance, under the lease that went on'
);
select is(testing.ledger_digest(true), :'before', 'and writes nothing');
reset session authorization;

-- What a later owner of the promotion is shown.
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', $$ select * from kernel.reap(p_class => 'ship') $$);
select testing.must('verifier_2', $$ select * from kernel.claim_promotion(
    p_class => 'ship', p_token => testing.token('verifier_2')) $$);
set local session authorization verifier_2;
select results_eq(
    $$ select outcome, state, bundle_sha256, result ->> 'commit'
       from kernel.bundle(
           p_class => 'ship', p_campaign_id => testing.id('parser', 'ship'), p_generation => 4,
           p_token => testing.token('verifier_2')) $$,
    $$ values ('ok'::text, 'promoting'::text, testing.bundle_sha256('parser', 'ship'),
               'commit-of-patch-1'::text) $$,
    'shows the same bundle to whoever takes the promotion up'
);
reset session authorization;

-- An expired lease still is its holder's; a redefined target changes no bundle; a later attempt has
-- another, with what must not be repeated.
select testing.must('admin_1', $$ select * from kernel.define_target(
    p_class => 'fix', p_target => 'parser', p_location => '{"repository": "/elsewhere"}',
    p_desired_state => '{"tests": "blue"}', p_acceptance => '{"command": ["true"]}') $$);
set local session authorization verifier_1;
select results_eq(
    $$ select outcome, acceptance -> 'command', location ->> 'repository',
              desired_state ->> 'tests'
       from kernel.bundle(
           p_class => 'fix', p_campaign_id => testing.id(), p_generation => 2,
           p_token => testing.token('verifier_1')) $$,
    $$ values ('ok'::text, '["make", "test"]'::jsonb, '/srv/parser.git'::text, 'green'::text) $$,
    'shows what was frozen, after the target was redefined and the lease has run out'
);
reset session authorization;
select testing.judge('rejected');
select testing.clock_passes('1 minute');
select testing.claim();
select testing.submit(p_fingerprint => 'patch-2');
select testing.claim_verification();
set local session authorization verifier_1;
select results_eq(
    $$ select attempt_no, fingerprint, result ->> 'commit', refused_fingerprints,
              acceptance -> 'command'
       from kernel.bundle(
           p_class => 'fix', p_campaign_id => testing.id(), p_generation => 4,
           p_token => testing.token('verifier_1')) $$,
    $$ values (2, 'patch-2'::text, 'commit-of-patch-2'::text, '{patch-1}'::text[],
               '["make", "test"]'::jsonb) $$,
    'shows the second attempt with the first one''s fingerprint as refused'
);
reset session authorization;
select is(
    (select count(distinct b.sha256) from ledger.bundle as b where b.class = 'fix'), 3::bigint,
    'under a digest of its own'
);

-- == refusals =====================================================================================

set local session authorization verifier_1;
select testing.refused(
    testing.holding('bundle', '{"p_generation": 3}'), 'stale', 'refuses an earlier generation'
);
select testing.refused(
    testing.holding('bundle', '{"p_generation": 5}'), 'stale', 'refuses a generation yet to come'
);
select testing.refused(
    testing.holding('bundle', jsonb_build_object('p_token', testing.token('other'))),
    'not_holder', 'refuses another token of the same principal'
);
reset session authorization;
set local session authorization verifier_2;
select testing.refused(
    testing.holding('bundle', jsonb_build_object('p_token', testing.token('verifier_1'))),
    'not_holder', 'refuses another principal with the holder''s token'
);
reset session authorization;

-- The right token and generation, of another campaign.
select testing.attempted('neighbour');
select testing.claim_verification('neighbour', p_token => testing.token('neighbour'));
set local session authorization verifier_1;
select testing.refused(
    testing.holding('bundle', jsonb_build_object(
        'p_campaign_id', testing.id('neighbour'), 'p_generation', testing.generation())),
    'stale', 'refuses the lease of one campaign for another'
);
reset session authorization;

-- A worker's lease is not for judging, whoever holds it.
grant fencepost_verifier to worker_1;
select testing.must('admin_1', $$ select * from kernel.enrol(
    p_class => 'fix', p_principal => 'worker_1', p_duty => 'verifier') $$);
select testing.leased('lexer');
set local session authorization worker_1;
select testing.refused(
    testing.holding('bundle', '{}', 'lexer'), 'illegal', 'refuses the holder of a worker''s lease'
);
reset session authorization;
select testing.open('untouched');
set local session authorization verifier_1;
select testing.refused(
    testing.holding('bundle', '{}', 'untouched'), 'illegal',
    'refuses where nobody ever held the generation'
);
reset session authorization;

select testing.judge('accepted');
set local session authorization verifier_1;
select testing.refused(
    testing.holding('bundle'), 'stale', 'refuses who has given the lease back with a verdict'
);
reset session authorization;

set local session authorization verifier_elsewhere;
select testing.refused(
    testing.holding('bundle', jsonb_build_object('p_token', testing.token('verifier_1'))),
    'forbidden', 'refuses who is not enrolled, before anything is said of the campaign'
);
select testing.refused(
    testing.holding('bundle', '{"p_campaign_id": 123456789}'), 'forbidden',
    'also where there is no such campaign'
);
select results_eq(
    testing.holding('bundle'), testing.holding('bundle', '{"p_campaign_id": 123456789}'),
    'in the same words'
);
reset session authorization;

-- == misuse =======================================================================================

set local session authorization verifier_1;
select testing.raises(
    testing.holding('bundle', '{"p_campaign_id": 123456789}'), 'KN108', null,
    'knows which campaigns there are'
);
select testing.raises(
    testing.holding('bundle', '{"p_class": null}'), 'KN101', 'argument p_class is null',
    'wants a class'
);
select testing.raises(
    testing.holding('bundle', '{"p_class": "a b"}'), 'KN102', null, 'wants the name of a class'
);
select testing.raises(
    testing.holding('bundle', '{"p_campaign_id": null}'), 'KN101', 'argument p_campaign_id is null',
    'wants a campaign'
);
select testing.raises(
    testing.holding('bundle', '{"p_generation": null}'), 'KN101', 'argument p_generation is null',
    'wants a generation'
);
select testing.raises(
    testing.holding('bundle', '{"p_token": null}'), 'KN101', 'argument p_token is null',
    'wants a token'
);
select set_config('transaction_read_only', 'on', true);
select testing.raises(testing.holding('bundle'), 'KN112', null, 'wants to be able to refuse');
reset session authorization;

select finish();
rollback;
