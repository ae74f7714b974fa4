-- submit, accept and promote wait until every external operation of the campaign is closed.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
\ir ../../_support/operation.psql
\ir ../../_support/move.psql
select plan(32);

create function testing.cell(p_move text, p_operation text)
    returns text
    language plpgsql
as $fn$
declare
    v_class text := format('%s_%s', p_move, p_operation);
    v_state text := case p_move when 'submit' then 'leased' when 'promote' then 'promoting'
                                else 'verifying' end;
    v_key   text;
begin
    v_key := testing.staged(v_class, v_state, p_operation,
                            jsonb_build_object('promotes', p_move <> 'accept_to_verified'));
    if p_move = 'promote' then
        perform testing.moved('parser', v_class);
    end if;
    return testing.after_the(
        case p_move when 'submit' then 'worker_1' else 'verifier_1' end,
        testing.made(p_move, v_class), v_class, v_key
    );
end
$fn$;
create function testing.made(p_move text, p_class text)
    returns text
    language sql
as $fn$
    select case p_move
        when 'submit' then testing.holding('submit', '{"p_fingerprint": "patch-1",
            "p_approach": "so", "p_result": {"base": "b", "commit": "c"}}', 'parser', p_class)
        when 'promote' then testing.promotion('{}', 'parser', p_class)
        else testing.judging('{}', 'parser', p_class)
    end
$fn$;

-- == the table ====================================================================================

select is(
    testing.cell(m.move, o.operation), m.told || o.operation_after,
    format('%s with an operation that is %s', m.move, o.operation)
)
from (values
    ('submit', 'operation_open, leased, '),
    ('accept_to_promoting', 'operation_open, verifying, '),
    ('accept_to_verified', 'operation_open, verifying, '),
    ('promote', 'operation_open, promoting, ')
) as m (move, told)
cross join (values
    ('pending', 'pending'), ('started', 'pending (started)'), ('unknown', 'unknown')
) as o (operation, operation_after);
select is(
    testing.cell(m.move, o.operation), m.told || o.operation,
    format('%s with an operation that is %s', m.move, o.operation)
)
from (values
    ('submit', 'ok, attempted, '),
    ('accept_to_promoting', 'ok, promoting, '),
    ('accept_to_verified', 'ok, verified, '),
    ('promote', 'ok, verified, ')
) as m (move, told)
cross join (values ('completed'), ('failed'), ('released')) as o (operation);

-- == refused means refused ========================================================================

select testing.made('submit', 'submit_unknown') as call \gset
set local session authorization worker_1;
select testing.refused(:'call', 'operation_open', 'submit is refused, and that recorded');
reset session authorization;
select testing.made('accept_to_promoting', 'accept_to_promoting_unknown') as call \gset
set local session authorization verifier_1;
select testing.refused(:'call', 'operation_open', 'so is accept');
reset session authorization;
select testing.made('promote', 'promote_unknown') as call \gset
set local session authorization verifier_1;
select testing.refused(:'call', 'operation_open', 'so is promote');
reset session authorization;

-- The holder reconciles, and goes on.
select testing.must('worker_1', testing.resolving(
    'failed', jsonb_build_object('p_token', testing.token('worker_1')),
    testing.newest('parser', 'submit_unknown'), 'submit_unknown'));
select is(
    testing.told('worker_1', testing.made('submit', 'submit_unknown')), 'ok moved',
    'once it is resolved, the holder submits'
);

-- By hand: the campaign's guard says the same.
select testing.raises(
    format($$ update ledger.campaign set state = 'attempted', last_transition = 'submit',
                     lease_principal = null, lease_principal_oid = null, lease_token_sha256 = null,
                     lease_label = null, lease_granted_at = null, lease_expires_at = null,
                     lease_xid = null
              where class = 'submit_%s' $$, o.operation),
    'KN901', null, 'nor does a hand submit with an operation that is ' || o.operation
)
from (values ('pending'), ('started')) as o (operation);

-- What is unknown since an earlier attempt is in the way of this one.
select testing.staged('earlier', 'leased', 'unknown') as key \gset
select testing.must('worker_1', testing.holding('release', '{}', 'parser', 'earlier'));
select testing.claim('parser', 'earlier', 'worker_2');
set local session authorization worker_2;
select testing.refused(
    testing.made('submit', 'earlier'), 'operation_open', 'also one of an earlier attempt'
);
select testing.as_if_committed();
select results_eq(
    format('select jsonb_array_length(operations), operations -> 0 from (%s) as b',
           testing.holding('brief', '{}', 'parser', 'earlier')),
    format($$ select 1, jsonb_build_object(
        'operation_key', o.operation_key, 'kind', 'git.push', 'target', o.target, 'ordinal', 1,
        'attempt_no', 1, 'incarnation', o.incarnation, 'revision', 3,
        'expected', '{"before": null, "after": {"commit": "tip-1"}, "fence": "fence-1"}'::jsonb,
        'reason', 'no answer', 'diagnostic', null) from testing.operation(%L, 'earlier') as o $$,
        :'key'),
    'which the brief of the next holder shows'
);
reset session authorization;

select finish();
rollback;
