-- A new epoch settles the open external operations of every campaign; the dismissal of a principal
-- settles those of its leases, and those that it has without a campaign.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
\ir ../../_support/operation.psql
\ir ../../_support/move.psql
select plan(42);

-- == new_epoch ====================================================================================

create function testing.epoch_with(p_state text, p_operation text)
    returns text
    language plpgsql
as $fn$
declare
    v_class text := format('epoch_%s_%s', p_state, p_operation);
    v_key   text := testing.staged(v_class, p_state, p_operation);
begin
    return testing.after_the(
        'admin_1', format('select * from kernel.new_epoch(%L, %L, %L)', v_class,
                          testing.token(v_class), 'restored'),
        v_class, v_key
    );
end
$fn$;
select is(
    testing.epoch_with(s.state, o.operation), format('ok, %s, %s', s.state, o.operation_after),
    format('in %s with an operation that is %s', s.state, o.operation)
)
from unnest(array['leased', 'verifying', 'promoting']) as s (state)
cross join (values
    ('pending', 'unknown'), ('started', 'unknown'), ('unknown', 'unknown'),
    ('completed', 'completed'), ('failed', 'failed')
) as o (operation, operation_after);
set local session authorization worker_1;
select testing.refused(
    testing.pushing(jsonb_build_object(
        'p_generation', testing.generation('parser', 'epoch_leased_pending') - 1000,
        'p_operation_token', gen_random_uuid()), 'parser', 'epoch_leased_pending'),
    'stale', 'whoever held it before begins nothing'
);
reset session authorization;
select is(
    testing.told('worker_1', testing.on_operation(
        'complete_operation', '{"p_read_back": {"commit": "tip-1"}}',
        testing.newest('parser', 'epoch_leased_started'), 'epoch_leased_started', 'of push')),
    'ok completed 4 started moved', 'but may still say what became of what was started'
);
select isnt(
    ledger.operation_key('x', 1, 1, 1, 'git.push', 't', 1),
    ledger.operation_key('x', 0, 1, 1, 'git.push', 't', 1),
    'in the new epoch every key is another'
);

select testing.class('restored');
select testing.allows_operations('restored');
select testing.posted(s.state, 'one ' || s.state, 'restored')
from unnest(array['pending', 'started', 'completed', 'unknown']) as s (state);
select testing.must('admin_1', $$ select * from kernel.new_epoch('restored', testing.token('lost')) $$);
select is(
    (testing.operation('one ' || k.state, 'restored')).state, k.after,
    format('in a new epoch one without a campaign that was %s is %s', k.state, k.after)
)
from (values ('pending', 'unknown'), ('started', 'unknown'), ('completed', 'completed'),
             ('unknown', 'unknown')) as k (state, after);

-- What was completed before is done: its new key does not make it new.
select testing.class('kept', '{"promotes": true}');
select testing.allows_operations('kept');
select testing.promoting('parser', 'kept');
select testing.promotion_is('completed', 'parser', 'kept') as key \gset
select testing.must('admin_1', $$ select * from kernel.new_epoch('kept', testing.token('lost')) $$);
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', $$ select * from kernel.reap('kept') $$);
select testing.clock_passes('1 hour');
select testing.must('verifier_2', format(
    'select * from kernel.claim_promotion(p_class => %L, p_token => %L)', 'kept',
    testing.token('verifier_2')));
select results_eq(
    format($$ select b ->> 'status', b ->> 'operation_key', b -> 'read_back'
              from testing.act('verifier_2', %L) as b $$,
           testing.moving('{"p_operation_token": "00000000-0000-4000-8000-000000000003"}',
                          'parser', 'kept')),
    format($$ values ('replay'::text, %L::text, '{"commit": "commit-of-patch-1"}'::jsonb) $$,
           :'key'),
    'what was promoted before a new epoch is not promoted again'
);
select is(
    testing.told('verifier_2', testing.moving(
        '{"p_operation_token": "00000000-0000-4000-8000-000000000004",
          "p_fingerprint": "promotion-2"}', 'parser', 'kept')),
    'illegal', 'nor by another request'
);

-- == dismiss ======================================================================================

select testing.allows_operations('fix');
select testing.posted(s.state, 'one ' || s.state)
from unnest(array['pending', 'started', 'completed', 'failed', 'unknown']) as s (state);
select testing.must('worker_2', testing.posting(
    '{"p_key": "two pending", "p_operation_token": "00000000-0000-4000-8000-000000000001"}'));
select testing.leased();
select testing.pushed('started') as key \gset
-- One who is both: what it does as a worker is not what it does as a verifier.
grant fencepost_verifier to worker_1;
select testing.must('admin_1', $$ select * from kernel.enrol('fix', 'worker_1', 'verifier') $$);
select testing.must('admin_1', $$ select * from kernel.dismiss('fix', 'worker_1', 'verifier') $$);
select is((testing.operation('one pending')).state, 'pending',
          'who is dismissed from another duty keeps its operations');
select testing.must('admin_1', $$ select * from kernel.dismiss('fix', 'worker_1', 'worker') $$);
select is(
    (testing.operation(k.key)).state, k.state, format('after its dismissal: %s', k.key)
)
from (values
    ('one pending', 'released'), ('one started', 'unknown'), ('one completed', 'completed'),
    ('one failed', 'failed'), ('one unknown', 'unknown'), ('two pending', 'pending')
) as k (key, state);
select is((testing.operation(:'key')).state, 'unknown', 'and that of its lease');
select row_eq(
    $$ select e.event, e.by_principal, e.owner, e.reason from ledger.operation_event as e
       where e.class = 'fix' and e.operation_key = 'one started'
       order by e.event_no desc limit 1 $$,
    row('abandon'::text, 'admin_1'::name, 'worker_1'::name, 'its owner was dismissed'::text),
    'which the history tells'
);
set local session authorization worker_1;
select testing.refused(
    testing.on_operation(f.name, '{}', 'one started'), 'forbidden',
    format('who was dismissed has no say: %s', f.name)
)
from unnest(array['complete_operation', 'fail_operation', 'mark_operation_unknown',
                  'start_operation', 'renew_operation', 'release_operation']) as f (name);
select testing.refused(
    testing.resolving('failed', '{}', 'one started'), 'forbidden', 'nor does it resolve'
);
reset session authorization;
-- Enrolled again: its token is its own still, but what it said is not taken as certain.
select testing.must('admin_1', $$ select * from kernel.enrol('fix', 'worker_1', 'worker') $$);
select is(
    testing.told('worker_1', testing.on_operation(f.name, '{}', 'one started')), f.told,
    format('enrolled again: %s', f.name)
)
from (values ('fail_operation', 'illegal'), ('complete_operation', 'ok completed 4 started moved'))
    as f (name, told);

select finish();
rollback;
