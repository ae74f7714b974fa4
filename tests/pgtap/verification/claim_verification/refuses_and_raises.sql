-- kernel.claim_verification refuses who is not enrolled, and raises what is misuse.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
select plan(18);

select testing.attempted();

-- == forbidden ====================================================================================

set local session authorization verifier_elsewhere;
select testing.refused(
    $$ select * from kernel.claim_verification(p_class => 'fix', p_token => gen_random_uuid()) $$,
    'forbidden', 'refuses a verifier of another class'
);
select testing.refused(
    $$ select * from kernel.claim_verification(p_class => 'nowhere',
                                               p_token => gen_random_uuid()) $$,
    'forbidden', 'in the same way where there is no such class'
);
select results_eq(
    $$ select outcome, note, campaign_id, generation, state, message
       from kernel.claim_verification(p_class => 'fix', p_token => gen_random_uuid()) $$,
    $$ select outcome, note, campaign_id, generation, state, message
       from kernel.claim_verification(p_class => 'nowhere', p_token => gen_random_uuid()) $$,
    'and in the same words'
);
reset session authorization;

select testing.must('admin_1', $$ select * from kernel.dismiss(
    p_class => 'fix', p_principal => 'verifier_1', p_duty => 'verifier') $$);
set local session authorization verifier_1;
select testing.refused(
    $$ select * from kernel.claim_verification(p_class => 'fix', p_token => gen_random_uuid()) $$,
    'forbidden', 'refuses one that was dismissed'
);
reset session authorization;

-- Enrolled, but no direct and inheriting member of the group any more.
create role between_them;
grant fencepost_verifier to between_them;
grant between_them to verifier_2;
revoke fencepost_verifier from verifier_2;
set local session authorization verifier_2;
select testing.refused(
    $$ select * from kernel.claim_verification(p_class => 'fix', p_token => gen_random_uuid()) $$,
    'forbidden', 'refuses one whose membership is indirect'
);
reset session authorization;
revoke between_them from verifier_2;
grant fencepost_verifier to verifier_2;

-- Made again under the same name: nothing of the old one's is left.
select testing.must('admin_1', $$ select * from kernel.enrol(
    p_class => 'ship', p_principal => 'verifier_1', p_duty => 'verifier') $$);
drop role verifier_1;
create role verifier_1 login;
grant fencepost_verifier to verifier_1;
set local session authorization verifier_1;
select testing.refused(
    $$ select * from kernel.claim_verification(p_class => 'ship', p_token => gen_random_uuid()) $$,
    'forbidden', 'refuses a role that was dropped and made again'
);
reset session authorization;

-- == misuse =======================================================================================

set local session authorization verifier_2;
select testing.ledger_digest(true) as before \gset

select testing.raises(
    $$ select * from kernel.claim_verification(p_class => null, p_token => gen_random_uuid()) $$,
    'KN101', 'argument p_class is null', 'wants a class'
);
select testing.raises(
    $$ select * from kernel.claim_verification(p_class => 'fix', p_token => null) $$,
    'KN101', 'argument p_token is null', 'wants a token'
);
select testing.raises(
    $$ select * from kernel.claim_verification(p_class => 'Fix!', p_token => gen_random_uuid()) $$,
    'KN102', null, 'wants the name of a class'
);
select testing.raises(
    $$ select * from kernel.claim_verification(
           p_class => 'fix', p_token => gen_random_uuid(), p_label => ' ') $$,
    'KN102', null, 'wants a label that says something, or none'
);
select testing.raises(
    $$ select * from kernel.claim_verification(
           p_class => 'fix', p_token => gen_random_uuid(), p_label => repeat('x', 201)) $$,
    'KN103', null, 'wants a label of at most 200 bytes'
);
select testing.raises(
    $$ select * from kernel.claim_verification(
           p_class => 'fix', p_token => gen_random_uuid(), p_label => repeat('é', 101)) $$,
    'KN103', null, 'which are bytes, not characters'
);
select testing.raises(
    $$ select * from kernel.claim_verification(
           p_class => 'fix', p_token => gen_random_uuid(), p_lease_for => '0.9 seconds') $$,
    'KN104', null, 'wants a lease of lease_min or more'
);
select testing.raises(
    $$ select * from kernel.claim_verification(
           p_class => 'fix', p_token => gen_random_uuid(), p_lease_for => '4 hours 1 second') $$,
    'KN104', null, 'wants a lease of lease_max or less'
);
select testing.raises(
    $$ select * from kernel.claim_verification(
           p_class => 'fix', p_token => gen_random_uuid(), p_lease_for => '-1 hour') $$,
    'KN104', null, 'wants no lease that is over before it begins'
);
select testing.raises(
    $$ select * from kernel.claim_verification(
           p_class => 'ship', p_token => gen_random_uuid(), p_lease_for => '4 hours 1 second') $$,
    'KN104', null, 'also where nothing waits that could be leased'
);
select is(testing.ledger_digest(true), :'before', 'and has written nothing then');

select set_config('transaction_read_only', 'on', true);
select testing.raises(
    $$ select * from kernel.claim_verification(p_class => 'fix', p_token => gen_random_uuid()) $$,
    'KN112', null, 'wants a transaction that may write'
);
reset session authorization;

select finish();
rollback;
