-- kernel.define_class makes a kind of campaign, or replaces its policy.
\ir ../_support/fixture.psql
select plan(90);

select testing.callable_by('kernel.define_class', 'admin');

create function testing.policy(p_class text) returns jsonb language sql security definer as $fn$
    select to_jsonb(c) - 'class' from ledger.class as c where c.class = p_class;
$fn$;
create function testing.defined(p_policy text) returns text language sql as $fn$
    select format('select * from kernel.define_class(p_class => %L, p_policy => %L)',
                  'new', p_policy);
$fn$;

-- == what it writes ===============================================================================

set local session authorization admin_1;
select results_eq(
    $$ select * from kernel.define_class(p_class => 'new') $$,
    $$ values ('ok', false, false, null::text, 'new', null::bigint, null::bigint, null::text,
               null::timestamptz, null::text) $$,
    'kernel.define_class answers ok, with the class'
);
select is(
    testing.policy('new'),
    '{"lease_default": "00:15:00", "lease_min": "00:00:01", "lease_max": "04:00:00",
      "lease_cap": "24:00:00", "attempt_limit": "01:00:00", "attempt_budget": 5, "loss_budget": 5,
      "release_budget": 10, "verification_loss_budget": 5, "promotion_loss_budget": 5,
      "abstain_budget": 3, "verify_within": "168:00:00", "promote_within": "24:00:00",
      "backoff_base": "00:01:00", "backoff_cap": "01:00:00", "backoff_jitter": 0.2,
      "reopen_within": "24:00:00", "promotes": false, "separate_family": false,
      "needs_evidence": false, "seats": null, "verification_limit": null,
      "priority_step": "01:00:00", "retention": "2160:00:00", "refusal_retention": "2160:00:00",
      "operation_retention": "720:00:00", "unknown_limit": 5,
      "epoch": 0, "is_paused": false, "resumed_at": null, "retired_at": null}'::jsonb,
    'kernel.define_class gives every key that is not named its default'
);
select row_eq(
    $$ select e.class, e.subject, e.by_principal, e.at, e.before, e.after ->> 'lease_default'
       from testing.config('define_class') as e where e.class = 'new' $$,
    row('new'::text, 'new'::text, 'admin_1'::name, timestamptz '2026-09-01 03:00+00', null::jsonb,
        '00:15:00'::text),
    'kernel.define_class records who defined it, and as what'
);
select lives_ok(
    testing.defined('{
        "lease_default": "10 minutes", "lease_min": "5 seconds", "lease_max": "2 hours",
        "lease_cap": "1 day", "attempt_limit": "2 hours", "attempt_budget": 1, "loss_budget": 2,
        "release_budget": 0, "verification_loss_budget": 3, "promotion_loss_budget": 4,
        "abstain_budget": 1, "verify_within": "2 weeks", "promote_within": "1 year",
        "backoff_base": "0", "backoff_cap": "31 days", "backoff_jitter": 1,
        "reopen_within": "0 s", "promotes": true, "separate_family": true, "needs_evidence": true,
        "seats": 3, "verification_limit": 10000, "priority_step": "0", "retention": "100 years",
        "refusal_retention": "1 week", "operation_retention": "1 day", "unknown_limit": 2
    }'),
    'kernel.define_class replaces a policy'
);
select is(
    testing.policy('new'),
    '{"lease_default": "00:10:00", "lease_min": "00:00:05", "lease_max": "02:00:00",
      "lease_cap": "24:00:00", "attempt_limit": "02:00:00", "attempt_budget": 1, "loss_budget": 2,
      "release_budget": 0, "verification_loss_budget": 3, "promotion_loss_budget": 4,
      "abstain_budget": 1, "verify_within": "336:00:00", "promote_within": "8766:00:00",
      "backoff_base": "00:00:00", "backoff_cap": "744:00:00", "backoff_jitter": 1,
      "reopen_within": "00:00:00", "promotes": true, "separate_family": true,
      "needs_evidence": true, "seats": 3, "verification_limit": 10000,
      "priority_step": "00:00:00", "retention": "876600:00:00", "refusal_retention": "168:00:00",
      "operation_retention": "24:00:00", "unknown_limit": 2,
      "epoch": 0, "is_paused": false, "resumed_at": null, "retired_at": null}'::jsonb,
    'kernel.define_class keeps all twenty-seven keys, durations in real hours'
);
select row_eq(
    $$ select e.before ->> 'attempt_budget', e.after ->> 'attempt_budget'
       from testing.config('define_class') as e where e.class = 'new' and e.before is not null $$,
    row('5'::text, '1'::text), 'kernel.define_class records from what the policy was changed'
);
select testing.duplicate(
    $$ select * from kernel.define_class(p_class => 'fix', p_policy => '{
           "backoff_jitter": 0.0, "lease_default": "900 seconds"}') $$,
    'kernel.define_class repeated in other words is a duplicate and writes nothing'
);
select lives_ok(
    $$ select * from kernel.define_class(p_class => 'fix') $$,
    'kernel.define_class defines anew what was defined otherwise'
);
select is(
    testing.policy('fix') -> 'backoff_jitter', '0.2',
    'kernel.define_class gives a key that is not named again its default back'
);
select is(
    (select count(*) from testing.refusals()), 0::bigint,
    'kernel.define_class has refused nothing up to here'
);

-- Frozen and live.
select testing.open('frozen');
select lives_ok(
    $$ select * from kernel.define_class(p_class => 'fix', p_policy => '{
           "promotes": true, "separate_family": true, "needs_evidence": true,
           "lease_default": "7 minutes"}') $$,
    'kernel.define_class changes a class while a campaign is open'
);
select row_eq(
    $$ select c.promotes, c.separate_family, c.needs_evidence
       from testing.campaign('frozen') as c $$,
    row(false, false, false),
    'kernel.define_class leaves an open campaign what acceptance meant as it opened'
);
select testing.claim('frozen');
select is(
    (testing.campaign('frozen')).lease_expires_at, timestamptz '2026-09-01 03:07+00',
    'kernel.define_class changes the leases of an open campaign at once'
);
select testing.open('opened later');
select row_eq(
    $$ select c.promotes, c.separate_family, c.needs_evidence
       from testing.campaign('opened later') as c $$,
    row(true, true, true), 'kernel.define_class says what acceptance means for what opens later'
);

-- == who may ======================================================================================

reset session authorization;
select testing.refused(
    $$ select * from kernel.define_class(p_class => 'another') $$,
    'forbidden', 'kernel.define_class answers forbidden to a superuser'
);
create role team;
create role aide login;
grant fencepost_admin to team;
grant team to aide;
set local session authorization aide;
select testing.refused(
    $$ select * from kernel.define_class(p_class => 'fix') $$,
    'forbidden', 'kernel.define_class answers forbidden to an indirect member of the admins'
);

-- == misuse =======================================================================================

set local session authorization admin_1;
select testing.raises(
    $$ select * from kernel.define_class(p_class => null) $$,
    'KN101', 'argument p_class is null', 'kernel.define_class wants a class'
);
select testing.raises(
    testing.defined(null), 'KN101', 'argument p_policy is null',
    'kernel.define_class wants an object, not null'
);
select testing.raises(
    format('select * from kernel.define_class(p_class => %L)', c.class), 'KN102',
    'p_class is not the name of a class',
    'kernel.define_class takes no class ' || quote_ident(c.class)
)
from (values (''), ('A'), ('-a'), ('_a'), ('a b'), ('ä'), ('a.b'), ('a/b'), (repeat('a', 64)))
    as c (class);
select lives_ok(
    format('select * from kernel.define_class(p_class => %L)', c.class),
    'kernel.define_class takes class ' || c.class
)
from (values ('a'), ('a-_9'), (repeat('a', 63))) as c (class);
select testing.raises(
    testing.defined(p.policy), p.code, p.message,
    format('kernel.define_class does not take %s', left(p.policy, 60))
)
from (values
    ('[]', 'KN102', 'argument p_policy is not a jsonb object'),
    ('null', 'KN102', 'argument p_policy is not a jsonb object'),
    ('"lease_min"', 'KN102', 'argument p_policy is not a jsonb object'),
    (jsonb_build_object('lease_min', repeat('1', 65536))::text, 'KN103',
     'argument p_policy is too long'),
    ('{"lease": "1 hour"}', 'KN105', 'unknown key: lease'),
    ('{"Promotes": true, "epoch": 7}', 'KN105', 'unknown key: "Promotes", epoch'),
    ('{"is_paused": true, "retired_at": null}', 'KN105', 'unknown key: is_paused, retired_at'),
    -- durations
    ('{"lease_default": 15}', 'KN102', 'policy lease_default is not a duration'),
    ('{"lease_default": null}', 'KN102', 'policy lease_default is not a duration'),
    ('{"lease_default": "soon"}', 'KN102', 'policy lease_default is not a duration'),
    ('{"lease_default": ""}', 'KN102', 'policy lease_default is not a duration'),
    ('{"lease_default": "1e99 years"}', 'KN102', 'policy lease_default is not a duration'),
    ('{"lease_default": "99999999999999999999 hours"}', 'KN102',
     'policy lease_default is not a duration'),
    ('{"lease_default": "0"}', 'KN104', 'policy lease_default is out of range'),
    ('{"lease_default": "-1 minute"}', 'KN104', 'policy lease_default is out of range'),
    ('{"lease_min": "999 ms"}', 'KN104', 'policy lease_min is out of range'),
    ('{"lease_max": "31 days 1 s"}', 'KN104', 'policy lease_max is out of range'),
    ('{"lease_cap": "1 year -329 days"}', 'KN104', 'policy lease_cap is out of range'),
    ('{"attempt_limit": "0"}', 'KN104', 'policy attempt_limit is out of range'),
    ('{"verify_within": "366 days 1 s"}', 'KN104', 'policy verify_within is out of range'),
    ('{"promote_within": "1 year 1 day"}', 'KN104', 'policy promote_within is out of range'),
    ('{"backoff_base": "-1 s"}', 'KN104', 'policy backoff_base is out of range'),
    ('{"backoff_cap": "32 days"}', 'KN104', 'policy backoff_cap is out of range'),
    ('{"reopen_within": "-1 s"}', 'KN104', 'policy reopen_within is out of range'),
    ('{"priority_step": "-1 s"}', 'KN104', 'policy priority_step is out of range'),
    ('{"priority_step": "31 days 1 s"}', 'KN104', 'policy priority_step is out of range'),
    ('{"priority_step": null}', 'KN102', 'policy priority_step is not a duration'),
    ('{"retention": "-1 s"}', 'KN104', 'policy retention is out of range'),
    ('{"retention": "101 years"}', 'KN104', 'policy retention is out of range'),
    ('{"retention": null}', 'KN102', 'policy retention is not a duration'),
    ('{"refusal_retention": "-1 s"}', 'KN104', 'policy refusal_retention is out of range'),
    ('{"refusal_retention": "101 years"}', 'KN104', 'policy refusal_retention is out of range'),
    ('{"operation_retention": "-1 s"}', 'KN104', 'policy operation_retention is out of range'),
    ('{"unknown_limit": 0}', 'KN104', 'policy unknown_limit is out of range'),
    -- numbers
    ('{"attempt_budget": "5"}', 'KN102', 'policy attempt_budget is not a number'),
    ('{"attempt_budget": null}', 'KN102', 'policy attempt_budget is not a number'),
    ('{"attempt_budget": 0}', 'KN104', 'policy attempt_budget is out of range'),
    ('{"loss_budget": -1}', 'KN104', 'policy loss_budget is out of range'),
    ('{"release_budget": -1}', 'KN104', 'policy release_budget is out of range'),
    ('{"verification_loss_budget": 1.5}', 'KN104',
     'policy verification_loss_budget is out of range'),
    ('{"promotion_loss_budget": 1000001}', 'KN104', 'policy promotion_loss_budget is out of range'),
    ('{"abstain_budget": 1e400}', 'KN104', 'policy abstain_budget is out of range'),
    ('{"seats": "3"}', 'KN102', 'policy seats is not a number'),
    ('{"seats": 0}', 'KN104', 'policy seats is out of range'),
    ('{"seats": 1.5}', 'KN104', 'policy seats is out of range'),
    ('{"seats": 10001}', 'KN104', 'policy seats is out of range'),
    ('{"verification_limit": true}', 'KN102', 'policy verification_limit is not a number'),
    ('{"verification_limit": 0}', 'KN104', 'policy verification_limit is out of range'),
    ('{"verification_limit": 10001}', 'KN104', 'policy verification_limit is out of range'),
    ('{"backoff_jitter": 1.01}', 'KN104', 'policy backoff_jitter is out of range'),
    ('{"backoff_jitter": -0.1}', 'KN104', 'policy backoff_jitter is out of range'),
    -- flags
    ('{"promotes": "true"}', 'KN102', 'policy promotes is not true or false'),
    ('{"separate_family": 1}', 'KN102', 'policy separate_family is not true or false'),
    ('{"needs_evidence": null}', 'KN102', 'policy needs_evidence is not true or false'),
    -- against each other
    ('{"lease_min": "20 minutes"}', 'KN104',
     'the lease lengths of class new contradict each other'),
    ('{"lease_max": "10 minutes"}', 'KN104',
     'the lease lengths of class new contradict each other'),
    ('{"lease_cap": "3 hours"}', 'KN104', 'the lease lengths of class new contradict each other'),
    ('{"backoff_base": "2 hours"}', 'KN104', 'backoff_base is longer than backoff_cap')
) as p (policy, code, message);
select case
    when current_setting('server_version_num')::integer < 170000
    then testing.raises(
        testing.defined('{"verify_within": "infinity"}'), 'KN102',
        'policy verify_within is not a duration', 'kernel.define_class knows no infinity before 17'
    )
    else testing.raises(
        testing.defined('{"verify_within": "infinity"}'), 'KN104',
        'policy verify_within is out of range', 'kernel.define_class takes no infinity'
    )
end;

reset session authorization;
select finish();
rollback;
