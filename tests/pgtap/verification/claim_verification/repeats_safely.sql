-- kernel.claim_verification, repeated with its token, returns the lease that it granted.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
select plan(14);

select testing.attempted('parser', 'ship');
select testing.attempted('lexer', 'ship');
select testing.claim_verification('parser', 'ship');

set local session authorization verifier_1;
select testing.duplicate(
    $$ select * from kernel.claim_verification(
           p_class => 'ship', p_token => testing.token('verifier_1')) $$,
    'answers a repeat with ok and duplicate, and takes nothing else'
);
select results_eq(
    $$ select campaign_id, generation, state, lease_expires_at, attempt_no, attempt_limit,
              lease_cap_at
       from kernel.claim_verification(
           p_class => 'ship', p_token => testing.token('verifier_1'), p_lease_for => '1 hour') $$,
    $$ values (testing.id('parser', 'ship'), 2::bigint, 'verifying'::text,
               '2026-09-01 03:15+00'::timestamptz, 1, '1 hour'::interval,
               '2026-09-02 03:00+00'::timestamptz) $$,
    'returns the lease as it stands, not as the repeat would have it'
);

select testing.clock_passes('10 minutes');
select testing.must('verifier_1', testing.holding('renew', '{}', 'parser', 'ship'));
select results_eq(
    $$ select duplicate, generation, lease_expires_at
       from kernel.claim_verification(
           p_class => 'ship', p_token => testing.token('verifier_1')) $$,
    $$ values (true, 2::bigint, '2026-09-01 03:25+00'::timestamptz) $$,
    'as renewed, if it was'
);
select testing.clock_passes('1 hour');
select testing.duplicate(
    $$ select * from kernel.claim_verification(
           p_class => 'ship', p_token => testing.token('verifier_1')) $$,
    'also when it has run out and nobody has taken it'
);
reset session authorization;

-- An acceptance in a class that promotes keeps the lease, and so does the repeat.
select testing.judge('accepted', 'parser', 'ship');
set local session authorization verifier_1;
select results_eq(
    $$ select duplicate, campaign_id, generation, state
       from kernel.claim_verification(
           p_class => 'ship', p_token => testing.token('verifier_1')) $$,
    $$ values (true, testing.id('parser', 'ship'), 2::bigint, 'promoting'::text) $$,
    'also when an acceptance has taken the lease on to promoting'
);
reset session authorization;

-- == not the caller's =============================================================================

set local session authorization verifier_2;
select testing.refused(
    $$ select * from kernel.claim_verification(
           p_class => 'ship', p_token => testing.token('verifier_1')) $$,
    'not_holder', 'refuses the token of another principal''s lease'
);
select results_eq(
    $$ select campaign_id, generation, state, message, attempt_no, lease_expires_at
       from kernel.claim_verification(
           p_class => 'ship', p_token => testing.token('verifier_1')) $$,
    $$ values (null::bigint, null::bigint, null::text,
               'this token is that of another principal''s lease, '
               'or of a lease of another kind',
               null::integer, null::timestamptz) $$,
    'without saying which lease that is'
);
reset session authorization;

select testing.claim_verification('lexer', 'ship', 'verifier_2');
select testing.leased('working', 'ship');
set local session authorization verifier_1;
select testing.refused(
    $$ select * from kernel.claim_verification(
           p_class => 'ship', p_token => testing.token('worker_1')) $$,
    'not_holder', 'refuses the token of a worker''s lease'
);
reset session authorization;

-- The same principal in two duties: a lease of another kind is another lease.
grant fencepost_verifier to worker_1;
select testing.must('admin_1', $$ select * from kernel.enrol(
    p_class => 'ship', p_principal => 'worker_1', p_duty => 'verifier') $$);
set local session authorization worker_1;
select testing.refused(
    $$ select * from kernel.claim_verification(
           p_class => 'ship', p_token => testing.token('worker_1')) $$,
    'not_holder', 'refuses the token of the caller''s own lease as a worker'
);
reset session authorization;

select testing.must('reaper_1', $$ select * from kernel.reap(p_class => 'ship') $$);
select testing.must('verifier_1', $$ select * from kernel.claim_promotion(
    p_class => 'ship', p_token => testing.token('promotion')) $$);
set local session authorization verifier_1;
select testing.refused(
    $$ select * from kernel.claim_verification(
           p_class => 'ship', p_token => testing.token('promotion')) $$,
    'not_holder', 'refuses the token of the caller''s own lease of a promotion'
);

-- == a lease that is over =========================================================================

select is_empty(
    $$ select * from kernel.claim_verification(
           p_class => 'ship', p_token => testing.token('verifier_1')) $$,
    'returns no lease that was lost'
);
reset session authorization;
select testing.judge('rejected', 'lexer', 'ship', 'verifier_2');
set local session authorization verifier_2;
select is_empty(
    $$ select * from kernel.claim_verification(
           p_class => 'ship', p_token => testing.token('verifier_2')) $$,
    'nor one that a rejection gave back'
);
reset session authorization;

-- Each class has its own tokens.
select testing.verifying('parser', 'fix', 'verifier_2');
select testing.attempted('other', 'fix');
select testing.class('third');
select testing.attempted('parser', 'third');
set local session authorization verifier_2;
select results_eq(
    $$ select duplicate, class from kernel.claim_verification(
           p_class => 'third', p_token => testing.token('verifier_2')) $$,
    $$ values (false, 'third'::text) $$,
    'looks for its token in the class it is called for'
);
reset session authorization;
select is(testing.state('parser', 'fix'), 'verifying', 'and leaves that of another class alone');

select finish();
rollback;
