-- kernel.claim_verification hands one submitted attempt to one verifier, and makes its bundle.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
select plan(24);

select testing.callable_by('kernel.claim_verification', 'verifier');

-- Nothing submitted: no row, and not a refusal either.
select testing.leased('printer');
select testing.open('lexer');
select testing.ledger_digest(true) as before \gset
set local session authorization verifier_1;
select is_empty(
    $$ select * from kernel.claim_verification(p_class => 'fix', p_token => gen_random_uuid()) $$,
    'returns no row where nothing was submitted'
);
reset session authorization;
select is(
    testing.ledger_digest(true), :'before', 'and writes nothing then, not even a refusal'
);

select testing.cancel('lexer');
select testing.clock_passes('1 minute');
select testing.submit('printer');
select testing.clock_passes('1 minute');
select is(
    testing.bundle_sha256('printer'), null,
    'finds no bundle: it is not made by the worker''s submit'
);

set local session authorization verifier_1;
select results_eq(
    $$ select outcome, duplicate, moved, note, class, campaign_id, generation, state,
              lease_expires_at, message, attempt_no, attempt_limit, lease_cap_at
       from kernel.claim_verification(
           p_class => 'fix', p_token => testing.token('verifier_1'), p_label => 'v1@host',
           p_lease_for => '5 minutes') $$,
    $$ values ('ok'::text, false, true, null::text, 'fix'::text, testing.id('printer'), 2::bigint,
               'verifying'::text, '2026-09-01 03:07+00'::timestamptz, null::text, 1,
               '1 hour'::interval, '2026-09-02 03:02+00'::timestamptz) $$,
    'returns the lease: a new generation, for as long as asked'
);
reset session authorization;

select results_eq(
    $$ select c.state, c.generation, c.lease_principal, c.lease_principal_oid, c.lease_token_sha256,
              c.lease_label, c.lease_granted_at, c.lease_expires_at, c.lease_xid, c.attempt_count,
              c.verification_loss_count, c.phase_since
       from testing.campaign('printer') as c $$,
    $$ values ('verifying'::text, 2::bigint, 'verifier_1'::name, 'verifier_1'::regrole::oid,
               ledger.token_digest(testing.token('verifier_1')), 'v1@host'::text,
               '2026-09-01 03:02+00'::timestamptz, '2026-09-01 03:07+00'::timestamptz,
               pg_current_xact_id(), 1, 0, '2026-09-01 03:01+00'::timestamptz) $$,
    'writes who holds it, under the digest of the token, in this transaction'
);
select results_eq(
    $$ select e.event_no, e.transition, e.from_state, e.to_state, e.generation, e.by_principal,
              e.holder, e.is_late, e.at, e.epoch, e.detail
       from testing.event('printer') as e $$,
    $$ values (4::bigint, 'claim_verification'::text, 'attempted'::text, 'verifying'::text,
               2::bigint, 'verifier_1'::name, 'verifier_1'::name, false,
               '2026-09-01 03:02+00'::timestamptz, 0,
               '{"attempt": 1, "label": "v1@host"}'::jsonb) $$,
    'writes the event'
);
select results_eq(
    $$ select b.attempt_no, b.content, b.made_at from ledger.bundle as b $$,
    $$ values (1, jsonb_build_object(
        'class', 'fix', 'campaign_id', testing.id('printer'), 'attempt_no', 1, 'target', 'printer',
        'location', '{"repository": "/srv/parser.git", "ref": "refs/heads/main"}'::jsonb,
        'desired_state', '{"tests": "green"}'::jsonb,
        'acceptance', '{"command": ["make", "test"], "time_limit_s": 600, "protected": ["tests"]}'
                      ::jsonb,
        'result', '{"base": "base-1", "commit": "commit-of-patch-1"}'::jsonb,
        'fingerprint', 'patch-1'), '2026-09-01 03:02+00'::timestamptz) $$,
    'makes the bundle: what was submitted, beside the acceptance as frozen at opening'
);
select results_eq(
    $$ select b.sha256 from ledger.bundle as b $$,
    $$ select sha256(convert_to(b.content::text, 'UTF8')) from ledger.bundle as b $$,
    'with the digest of its content'
);
select results_eq(
    $$ select a.submitted_at, a.ended_at, a.ending from testing.attempt('printer') as a $$,
    $$ values ('2026-09-01 03:01+00'::timestamptz, null::timestamptz, null::text) $$,
    'leaves the attempt alone'
);

-- The bundle is made once, however often the target or the verification changes afterwards.
select testing.bundle_sha256('printer') as digest \gset
select testing.must('admin_1', $$ select * from kernel.define_target(
    p_class => 'fix', p_target => 'printer', p_location => '{"repository": "/elsewhere"}',
    p_desired_state => '{"tests": "blue"}', p_acceptance => '{"command": ["true"]}') $$);
select testing.judge('unverifiable', 'printer');
select testing.clock_passes('1 hour');
select testing.claim_verification('printer', p_verifier => 'verifier_2');
select is(
    testing.bundle_sha256('printer'), :'digest'::bytea,
    'keeps the bundle of an earlier verification, also after the target was redefined'
);
select is((select count(*) from ledger.bundle), 1::bigint, 'of which there is one for an attempt');

-- == which one ====================================================================================

select testing.attempted('second');
select testing.clock_passes('1 minute');
select testing.attempted('third');
select testing.attempted('abroad', 'ship');
select results_eq(
    $$ select testing.act('verifier_1', $q$ select * from kernel.claim_verification(
           p_class => 'fix', p_token => gen_random_uuid()) $q$) ->> 'campaign_id' $$,
    $$ select testing.id('second')::text $$,
    'takes what was submitted first'
);
select results_eq(
    $$ select testing.act('verifier_1', $q$ select * from kernel.claim_verification(
           p_class => 'fix', p_token => testing.token('third')) $q$) ->> 'campaign_id' $$,
    $$ select testing.id('third')::text $$,
    'then what was submitted next; what one verifier holds keeps it from none of the others'
);
select is(
    (testing.campaign('third')).lease_expires_at, testing.clock() + interval '15 minutes',
    'for the class''s lease_default where no length is asked'
);
set local session authorization verifier_1;
select is_empty(
    $$ select * from kernel.claim_verification(p_class => 'fix', p_token => gen_random_uuid()) $$,
    'returns nothing of another class'
);
reset session authorization;

-- What was abstained from waits out its backoff.
select testing.must('verifier_1', testing.judging(
    '{"p_verdict": "unverifiable", "p_reason": "no network"}'
        || jsonb_build_object('p_token', testing.token('third')), 'third'));
set local session authorization verifier_2;
select is_empty(
    $$ select * from kernel.claim_verification(p_class => 'fix', p_token => gen_random_uuid()) $$,
    'returns nothing before next_attempt_at'
);
reset session authorization;
select testing.clock_is((testing.campaign('third')).next_attempt_at);
select results_eq(
    $$ select testing.act('verifier_2', $q$ select * from kernel.claim_verification(
           p_class => 'fix', p_token => gen_random_uuid()) $q$) ->> 'campaign_id' $$,
    $$ select testing.id('third')::text $$,
    'but returns it at that time'
);

-- == terminal and parked campaigns are never offered ==============================================

select testing.attempted('set_aside');
select testing.must('admin_1', testing.on_campaign('park', '{}', 'set_aside'));
select testing.attempted('called_off');
select testing.cancel('called_off');
set local session authorization verifier_1;
select is_empty(
    $$ select * from kernel.claim_verification(p_class => 'fix', p_token => gen_random_uuid()) $$,
    'returns nothing that is parked or closed'
);
reset session authorization;

-- == nothing of a campaign's content comes with the claim =========================================

select set_eq(
    $$ select a.attname::text
       from pg_attribute as a
       where a.attrelid = 'kernel.lease'::regclass and a.attnum > 0 and not a.attisdropped $$,
    array['outcome', 'duplicate', 'moved', 'note', 'class', 'campaign_id', 'generation', 'state',
          'lease_expires_at', 'message', 'attempt_no', 'attempt_limit', 'lease_cap_at'],
    'shows nothing of the result, which only kernel.bundle does'
);

-- == bounds =======================================================================================

select testing.attempted('bounded');
set local session authorization verifier_1;
select lives_ok(
    $$ select * from kernel.claim_verification(
           p_class => 'fix', p_token => testing.token('a'), p_lease_for => '4 hours',
           p_label => repeat('x', 200)) $$,
    'takes a lease of lease_max, and a label of 200 bytes'
);
select is(
    (testing.campaign('bounded')).lease_expires_at, testing.clock() + interval '4 hours',
    'and grants that length'
);
reset session authorization;
select testing.attempted('bounded_again');
set local session authorization verifier_1;
select lives_ok(
    $$ select * from kernel.claim_verification(
           p_class => 'fix', p_token => testing.token('b'), p_lease_for => '1 second') $$,
    'takes a lease of lease_min'
);
select is(
    (testing.campaign('bounded_again')).lease_expires_at, testing.clock() + interval '1 second',
    'and grants that length, too'
);
reset session authorization;

select finish();
rollback;
