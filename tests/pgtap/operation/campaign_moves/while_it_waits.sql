-- What is unknown stays with a campaign that waits: through expire, redrive, lapse, confirm and
-- contradict, until somebody resolves it. While it is, scheduled green moves nothing, and nothing
-- of it is pruned.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
\ir ../../_support/operation.psql
\ir ../../_support/move.psql
\ir ../../_support/log.psql
select plan(47);

create function testing.waiting(
    p_class     text,
    p_state     text,
    p_operation text,
    p_policy    jsonb default '{}'
)
    returns text
    language plpgsql
as $fn$
declare
    v_key text := testing.staged(
        p_class,
        case p_state when 'ready' then 'leased' when 'attempted' then 'verifying'
                     else 'promoting' end,
        p_operation, p_policy
    );
begin
    perform testing.clock_passes('15 minutes');
    perform testing.must('reaper_1', format('select * from kernel.reap(%L)', p_class));
    perform testing.arrived(p_state, 'parser', p_class);
    return v_key;
end
$fn$;
comment on function testing.waiting(text, text, text, jsonb) is
    'The lease of a campaign was lost, and its operation is what became of it then.';

-- Puts the operation into a state that a campaign which waits cannot have it in: as in a ledger
-- that somebody has tampered with.
create function testing.as_if(p_key text, p_state text)
    returns void
    language plpgsql
as $fn$
begin
    alter table ledger.operation disable trigger all;
    update ledger.operation as o
    set state = case p_state when 'started' then 'pending' else p_state end,
        started_at = case when p_state <> 'pending' then testing.clock() end,
        reason = case when p_state = 'unknown' then 'so' end
    where o.operation_key = p_key;
    alter table ledger.operation enable trigger all;
    alter table ledger.operation enable always trigger operation_10_guard;
    alter table ledger.operation enable always trigger operation_20_log;
    alter table ledger.operation enable always trigger operation_30_no_truncate;
end
$fn$;

-- == expire and redrive ===========================================================================

select testing.waiting('expire_' || s.state, s.state, 'started') as key
from unnest(array['attempted', 'accepted']) as s (state);
select testing.waiting('expire_ready', 'ready', 'started');
select testing.clock_passes('7 days');
select is(
    testing.after_the('reaper_1', format('select * from kernel.reap(%L)', 'expire_' || s.state),
                      'expire_' || s.state, testing.newest('parser', 'expire_' || s.state)),
    'ok, parked, unknown', format('expire in %s leaves it unknown', s.state)
)
from unnest(array['attempted', 'accepted']) as s (state);
select is(
    testing.act('reaper_1', $$ select * from kernel.reap('expire_ready') $$), null,
    'not by the age of what is unknown alone'
);
select testing.must('admin_1', testing.on_campaign('park', '{}', 'parser', 'expire_ready'));
select is(
    testing.after_the(
        'admin_1', testing.on_campaign('redrive', '{}', 'parser', 'expire_' || s.state),
        'expire_' || s.state, testing.newest('parser', 'expire_' || s.state)),
    format('ok, %s, unknown', s.state), format('redrive to %s leaves it unknown', s.state)
)
from unnest(array['ready', 'attempted', 'accepted']) as s (state);
select testing.waiting('released_' || s.state, s.state, 'pending')
from unnest(array['attempted', 'accepted', 'ready']) as s (state);
select is(
    (testing.operation(testing.newest('parser', 'released_' || s.state), 'released_' || s.state))
        .state,
    'released', format('what was not started is released before it waits in %s', s.state)
)
from unnest(array['attempted', 'accepted', 'ready']) as s (state);

-- == looked into without an answer ================================================================

-- Up to unknown_limit times; then the reaper parks what waits.
create function testing.looks(p_class text, p_times integer)
    returns void
    language plpgsql
as $fn$
begin
    for i in 1 .. p_times loop
        perform testing.must('admin_1', testing.resolving(
            'still_unknown', '{}', testing.newest('parser', p_class), p_class));
    end loop;
end
$fn$;
select testing.waiting('asked_' || s.state, s.state, 'started', '{"unknown_limit": 3}')
from unnest(array['ready', 'attempted', 'accepted']) as s (state);
select testing.looks('asked_' || s.state, 2)
from unnest(array['ready', 'attempted', 'accepted']) as s (state);
select is(
    testing.act('reaper_1', format('select * from kernel.reap(%L)', 'asked_' || s.state)), null,
    format('looked into twice of three times, it goes on waiting in %s', s.state)
)
from unnest(array['ready', 'attempted', 'accepted']) as s (state);
select testing.looks('asked_' || s.state, 1)
from unnest(array['ready', 'attempted', 'accepted']) as s (state);
select is(
    testing.act('reaper_1', format('select * from kernel.reap(%L)', 'asked_' || s.state))
        ->> 'note',
    'expire', format('after the third time the reaper parks it in %s', s.state)
)
from unnest(array['ready', 'attempted', 'accepted']) as s (state);
select row_eq(
    $$ select c.state, c.parked_for, (testing.event('parser', 'asked_ready')).detail
              ->> 'parked_for',
              (testing.operation(testing.newest('parser', 'asked_ready'), 'asked_ready')).state
       from testing.campaign('parser', 'asked_ready') as c $$,
    row('parked'::text, 'unknown_limit'::text, 'unknown_limit'::text, 'unknown'::text),
    'for unknown_limit; the operation stays unknown'
);
select testing.must('admin_1', testing.on_campaign(
    'redrive', '{"p_budgets": "{loss}"}', 'parser', 'asked_attempted'));
select is(
    testing.act('reaper_1', $$ select * from kernel.reap('asked_attempted') $$) ->> 'note',
    'expire', 'redriven for another reason it is parked again'
);
select testing.must('admin_1', testing.on_campaign(
    'redrive', jsonb_build_object('p_budgets', b.budgets), 'parser', b.class))
from (values ('asked_ready', null), ('asked_attempted', '{unknown}'),
             ('asked_accepted', '{unknown_limit}')) as b (class, budgets);
select is(
    testing.act('reaper_1', format('select * from kernel.reap(%L)', s.class)), null,
    format('redriven it waits once more: %s', s.class)
)
from unnest(array['asked_ready', 'asked_attempted', 'asked_accepted']) as s (class);
select row_eq(
    $$ select o.inquiry_count, o.state, e.event, e.by_principal, e.revision
       from testing.operation(testing.newest('parser', 'asked_ready'), 'asked_ready') as o
       join ledger.operation_event as e
           on e.class = o.class and e.operation_key = o.operation_key
           and e.event_no = o.event_count $$,
    row(0, 'unknown'::text, 'ask_again'::text, 'admin_1'::name, 7),
    'the count begins anew, with an event'
);
select testing.looks('asked_ready', 2);
select is(
    testing.act('reaper_1', $$ select * from kernel.reap('asked_ready') $$), null,
    'and is counted from there'
);
-- While somebody holds it, it is theirs to reconcile.
select testing.claim('parser', 'asked_ready', 'worker_2');
select testing.looks('asked_ready', 1);
select is(
    testing.act('reaper_1', $$ select * from kernel.reap('asked_ready') $$), null,
    'what is held is not parked'
);
select testing.must('worker_2', testing.holding('release', '{}', 'parser', 'asked_ready'));
select is(
    testing.act('reaper_1', $$ select * from kernel.reap('asked_ready') $$) ->> 'note', 'expire',
    'but when it waits again'
);

-- == lapse ========================================================================================

-- A worker gave up; then the target is green. Whose work is that?
create function testing.green_after(p_operation text)
    returns text
    language plpgsql
as $fn$
declare
    v_class text := 'green_' || p_operation;
    v_key   text := testing.staged(v_class, 'leased', p_operation);
    v_note  text;
begin
    perform testing.must('worker_1', testing.holding(
        'fail', '{"p_reason": "no"}', 'parser', v_class));
    perform testing.clock_passes('1 day');
    v_note := testing.observed(true, 'parser', v_class) ->> 'note';
    return format('%s, %s, %s', v_note, testing.state('parser', v_class),
                  (testing.operation(v_key, v_class)).state);
end
$fn$;
select is(testing.green_after(o.operation), o.told,
          format('scheduled green after an operation that was %s', o.operation))
from (values
    ('pending', 'lapse, lapsed, released'), ('started', 'operation_open, ready, unknown'),
    ('unknown', 'operation_open, ready, unknown'), ('failed', 'lapse, lapsed, failed'),
    ('completed', 'operation_open, ready, completed')
) as o (operation, told);
select ok((testing.observation('parser', 'green_unknown')).is_green,
          'what was seen is recorded all the same');
select testing.must('admin_1', testing.resolving(
    'failed', '{}', testing.newest('parser', 'green_unknown'), 'green_unknown'));
select testing.clock_passes('1 day');
select is(
    testing.observed(true, 'parser', 'green_unknown') ->> 'note', 'lapse',
    'once it is known to have failed, green lapses'
);
-- Held now: as the function stands, no campaign waits with one that is pending.
select testing.staged('lapse_' || o.operation, 'leased', 'unknown')
from unnest(array['pending', 'started']) as o (operation);
select testing.must('worker_1', testing.holding('fail', '{"p_reason": "no"}', 'parser',
                                                'lapse_' || o.operation))
from unnest(array['pending', 'started']) as o (operation);
select testing.as_if(testing.newest('parser', 'lapse_' || o.operation), o.operation)
from unnest(array['pending', 'started']) as o (operation);
select testing.clock_passes('1 day');
select is(
    testing.observed(true, 'parser', 'lapse_' || o.operation) ->> 'note', 'operation_open',
    format('nor would green lapse with one that is %s', o.operation)
)
from unnest(array['pending', 'started']) as o (operation);

-- == confirm and contradict =======================================================================

create function testing.verified_with(p_class text, p_operation text)
    returns void
    language plpgsql
as $fn$
begin
    perform testing.staged(p_class, 'verifying', 'completed', '{"promotes": false}');
    perform testing.judge('accepted', 'parser', p_class);
    perform testing.arrived('verified', 'parser', p_class);
    perform testing.as_if(testing.newest('parser', p_class), p_operation);
    perform testing.clock_passes('1 day');
end
$fn$;
select testing.verified_with('confirm_' || o.operation, o.operation)
from unnest(array['pending', 'started', 'unknown', 'completed']) as o (operation);
select is(
    testing.observed(true, 'parser', 'confirm_' || o.operation) ->> 'note', o.note,
    format('scheduled green with one that is %s: %s', o.operation, o.note)
)
from (values
    ('pending', 'operation_open'), ('started', 'operation_open'), ('unknown', 'operation_open'),
    ('completed', 'confirm')
) as o (operation, note);
select is(testing.state('parser', 'confirm_unknown'), 'verified', 'moves nothing');
select testing.clock_passes('1 day');
select is(
    testing.observed(false, 'parser', 'confirm_unknown') ->> 'note', 'contradict',
    'scheduled red contradicts, whatever is unknown'
);
select is(
    (testing.operation(testing.newest('parser', 'confirm_unknown'), 'confirm_unknown')).state,
    'unknown', 'which it stays'
);

-- == prune ========================================================================================

select testing.staged('prune_' || o.operation, 'leased', o.operation, '{"retention": "1 day"}')
from unnest(array['pending', 'started', 'unknown', 'completed', 'failed']) as o (operation);
select testing.must('admin_1', testing.on_campaign('cancel', '{}', 'parser',
                                                   'prune_' || o.operation))
from unnest(array['pending', 'started', 'unknown', 'completed', 'failed']) as o (operation);
select testing.clock_passes('2 days');
select testing.as_if_committed_each();
select testing.must('admin_1', format('select * from kernel.prune(%L)', 'prune_' || o.operation))
from unnest(array['pending', 'started', 'unknown', 'completed', 'failed']) as o (operation);
select is(
    (select count(*)::integer from ledger.campaign as c where c.class = 'prune_' || o.operation),
    o.count, format('a campaign with one that was %s is pruned: %s', o.operation, o.count = 0)
)
from (values ('pending', 0), ('started', 1), ('unknown', 1), ('completed', 0), ('failed', 0))
    as o (operation, count);
select is_empty(
    $$ select o.class from ledger.operation as o
       where o.class in ('prune_pending', 'prune_completed', 'prune_failed')
       union all
       select e.class from ledger.operation_event as e
       where e.class in ('prune_pending', 'prune_completed', 'prune_failed') $$,
    'its operations go with it, and their history'
);
-- A campaign that has ended: a verifier reconciles.
select testing.must('verifier_1', testing.resolving(
    'failed', '{}', testing.newest('parser', 'prune_unknown'), 'prune_unknown'));
select testing.must('admin_1', $$ select * from kernel.prune('prune_unknown') $$);
select is(
    (select count(*)::integer from ledger.campaign as c where c.class = 'prune_unknown'), 0,
    'once it is known, it is pruned'
);

select finish();
rollback;
