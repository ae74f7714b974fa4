-- Who may judge: ledger.bar_of says why a principal may not, ledger.judge_bar asks of the session,
-- ledger.has_judge whether anybody may.
\ir ../_support/fixture.psql
\ir ../_support/helper.psql
\ir ../_support/call.psql
select plan(27);

create function testing.bar(
    p_principal  name,
    p_separate   boolean default false,
    p_target     text    default 'parser',
    p_attempt_no integer default null
)
    returns text
    language sql
as $fn$
    select coalesce(ledger.bar_of(
        p_principal::text::regrole, 'fix', testing.id(p_target),
        coalesce(p_attempt_no, (testing.campaign(p_target)).attempt_count), p_separate
    ), 'may')
$fn$;

-- == who tried it =================================================================================

select testing.attempted();     -- by worker_1, of family north
select is(testing.bar('verifier_1'), 'may', 'who had no part in it may judge');
select is(testing.bar('worker_1'), 'self_verdict', 'who made the attempt may not');
select is(testing.bar('worker_2'), 'may', 'who made none may, as far as this goes');
select testing.claim_verification();
select testing.judge('rejected');
select testing.clock_passes('1 hour');
select testing.claim('parser', 'fix', 'worker_2');
select is(testing.bar('worker_2'), 'self_verdict', 'nor who is making one');
select is(testing.bar('worker_1'), 'self_verdict', 'nor who made an earlier one');
select testing.must('worker_2', testing.holding('release', jsonb_build_object(
    'p_token', testing.token('worker_2'))));
select testing.claim();
select testing.submit(p_fingerprint => 'patch-2');
select is(testing.bar('worker_2'), 'may', 'a lease given back without a result is no attempt');
select is(
    testing.bar('worker_2', p_attempt_no => 2), 'self_verdict', 'though it is not his to judge'
);
select testing.clear();

-- == one a member of the other ====================================================================

select testing.attempted('lexer');
grant worker_1 to verifier_1;
select is(
    testing.bar('verifier_1', p_target => 'lexer'), 'self_verdict', 'who is a member of its maker'
);
revoke worker_1 from verifier_1;
grant verifier_1 to worker_1;
select is(
    testing.bar('verifier_1', p_target => 'lexer'), 'self_verdict', 'or has him for a member'
);
revoke verifier_1 from worker_1;
create role between_them;
grant worker_1 to between_them;
grant between_them to verifier_1;
select is(
    testing.bar('verifier_1', p_target => 'lexer'), 'self_verdict', 'also by way of a third'
);
revoke between_them from verifier_1;
select is(testing.bar('verifier_1', p_target => 'lexer'), 'may', 'may not, as long as it lasts');
alter role worker_1 rename to worker_3;
select is(
    testing.bar('worker_3', p_target => 'lexer'), 'self_verdict', 'a new name makes nobody another'
);
create role worker_1 login;
select is(
    testing.bar('worker_1', p_target => 'lexer'), 'self_verdict', 'nor does an old one'
);
drop role worker_1;
alter role worker_3 rename to worker_1;

-- == families =====================================================================================

select is(
    testing.bar(f.principal, f.separate, 'lexer'), f.bar,
    format('%s of the maker''s family: %s, where families are to differ: %s',
           f.principal, f.bar, f.separate)
)
from (values
    ('verifier_1'::name, true, 'may'),              -- south
    ('verifier_2', true, 'same_family'),            -- north, as is worker_1
    ('verifier_2', false, 'may'),
    ('stranger', true, 'same_family'),              -- not registered
    ('sensor_1', true, 'same_family')               -- registered without one
) as f (principal, separate, bar);

-- == judge_bar ====================================================================================

create function testing.own_bar(p_principal name)
    returns text
    language sql
as $fn$
    select testing.by(p_principal, format(
        'ledger.judge_bar(%L, %s, 1, true)', 'fix', testing.id('lexer')
    )) #>> '{}'
$fn$;
select is(
    testing.own_bar(p.principal), nullif(testing.bar(p.principal, true, 'lexer'), 'may'),
    format('ledger.judge_bar tells %s the same', p.principal)
)
from unnest(array['verifier_1', 'verifier_2', 'worker_1']::name[]) as p (principal);

-- == has_judge ====================================================================================

create function testing.judged_by_somebody(p_class text)
    returns boolean
    language sql
as $fn$ select ledger.has_judge(testing.campaign('parser', p_class)) $fn$;

select testing.class('strict', '{"separate_family": true}');
select testing.attempted('parser', 'strict');
select is(testing.judged_by_somebody('strict'), true, 'verifier_1 is of another family');
select testing.must('admin_1', testing.call('dismiss', jsonb_build_object(
    'p_class', 'strict', 'p_principal', 'verifier_1', 'p_duty', 'verifier')));
select is(testing.judged_by_somebody('strict'), false, 'with him dismissed nobody may judge');
select testing.must('admin_1', testing.call('enrol', jsonb_build_object(
    'p_class', 'strict', 'p_principal', 'verifier_1', 'p_duty', 'verifier')));
select is(testing.judged_by_somebody('strict'), true, 'enrolled again he may');
revoke fencepost_verifier from verifier_1;
select is(testing.judged_by_somebody('strict'), false, 'but not outside the group');
grant fencepost_verifier to verifier_1;
select testing.class('lax');
select testing.attempted('parser', 'lax');
select testing.must('admin_1', testing.call('dismiss', jsonb_build_object(
    'p_class', 'lax', 'p_principal', 'verifier_2', 'p_duty', 'verifier')));
select is(testing.judged_by_somebody('lax'), true, 'where families do not matter, he may too');
alter role verifier_1 rename to verifier_3;
select is(testing.judged_by_somebody('lax'), false, 'but not under another name');

select finish();
rollback;
