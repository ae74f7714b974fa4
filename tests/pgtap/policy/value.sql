-- Read one value of a policy: ledger.policy_keys, .policy_span, .policy_number, .policy_flag.
\ir ../_support/fixture.psql
select plan(42);

-- == policy_keys ==================================================================================

select lives_ok(
    format('select ledger.policy_keys(%L, %L)', p.policy, '{base,cap}'),
    format('ledger.policy_keys takes %s', p.policy)
)
from unnest(array['{}', '{"base": null}', '{"cap": 1, "base": {"other": 2}}']) as p (policy);
select testing.raises(
    format('select ledger.policy_keys(%L, %L)', p.policy, '{base,cap}'), 'KN105', p.message,
    format('ledger.policy_keys says of %s: %s', p.policy, p.message)
)
from (values
    ('{"bass": 1}', 'unknown key: bass'),
    ('{"base": 1, "z": 1, "Cap": 1}', 'unknown key: "Cap", z'),
    ('{"": 1}', 'unknown key: ""')
) as p (policy, message);
select testing.raises(
    format('select ledger.policy_keys(%L, %L)', jsonb_build_object(repeat('k', 300), 1), '{base}'),
    'KN105', 'unknown key: ' || repeat('k', 200), 'ledger.policy_keys does not repeat it at length'
);

-- == policy_span ==================================================================================

create function testing.span(p_policy jsonb)
    returns interval
    language sql
as $fn$ select ledger.policy_span(p_policy, 'wait', '1 day', '1 second', '1 year') $fn$;

select is(testing.span(s.policy)::text, s.span, format('ledger.policy_span of %s', s.policy))
from (values
    (jsonb '{}', '24:00:00'),
    ('{"other": 1}', '24:00:00'),
    ('{"wait": "15 minutes"}', '00:15:00'),
    ('{"wait": "1 second"}', '00:00:01'),
    ('{"wait": "1 year"}', '8766:00:00'),
    ('{"wait": "365 days"}', '8760:00:00'),
    ('{"wait": "PT90S"}', '00:01:30')
) as s (policy, span);
select testing.raises(
    format('select testing.span(%L)', s.policy), s.code, s.message,
    format('ledger.policy_span refuses %s', s.policy)
)
from (values
    ('{"wait": null}', 'KN102', 'policy wait is not a duration'),
    ('{"wait": 15}', 'KN102', 'policy wait is not a duration'),
    ('{"wait": "soon"}', 'KN102', 'policy wait is not a duration'),
    ('{"wait": ""}', 'KN102', 'policy wait is not a duration'),
    ('{"wait": "999999999999 years"}', 'KN102', 'policy wait is not a duration'),
    ('{"wait": "0.999999 seconds"}', 'KN104', 'policy wait is out of range'),
    ('{"wait": "-1 day"}', 'KN104', 'policy wait is out of range'),
    ('{"wait": "1 year 1 second"}', 'KN104', 'policy wait is out of range'),
    ('{"wait": "1 month -30 days -1 second"}', 'KN104', 'policy wait is out of range')
) as s (policy, code, message);
-- == policy_number ================================================================================

create function testing.number(p_policy jsonb, p_is_integer boolean)
    returns numeric
    language sql
as $fn$ select ledger.policy_number(p_policy, 'count', 5, 0, 10, p_is_integer) $fn$;

select is(
    testing.number(n.policy, n.is_integer), n.number, format('ledger.policy_number of %s', n.policy)
)
from (values
    (jsonb '{}', true, 5), ('{"count": 0}', true, 0), ('{"count": 10}', true, 10),
    ('{"count": 3.0}', true, 3.0), ('{"count": 0.2}', false, 0.2)
) as n (policy, is_integer, number);
select testing.raises(
    format('select testing.number(%L, %L)', n.policy, n.is_integer), n.code, n.message,
    format('ledger.policy_number refuses %s', n.policy)
)
from (values
    ('{"count": "3"}', true, 'KN102', 'policy count is not a number'),
    ('{"count": null}', true, 'KN102', 'policy count is not a number'),
    ('{"count": 11}', true, 'KN104', 'policy count is out of range'),
    ('{"count": -0.1}', false, 'KN104', 'policy count is out of range'),
    ('{"count": 2.5}', true, 'KN104', 'policy count is out of range'),
    ('{"count": 1e400}', false, 'KN104', 'policy count is out of range')
) as n (policy, is_integer, code, message);
select is(
    ledger.policy_number('{}', 'seats', null, 1, 10, true), null,
    'ledger.policy_number may have nothing for a default'
);

-- == policy_flag ==================================================================================

select is(
    ledger.policy_flag(f.policy, 'promotes', f.by_default), f.flag,
    format('ledger.policy_flag of %s, by default %s', f.policy, f.by_default)
)
from (values
    (jsonb '{}', true, true), ('{}', false, false), ('{"promotes": false}', true, false),
    ('{"promotes": true}', false, true)
) as f (policy, by_default, flag);
select testing.raises(
    format('select ledger.policy_flag(%L, %L, true)', f.policy, 'promotes'), 'KN102',
    'policy promotes is not true or false', format('ledger.policy_flag refuses %s', f.policy)
)
from unnest(array['{"promotes": "true"}', '{"promotes": 1}', '{"promotes": null}']) as f (policy);

select finish();
rollback;
