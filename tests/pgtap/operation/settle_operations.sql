-- What stands in a move's way, and what becomes of operations when their lease, their owner or their
-- epoch ends.
\ir ../_support/fixture.psql
\ir ../_support/helper.psql
\ir ../_support/call.psql
\ir ../_support/operation.psql
\ir ../_support/move.psql
select plan(23);

create function testing.in_each_state(p_transition text)
    returns text
    language plpgsql
as $fn$
declare
    v_state text;
    v_bars  text[];
    v_phase text := case when p_transition in ('reject', 'accept') then 'verifying' else 'leased' end;
begin
    foreach v_state in array '{pending,started,unknown,completed,failed,released}'::text[] loop
        begin
            perform testing.staged('staged', v_phase, v_state);
            if ledger.open_operation_bars(testing.campaign('parser', 'staged'), p_transition) then
                v_bars := v_bars || v_state;
            end if;
            raise exception using errcode = 'TST01';
        exception
            when sqlstate 'TST01' then null;
        end;
    end loop;
    return array_to_string(v_bars, ', ');
end
$fn$;

comment on function testing.in_each_state(text) is
    'In which states an operation of the campaign bars the transition.';

-- == open_operation_bars ==========================================================================

select is(testing.in_each_state(b.transition), b.states, format(
    'ledger.open_operation_bars: %s is barred by what is %s', b.transition,
    coalesce(b.states, 'in no state')))
from (values
    ('submit', 'pending, started, unknown'), ('accept', 'pending, started, unknown'),
    ('reject', 'started, unknown'), ('fail', null), ('release', null), ('lose', null),
    ('park', null), ('cancel', null)
) as b (transition, states);
select testing.attempted();
select is(
    ledger.open_operation_bars(testing.campaign(), 'claim_verification'), false,
    'where there is no operation nothing is barred'
);

-- == settle_operations ============================================================================

create function testing.settled(p_state text, p_transition text)
    returns text
    language plpgsql
as $fn$
declare
    v_key  text;
    v_said text;
begin
    begin
        v_key := testing.staged('staged', 'leased', p_state);
        perform testing.clock_passes('1 minute');
        perform testing.by(
            case p_transition when 'new_epoch' then 'admin_1' else 'worker_1' end, format(
            'ledger.settle_operations(testing.campaign(%L, %L), %L, ledger.clock())',
            'parser', 'staged', p_transition
        ));
        select format('%s, %s, %s%s', o.state, o.revision, o.reason,
                      case when o.started_at = testing.clock() then ', started now' end)
        into v_said
        from testing.operation(v_key, 'staged') as o;
        raise exception using errcode = 'TST01';
    exception
        when sqlstate 'TST01' then null;
    end;
    return v_said;
end
$fn$;

select is(testing.settled(s.state, s.transition), s.settled, format(
    'ledger.settle_operations of what is %s, by %s', s.state, s.transition))
from (values
    ('pending', 'fail', 'released, 2, its lease ended by fail'),
    ('started', 'fail', 'unknown, 3, its lease ended by fail'),
    ('unknown', 'fail', 'unknown, 3, no answer'),
    ('completed', 'fail', 'completed, 3, '),
    ('pending', 'new_epoch', 'unknown, 2, its lease ended by new_epoch, started now'),
    ('started', 'new_epoch', 'unknown, 3, its lease ended by new_epoch')
) as s (state, transition, settled);

-- == dismiss_operations, doubt_operations =========================================================

select testing.class('two');
select testing.allows_operations('two');
select testing.posted('pending', 'p', 'two');
select testing.posted('started', 's', 'two');
select testing.posted('completed', 'c', 'two');
select testing.must('verifier_1', testing.posting(jsonb_build_object(
    'p_key', 'v', 'p_operation_token', testing.token('of verifier_1')), 'two'));
select testing.leased('parser', 'two');
select testing.pushed('started', 'parser', 'two') as key \gset

create function testing.states()
    returns text
    language sql
    security definer
as $fn$
    select string_agg(format('%s %s', left(o.operation_key, 1), o.state), ', '
                      order by left(o.operation_key, 1))
    from ledger.operation as o
    where o.class = 'two'
$fn$;

select testing.by('admin_1', $$
    ledger.dismiss_operations('two', 'worker_2', 'worker', ledger.clock()) $$);
select testing.by('admin_1', $$
    ledger.dismiss_operations('two', 'worker_1', 'verifier', ledger.clock()) $$);
select is(
    testing.states(), 'c completed, f pending, p pending, s pending, v pending',
    'ledger.dismiss_operations ends nothing of another principal''s, or duty''s'
);
select testing.by('admin_1', $$
    ledger.dismiss_operations('two', 'worker_1', 'worker', ledger.clock()) $$);
select is(
    testing.states(), 'c completed, f pending, p released, s unknown, v pending',
    'of the dismissed one''s it releases what was not started, and doubts what was'
);
select is(
    (testing.operation('s', 'two')).reason, 'its owner was dismissed', 'and says why'
);
select testing.clock_passes('1 minute');
select testing.by('admin_1', $$ ledger.doubt_operations('two', ledger.clock()) $$);
select is(
    testing.states(), 'c completed, f pending, p released, s unknown, v unknown',
    'ledger.doubt_operations makes unknown what is open without a campaign, and nothing else'
);
select row_eq(
    $$ select o.reason, o.started_at, o.lease_expires_at from testing.operation('v', 'two') as o $$,
    row('a new epoch has begun'::text, testing.clock(), null::timestamptz),
    'as if it had been started then'
);

-- == unknown_operations ===========================================================================

select is(
    ledger.unknown_operations('two', testing.id('parser', 'two')), '[]'::jsonb,
    'ledger.unknown_operations: at first there is none'
);
select testing.must('worker_1', testing.on_operation(
    'mark_operation_unknown', '{}', :'key', 'two', 'of push'));
select is(
    ledger.unknown_operations('two', testing.id('parser', 'two')) #- '{0,incarnation}',
    jsonb_build_array(jsonb_build_object(
        'operation_key', :'key', 'kind', 'git.push',
        'target', format('/srv/parser.git#refs/fencepost/%s/1', testing.id('parser', 'two')),
        'ordinal', 1, 'attempt_no', 1, 'revision', 3,
        'expected', '{"before": null, "after": {"commit": "tip-1"}, "fence": "fence-1"}'::jsonb,
        'reason', 'no answer', 'diagnostic', null
    )),
    'then what its holder needs to look after it'
);
select is(
    ledger.unknown_operations('fix', testing.id('parser', 'two')), '[]'::jsonb,
    'of another class''s it tells nothing'
);

select finish();
rollback;
