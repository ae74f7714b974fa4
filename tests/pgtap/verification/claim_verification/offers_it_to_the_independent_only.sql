-- kernel.claim_verification offers an attempt to nobody who had a hand in it.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
select plan(23);

create function pg_temp.offered(p_verifier name, p_class text)
    returns boolean
    language plpgsql
as $fn$
declare
    v_answer jsonb;
begin
    begin
        v_answer := testing.act(p_verifier, testing.call('claim_verification', jsonb_build_object(
            'p_class', p_class, 'p_token', gen_random_uuid())));
        raise exception using errcode = 'ZZ001';    -- undo the claim, if it was one
    exception
        when sqlstate 'ZZ001' then
            perform set_config('session_authorization', 'postgres', true);
    end;
    if coalesce(v_answer ->> 'outcome', 'ok') <> 'ok' then
        raise exception 'answered %', v_answer;
    end if;
    return v_answer is not null;
end
$fn$;

-- == two duties of one principal ==================================================================

grant fencepost_verifier to worker_1, worker_2;
select testing.must('admin_1', testing.call('enrol', jsonb_build_object(
    'p_class', 'fix', 'p_principal', p.principal, 'p_duty', 'verifier')))
from (values ('worker_1'), ('worker_2')) as p (principal);

select testing.attempted();
select ok(not pg_temp.offered('worker_1', 'fix'), 'offers nothing to the attempt''s own worker');
select ok(pg_temp.offered('worker_2', 'fix'), 'but to a worker that never tried this campaign');
select ok(pg_temp.offered('verifier_1', 'fix'), 'and to a verifier');

-- worker_2 tries once, and fails; then worker_1 submits.
select testing.leased('failed_before', p_worker => 'worker_2');
select testing.must('worker_2', testing.holding(
    'fail', '{"p_reason": "nothing helped"}', 'failed_before'));
select testing.must('verifier_1', testing.call('claim_verification', jsonb_build_object(
    'p_class', 'fix', 'p_token', testing.token('aside'))));     -- "parser" is out of the way
select testing.clock_passes('1 hour');
select testing.claim('failed_before');
select testing.submit('failed_before', p_fingerprint => 'patch-2');
select ok(
    not pg_temp.offered('worker_2', 'fix'),
    'offers nothing to who failed an earlier attempt: nobody is worker and verifier in one campaign'
);
select ok(pg_temp.offered('verifier_1', 'fix'), 'while a verifier is offered it');
select testing.claim_verification('failed_before');

-- worker_2 gives it back, without a result; then worker_1 submits.
select testing.leased('released_before', p_worker => 'worker_2');
select testing.must('worker_2', testing.holding('release', '{}', 'released_before'));
select testing.claim('released_before');
select testing.submit('released_before');
select ok(
    pg_temp.offered('worker_2', 'fix'),
    'does not count an attempt that was released without a result'
);
select testing.claim_verification('released_before', p_token => testing.token('released'));

-- worker_2's lease is lost; then worker_1 submits.
select testing.leased('lost_before', p_worker => 'worker_2');
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', testing.call('reap', '{"p_class": "fix", "p_limit": 100}'));
select testing.claim('lost_before');
select testing.submit('lost_before');
select ok(
    (testing.attempt('lost_before')).attempt_no = 2 and not exists (
        select from testing.act('worker_2', $$ select * from kernel.claim_verification(
            p_class => 'fix', p_token => testing.token('w2')) $$) as r
        where (r ->> 'campaign_id')::bigint = testing.id('lost_before')
    ),
    'offers nothing to who lost an earlier attempt, and may still be at it'
);

-- == membership ===================================================================================

select testing.attempted('member', 'ship');
select ok(
    pg_temp.offered('verifier_1', 'ship'), 'offers it to a verifier that is nobody''s member'
);

grant worker_1 to verifier_1;
select ok(not pg_temp.offered('verifier_1', 'ship'), 'offers nothing to a member of the worker');
revoke worker_1 from verifier_1;

grant worker_1 to verifier_1;
alter role worker_1 rename to worker_renamed;
select ok(
    not pg_temp.offered('verifier_1', 'ship'),
    'offers nothing to a member of a worker that was renamed meanwhile'
);
alter role worker_renamed rename to worker_1;
revoke worker_1 from verifier_1;

grant verifier_1 to worker_1;
select ok(
    not pg_temp.offered('verifier_1', 'ship'),
    'offers nothing to one that the worker is a member of'
);
revoke verifier_1 from worker_1;

create role between_them;
grant worker_1 to between_them;
grant between_them to verifier_1;
select ok(
    not pg_temp.offered('verifier_1', 'ship'), 'offers nothing to a member over a third role'
);
revoke worker_1 from between_them;
grant between_them to worker_1;
select ok(pg_temp.offered('verifier_1', 'ship'), 'does not mind that both belong to one group');
revoke between_them from worker_1, verifier_1;

-- == families =====================================================================================

select testing.class('apart', '{"separate_family": true}');
select testing.attempted('parser', 'apart');    -- by worker_1, of family north
select ok(pg_temp.offered('verifier_1', 'apart'), 'offers it to a verifier of another family');
select ok(
    not pg_temp.offered('verifier_2', 'apart'), 'offers nothing to one of the worker''s family'
);

select testing.must('admin_1', $$ select * from kernel.register_principal(
    p_principal => 'worker_1', p_family => 'south') $$);
select ok(
    not pg_temp.offered('verifier_2', 'apart'),
    'goes by the family that the worker had when it claimed'
);
select ok(pg_temp.offered('verifier_1', 'apart'), 'also to the verifier''s advantage');

select testing.must('admin_1', $$ select * from kernel.register_principal(
    p_principal => 'verifier_1', p_family => null) $$);
select ok(not pg_temp.offered('verifier_1', 'apart'), 'offers nothing to one without a family');
select testing.must('admin_1', $$ select * from kernel.register_principal(
    p_principal => 'verifier_1', p_family => 'east') $$);
select ok(pg_temp.offered('verifier_1', 'apart'), 'and goes by the verifier''s family of today');

select testing.must('admin_1', $$ select * from kernel.register_principal(
    p_principal => 'worker_2', p_family => null) $$);
select testing.claim_verification('parser', 'apart', p_verifier => 'verifier_1');
select testing.leased('lexer', 'apart', p_worker => 'worker_2');
select testing.submit('lexer', 'apart', p_worker => 'worker_2');
select ok(
    not pg_temp.offered('verifier_1', 'apart'),
    'offers nobody the attempt of a worker without a family'
);

select ok(
    pg_temp.offered('verifier_2', 'ship'),
    'asks for no other family where the class does not want it'
);

-- Frozen at opening, like all that acceptance means.
select testing.must('admin_1', $$ select * from kernel.define_class(
    p_class => 'apart', p_policy => '{"separate_family": false}') $$);
select ok(
    not pg_temp.offered('verifier_2', 'apart'),
    'keeps to separate_family as it was when the campaign opened'
);
select testing.must('admin_1', $$ select * from kernel.define_class(
    p_class => 'ship', p_policy => '{"separate_family": true, "promotes": true}') $$);
select ok(
    pg_temp.offered('verifier_2', 'ship'), 'and to its absence'
);

select finish();
rollback;
