-- fail, release, lose, cancel and park settle the external operations of the campaign: what was not
-- started is released, what was started becomes unknown, and what is unknown stays with it.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
\ir ../../_support/operation.psql
\ir ../../_support/move.psql
select plan(66);

create function testing.cell(p_move text, p_state text, p_operation text)
    returns text
    language plpgsql
as $fn$
declare
    v_class text := format('%s_%s_%s', p_move, p_state, p_operation);
    v_key   text := testing.staged(v_class, p_state, p_operation);
begin
    if p_move = 'lose' then
        perform testing.clock_passes('15 minutes');
    end if;
    return testing.after_the(
        case p_move when 'lose' then 'reaper_1' when 'cancel' then 'admin_1'
                    when 'park' then 'admin_1' else 'worker_1' end,
        case p_move
            when 'lose' then format('select * from kernel.reap(%L)', v_class)
            when 'fail' then testing.holding('fail', '{"p_reason": "no"}', 'parser', v_class)
            when 'release' then testing.holding('release', '{}', 'parser', v_class)
            else testing.on_campaign(p_move, '{}', 'parser', v_class)
        end,
        v_class, v_key
    );
end
$fn$;

-- == the table ====================================================================================

select is(
    testing.cell(m.move, m.state, o.operation), m.told || o.operation_after,
    format('%s in %s with an operation that is %s', m.move, m.state, o.operation)
)
from (values
    ('fail', 'leased', 'ok, ready, '), ('release', 'leased', 'ok, ready, '),
    ('lose', 'leased', 'ok, ready, '), ('lose', 'verifying', 'ok, attempted, '),
    ('lose', 'promoting', 'ok, accepted, '),
    ('cancel', 'leased', 'ok, cancelled, '), ('cancel', 'verifying', 'ok, cancelled, '),
    ('cancel', 'promoting', 'ok, cancelled, '),
    ('park', 'leased', 'ok, parked, '), ('park', 'verifying', 'ok, parked, '),
    ('park', 'promoting', 'ok, parked, ')
) as m (move, state, told)
cross join (values
    ('pending', 'released'), ('started', 'unknown'), ('unknown', 'unknown'),
    ('completed', 'completed'), ('failed', 'failed')
) as o (operation, operation_after);

-- == how that is written ==========================================================================

select results_eq(
    format($$ select e.event, e.to_state, e.revision, e.by_principal, e.owner, e.is_late, e.reason,
              e.at = (testing.event('parser', %L)).at, e.xid = (testing.event('parser', %L)).xid
       from ledger.operation_event as e
       where e.class = %L
       order by e.event_no desc
       limit 1 $$, w.class, w.class, w.class),
    format($$ values (%L::text, %L::text, %s, %L::name, %L::name, false, %L::text, true, true) $$,
           w.event, w.state, w.revision, w.by_whom, w.owner, w.reason),
    format('%s: by whom, of whom and why, in the campaign''s own transaction', w.class)
)
from (values
    ('lose_leased_started', 'abandon', 'unknown', 3, 'reaper_1', 'worker_1',
     'its lease ended by lose'),
    ('lose_verifying_pending', 'release', 'released', 2, 'reaper_1', 'verifier_1',
     'its lease ended by lose_verification'),
    ('park_promoting_started', 'abandon', 'unknown', 3, 'admin_1', 'verifier_1',
     'its lease ended by park'),
    ('cancel_leased_pending', 'release', 'released', 2, 'admin_1', 'worker_1',
     'its lease ended by cancel'),
    ('fail_leased_started', 'abandon', 'unknown', 3, 'worker_1', 'worker_1',
     'its lease ended by fail')
) as w (class, event, state, revision, by_whom, owner, reason);

-- All of several.
select testing.staged('several', 'leased', 'pending');
select testing.pushed('started', 'parser', 'several', jsonb_build_object(
    'p_target', format('/srv/parser.git#refs/fencepost/%s/2', testing.id('parser', 'several'))),
    'of push 2');
select testing.pushed('unknown', 'parser', 'several', jsonb_build_object(
    'p_target', format('/srv/parser.git#refs/fencepost/%s/3', testing.id('parser', 'several'))),
    'of push 3');
select testing.must('worker_1', testing.holding('release', '{}', 'parser', 'several'));
select results_eq(
    $$ select right(o.target, 1), o.state from ledger.operation as o
       where o.class = 'several' order by o.target $$,
    $$ values ('1', 'released'::text), ('2', 'unknown'), ('3', 'unknown') $$,
    'each of several is settled for itself'
);

-- A promotion that was started when its lease was lost: the next verifier is given it.
select testing.class('lost', '{"promotes": true}');
select testing.allows_operations('lost');
select testing.promoting('parser', 'lost');
select testing.promotion_is('started', 'parser', 'lost') as key \gset
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', $$ select * from kernel.reap('lost') $$);
select testing.must('verifier_2', testing.call('claim_promotion', jsonb_build_object(
    'p_class', 'lost', 'p_token', testing.token('verifier_2'))));
set local session authorization verifier_2;
select testing.refused(
    testing.promotion('{}', 'parser', 'lost'), 'operation_open',
    'a promotion of which nobody knows is not recorded'
);
reset session authorization;
select is(
    testing.told('verifier_2', testing.moving('{"p_ordinal": 2}', 'parser', 'lost')),
    'operation_open', 'nor tried again'
);
select testing.as_if_committed();
set local session authorization verifier_2;
select results_eq(
    format('select operations -> 0 ->> ''operation_key'', operations -> 0 -> ''expected'' '
           'from (%s) as b', testing.holding('bundle', '{}', 'parser', 'lost')),
    format($$ values (%L::text, '{"before": "base-1", "after": {"commit": "commit-of-patch-1"},
                                  "fence": "fence-1"}'::jsonb) $$, :'key'),
    'the bundle of the next verifier shows it'
);
reset session authorization;
select testing.must('verifier_2', testing.resolving('completed', jsonb_build_object(
    'p_token', testing.token('verifier_2'),
    'p_read_back', '{"commit": "commit-of-patch-1"}'::jsonb),
    :'key', 'lost'));
select is(
    testing.after_the('verifier_2', testing.promotion('{}', 'parser', 'lost'), 'lost', :'key'),
    'ok, verified, completed', 'who reads the target, and finds that it was done'
);

-- == what the next holder is told ==================================================================

select testing.leased('crowded');
select testing.authorised('git.tag', '{repository}#refs/tags/{campaign}*', 'fix');
do $do$
begin
    perform testing.as_if_committed();
    for n in 1..101 loop
        perform testing.must('worker_1', testing.pushing(jsonb_build_object(
            'p_kind', 'git.tag', 'p_operation_token', gen_random_uuid(),
            'p_target', format('/srv/parser.git#refs/tags/%s-%s', testing.id('crowded'), n)
        ), 'crowded'));
    end loop;
end
$do$;
select testing.must('admin_1', $$ select * from kernel.new_epoch('fix', testing.token('lost')) $$);
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', $$ select * from kernel.reap('fix') $$);
select testing.clock_passes('1 hour');
select testing.claim('crowded', 'fix', 'worker_2');
select is(
    jsonb_array_length(testing.act('worker_2', testing.holding('brief', '{}', 'crowded'))
        -> 'operations'),
    100, 'a brief has the oldest hundred of what is unknown'
);

select finish();
rollback;
