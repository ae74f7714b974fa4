-- reject, abstain and outdate release what was not started, and wait for what was, or is unknown.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
\ir ../../_support/operation.psql
\ir ../../_support/move.psql
select plan(18);

create function testing.made(p_move text, p_class text)
    returns text
    language sql
as $fn$
    select case p_move
        when 'reject' then testing.judging(
            '{"p_verdict": "rejected", "p_reason": "red"}', 'parser', p_class)
        when 'abstain' then testing.judging(
            '{"p_verdict": "unverifiable", "p_reason": "no"}', 'parser', p_class)
        else testing.holding('outdate', '{"p_reason": "another came first"}', 'parser', p_class)
    end
$fn$;
create function testing.cell(p_move text, p_operation text)
    returns text
    language plpgsql
as $fn$
declare
    v_class text := format('%s_%s', p_move, p_operation);
    v_key   text := testing.staged(
        v_class, case p_move when 'outdate' then 'promoting' else 'verifying' end, p_operation);
begin
    return testing.after_the('verifier_1', testing.made(p_move, v_class), v_class, v_key);
end
$fn$;

select is(
    testing.cell(m.move, o.operation), o.outcome || case o.outcome
        when 'ok' then m.to_state else m.from_state end || o.operation_after,
    format('%s with an operation that is %s', m.move, o.operation)
)
from (values
    ('reject', ', verifying, ', ', ready, '), ('abstain', ', verifying, ', ', attempted, '),
    ('outdate', ', promoting, ', ', ready, ')
) as m (move, from_state, to_state)
cross join (values
    ('pending', 'ok', 'released'), ('started', 'operation_open', 'pending (started)'),
    ('unknown', 'operation_open', 'unknown'), ('completed', 'ok', 'completed'),
    ('failed', 'ok', 'failed')
) as o (operation, outcome, operation_after);
select results_eq(
    $$ select e.event, e.by_principal, e.reason from ledger.operation_event as e
       where e.class = 'outdate_pending' order by e.event_no desc limit 1 $$,
    $$ values ('release'::text, 'verifier_1'::name, 'its lease ended by outdate'::text) $$,
    'what is released says why'
);
select testing.made(m.move, m.move || '_started') as outdate
from (values ('outdate')) as m (move) \gset
set local session authorization verifier_1;
select testing.refused(:'outdate', 'operation_open', 'outdate is refused, and that recorded');
reset session authorization;
select testing.made('reject', 'reject_unknown') as reject \gset
set local session authorization verifier_1;
select testing.refused(:'reject', 'operation_open', 'so is reject');
reset session authorization;

select finish();
rollback;
