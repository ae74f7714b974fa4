-- Who may call kernel.resolve_operation: the holder of the campaign's lease with its token, an
-- admin with a reason, a verifier once the campaign has ended; without a campaign, everybody of the duty.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
\ir ../../_support/operation.psql
\ir ../../_support/move.psql
select plan(32);

select testing.callable_by('kernel.resolve_operation', 'worker', 'verifier', 'admin');

-- == of a campaign ================================================================================

-- The attempts: an operation is unknown, and then the campaign goes on to some state.
create function testing.told_in(p_class text, p_principal name, p_changes jsonb default '{}')
    returns text
    language sql
as $fn$
    select testing.told(p_principal, testing.resolving(
        'failed', p_changes, testing.newest('parser', p_class), p_class))
$fn$;
create function testing.with_token(p_name text)
    returns jsonb
    language sql
as $fn$ select jsonb_build_object('p_token', testing.token(p_name)) $fn$;

-- Leased: by the worker whose operation it is.
select testing.staged('held', 'leased', 'unknown');
select is(testing.told_in('held', w.principal, w.changes), w.told, w.what)
from (values
    (1, 'worker_2', testing.with_token('worker_1'), 'not_holder',
     'another worker is not its holder, not with the lease''s token'),
    (2, 'worker_1', '{}'::jsonb, 'not_holder', 'nor is who has no token'),
    (3, 'worker_1', testing.with_token('of push'), 'not_holder', 'nor that of the operation'),
    (4, 'verifier_1', testing.with_token('worker_1'), 'not_holder',
     'nor a verifier before the end'),
    (5, 'verifier_1', '{}', 'not_holder', 'with or without'),
    (6, 'worker_1', testing.with_token('worker_1'), 'ok failed 4 started moved',
     'the holder is, with the lease''s token')
) as w (place, principal, changes, told, what) order by w.place;
-- Waiting: nobody holds it, but an admin with a reason.
select testing.staged('waits', 'leased', 'unknown');
select testing.must('worker_1', testing.holding('release', '{}', 'parser', 'waits'));
select is(testing.told_in('waits', w.principal, w.changes), w.told, w.what)
from (values
    (1, 'worker_1', testing.with_token('worker_1'), 'not_holder',
     'whose lease has ended is its holder no more'),
    (2, 'verifier_1', '{}'::jsonb, 'not_holder', 'a verifier waits for the end'),
    (3, 'admin_1', '{}', 'ok failed 4 started moved', 'an admin with a reason may')
) as w (place, principal, changes, told, what) order by w.place;
-- The next holder, of another principal and another duty.
select testing.staged('next', 'leased', 'unknown');
select testing.must('worker_1', testing.holding('release', '{}', 'parser', 'next'));
select testing.claim('parser', 'next', 'worker_2');
select is(testing.told_in('next', w.principal, w.changes), w.told, w.what)
from (values
    (1, 'worker_1', testing.with_token('worker_1'), 'not_holder', 'the holder before'),
    (2, 'worker_2', testing.with_token('worker_2'), 'ok failed 4 started moved', 'the holder now')
) as w (place, principal, changes, told, what) order by w.place;
select testing.staged('verifier', 'verifying', 'started');
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', $$ select * from kernel.reap('verifier') $$);
select testing.claim_verification('parser', 'verifier', 'verifier_2');
select is(testing.told_in('verifier', w.principal, w.changes), w.told, w.what)
from (values
    (1, 'verifier_1', testing.with_token('verifier_1'), 'not_holder', 'the verifier before'),
    (2, 'verifier_2', testing.with_token('verifier_2'), 'ok failed 4 started moved',
     'the verifier now')
) as w (place, principal, changes, told, what) order by w.place;
-- The lease has run out, and nobody has come.
select testing.staged('late', 'leased', 'unknown');
select testing.clock_passes('1 hour');
select is(testing.told_in('late', 'worker_1', testing.with_token('worker_1')),
          'ok failed 4 started moved', 'a holder may be late');
-- Ended.
select testing.staged('over', 'leased', 'unknown');
select testing.must('admin_1', testing.on_campaign('cancel', '{}', 'parser', 'over'));
select is(testing.told_in('over', w.principal, w.changes), w.told, w.what)
from (values
    (1, 'worker_1', testing.with_token('worker_1'), 'not_holder',
     'a worker has no say after the end'),
    (2, 'verifier_2', '{}'::jsonb, 'ok failed 4 started moved', 'a verifier of the class has')
) as w (place, principal, changes, told, what) order by w.place;
select testing.staged('ended', 'leased', 'unknown');
select testing.must('admin_1', testing.on_campaign('cancel', '{}', 'parser', 'ended'));
select is(testing.told_in('ended', 'admin_1'), 'ok failed 4 started moved', 'and an admin');

-- == an admin's reason ============================================================================

select testing.staged('asked', 'leased', 'unknown');
select is(
    testing.told('admin_1', testing.resolving(
        'completed', '{"p_reason": null}', testing.newest('parser', 'asked'), 'asked')),
    'not_holder', 'an admin gives a reason'
);
select is(
    testing.told('worker_1', testing.resolving(
        'completed', '{"p_reason": null}'::jsonb || testing.with_token('worker_1'),
        testing.newest('parser', 'asked'), 'asked')),
    'ok completed 4 started moved', 'the holder need not, where it is completed'
);

-- == without a campaign ===========================================================================

select testing.allows_operations('fix');
select testing.posted('unknown', 'key ' || w.n) from generate_series(1, 6) as w (n);
select is(
    testing.told(w.principal, testing.resolving('failed', w.changes, 'key ' || w.n)), w.told,
    w.what
)
from (values
    (1, 'worker_1', '{}'::jsonb, 'ok failed 4 started moved', 'its owner may resolve it'),
    (2, 'worker_2', '{}', 'ok failed 4 started moved', 'any worker, where a worker began it'),
    (3, 'verifier_1', '{}', 'not_holder', 'no verifier'),
    (4, 'worker_elsewhere', '{}', 'forbidden', 'none of another class'),
    (5, 'admin_1', '{}', 'ok failed 4 started moved', 'an admin with a reason')
) as w (n, principal, changes, told, what);
select is(
    testing.told('admin_1', testing.resolving('completed', '{"p_reason": null}', 'key 6')),
    'not_holder', 'not one without'
);
select testing.must('verifier_1', testing.posting(
    '{"p_key": "by the verifier", "p_operation_token": "00000000-0000-4000-8000-000000000001"}'));
select testing.must('verifier_1', testing.on_operation('mark_operation_unknown',
    '{"p_operation_token": "00000000-0000-4000-8000-000000000001"}', 'by the verifier'));
select is(
    testing.told(w.principal, testing.resolving('failed', '{}', 'by the verifier')), w.told, w.what
)
from (values
    (1, 'worker_1', 'not_holder', 'where a verifier began it, no worker'),
    (2, 'verifier_2', 'ok failed 3 moved', 'but any verifier')
) as w (place, principal, told, what) order by w.place;

-- == refusals are recorded ========================================================================

select testing.posted('unknown', 'mine');
select testing.refused(
    testing.resolving('failed', '{}', 'mine'), 'forbidden', 'is forbidden to a superuser'
);
set local session authorization worker_elsewhere;
select testing.refused(
    testing.resolving('failed', '{}', 'mine'), 'forbidden', 'and to who is of another class'
);
set local session authorization verifier_1;
select testing.refused(
    testing.resolving('failed', '{}', 'mine'), 'not_holder', 'whose it is not is told so'
);
set local session authorization admin_1;
select testing.refused(
    testing.resolving('completed', '{"p_reason": null}', 'mine'), 'not_holder',
    'and who gives no reason'
);
reset session authorization;

select finish();
rollback;
