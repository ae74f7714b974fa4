-- ledger.shows compares what was read back; ledger.conclude writes what an owner says of the end.
\ir ../_support/fixture.psql
\ir ../_support/helper.psql
\ir ../_support/call.psql
\ir ../_support/operation.psql
select plan(32);

-- == shows ========================================================================================

select is(
    ledger.shows(
        jsonb_populate_record(null::ledger.operation, jsonb_build_object('expected', s.expected)),
        s.read_back
    ), s.shows, format('%s shows %s: %s', coalesce(s.read_back::text, 'nothing'),
                       coalesce(s.expected::text, 'nothing'), s.shows)
)
from (values
    (null::jsonb, null::jsonb, true),
    (null, '{"commit": "a"}', true),
    ('{"before": "x"}', null, true),
    ('{"after": {"commit": "a"}}', '{"commit": "a"}', true),
    ('{"after": {"commit": "a"}}', '{"commit": "a", "ref": "b"}', true),
    ('{"after": {"commit": "a"}}', '{"commit": "b"}', false),
    ('{"after": {"commit": "a"}}', '{"ref": "a"}', false),
    ('{"after": {"commit": "a"}}', null, false),
    ('{"after": {"commit": "a"}}', 'null', false),
    ('{"after": {}}', '{"commit": "a"}', true),
    ('{"after": {}}', null, false),
    ('{"after": null}', null, false)
) as s (expected, read_back, shows);

-- == conclude =====================================================================================

select testing.allows_operations('fix');

create function testing.concluded(
    p_key       text,
    p_said      jsonb,
    p_principal name default 'worker_1',
    p_token     text default 'of worker_1'
)
    returns text
    language sql
as $fn$
    select concat_ws(' ', a.answer ->> 'outcome', a.answer ->> 'operation_state',
                     a.answer ->> 'revision',
                     case when (a.answer ->> 'moved')::boolean then 'moved' end,
                     case when (a.answer ->> 'duplicate')::boolean then 'duplicate' end)
    from (select testing.by(p_principal, format(
        'ledger.conclude(%L, %L, %L, %L, jsonb_populate_record(null::ledger.operation, %L))',
        'a_function', 'fix', p_key, testing.token(p_token), p_said
    ))) as a (answer)
$fn$;

create function testing.says(p_state text, p_more jsonb default '{}')
    returns jsonb
    language sql
as $fn$
    select jsonb_build_object('state', p_state, 'last_event', case p_state
        when 'completed' then 'complete' when 'failed' then 'fail' else 'doubt'
    end) || p_more
$fn$;

select testing.posted('started', 'pay-1', 'fix', '{"p_expected": {"after": {"paid": true}}}');
select is(
    testing.concluded('pay-1', testing.says('completed'), 'stranger'), 'forbidden',
    'who does no operations here is forbidden to'
);
select is(
    testing.concluded('pay-1', testing.says('completed'), 'worker_2'), 'not_holder',
    'whose it is not has nothing to say'
);
select is(
    testing.concluded('pay-1', testing.says('completed', '{"read_back": {"paid": false}}')),
    'no_evidence', 'completed is what was read back'
);
select is((testing.operation()).state, 'pending', 'till then it stays as it was');

select testing.clock_passes('1 hour');
select is(
    testing.concluded('pay-1', testing.says('completed', '{"read_back": {"paid": true},
        "result": {"id": 7}, "result_text": "7", "reason": "at last", "diagnostic": {"n": 1}}')),
    'ok completed 3 moved', 'the owner says how it ended, also after its lease'
);
select row_eq(
    $$ select o.result, o.result_text, o.read_back, o.reason, o.diagnostic, o.lease_expires_at,
              o.updated_at, o.principal
       from testing.operation() as o $$,
    row('{"id": 7}'::jsonb, '7'::text, '{"paid": true}'::jsonb, 'at last'::text,
        '{"n": 1}'::jsonb, null::timestamptz, testing.clock(), 'worker_1'::name),
    'all that was said is kept'
);
select is(
    testing.concluded('pay-1', testing.says('completed', '{"read_back": {"paid": true},
        "result": {"id": 7}, "result_text": "7", "reason": "at last", "diagnostic": {"n": 1}}')),
    'ok completed 3 duplicate', 'said again it is a duplicate'
);
select is(
    testing.concluded('pay-1', testing.says('completed', '{"read_back": {"paid": true}}')),
    'stale', 'said otherwise it is stale'
);
select is(
    testing.concluded('pay-1', testing.says('completed', '{"read_back": {"paid": true},
        "result": {"id": 7}, "result_text": "7", "reason": "at first", "diagnostic": {"n": 1}}')),
    'stale', 'were it another reason only'
);
select is(testing.concluded('pay-1', testing.says('failed')), 'stale', 'as is another end');

-- Unknown: its owner may still complete it, and nothing else.
select testing.posted('started', 'pay-2');
select is(
    testing.concluded('pay-2', testing.says('unknown', '{"last_event": "abandon",
        "reason": "no answer", "diagnostic": {"n": 2}}')),
    'ok unknown 3 moved', 'who does not know says so'
);
select is(
    testing.concluded('pay-2', testing.says('unknown', '{"last_event": "abandon",
        "reason": "no answer", "diagnostic": {"n": 2}}')),
    'ok unknown 3 duplicate', 'again'
);
select is(
    testing.concluded('pay-2', testing.says('failed', '{"reason": "no"}')), 'illegal',
    'what is unknown its owner does not fail'
);
select is(
    testing.concluded('pay-2', testing.says('completed')), 'ok completed 4 moved',
    'but completes'
);
select is(
    (testing.operation('pay-2')).diagnostic, '{"n": 2}'::jsonb,
    'and what was diagnosed before stays where nothing new is'
);

-- Of a campaign, and never started: it cannot have happened.
select testing.leased();
select testing.pushed('pending') as key \gset
select is(
    testing.concluded(:'key', testing.says(c.state, '{"read_back": {"commit": "tip-1"}}'),
                      p_token => 'of push'), 'illegal',
    format('what was never started is not %s', c.state)
)
from unnest(array['completed', 'unknown']) as c (state);
select is(
    testing.concluded(:'key', testing.says('failed', '{"reason": "no"}'), p_token => 'of push'),
    'ok failed 2 moved', 'but may have failed'
);
select results_eq(
    $$ select r.function, r.outcome from testing.refusals('worker_1') as r
       order by r.refusal_no desc limit 1 $$,
    $$ values ('a_function', 'illegal') $$, 'a refusal names the function that was called'
);
select testing.raises(
    $$ select testing.concluded('none', testing.says('failed')) $$, 'KN116', null,
    'an unknown operation is misuse'
);

select finish();
rollback;
