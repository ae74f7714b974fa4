-- ledger.is_human_act tells what an admin did; ledger.bury sets a tombstone and deletes the rest,
-- which ledger.tg_tombstone__set lets nobody else do, nor write anything else there.
\ir ../_support/fixture.psql
\ir ../_support/helper.psql
\ir ../_support/call.psql
\ir ../_support/operation.psql
select plan(24);

-- == is_human_act =================================================================================

select is(
    ledger.is_human_act(jsonb_populate_record(null::ledger.campaign_event, jsonb_build_object(
        'transition', a.transition, 'detail', a.detail))),
    a.is_human, format('%s with %s is an admin''s act: %s', a.transition, a.detail, a.is_human)
)
from (values
    ('park', '{}'::jsonb, true), ('redrive', '{}', true), ('cancel', '{}', true),
    ('set_priority', '{}', true), ('allow_repeat', '{}', true),
    ('open', '{"reason": "near"}', true), ('open', '{}', true),
    ('open', '{"observation": 7}', false), ('claim', '{}', false), ('lose', '{}', false),
    ('expire', '{}', false), ('new_epoch', '{}', false), ('confirm', '{"observation": 7}', false)
) as a (transition, detail, is_human);

-- == bury =========================================================================================

create function testing.bury(p_target text, p_principal name default 'admin_1')
    returns jsonb
    language sql
as $fn$
    select testing.by(p_principal, format('ledger.bury(testing.campaign(%L))', p_target))
$fn$;

create function testing.rows_left()
    returns text
    language plpgsql
    security definer
as $fn$
declare
    v_table text;
    v_count bigint;
    v_left  text;
begin
    foreach v_table in array '{campaign,campaign_event,attempt,bundle,verdict,allowance,operation,
                               operation_event}'::text[]
    loop
        execute format('select count(*) from ledger.%I where class = %L', v_table, 'fix')
        into v_count;
        v_left := concat_ws(', ', v_left, v_count || ' ' || v_table);
    end loop;
    return v_left;
end
$fn$;

select testing.allows_operations('fix');
select testing.leased();
select testing.pushed('completed');
select testing.submit();
select testing.claim_verification();
select testing.judge('rejected');
select testing.must('admin_1', testing.on_campaign('allow_repeat', jsonb_build_object(
    'p_fingerprint', 'patch-1', 'p_reason', 'the base was broken')));
select testing.cancel();
select testing.id() as id \gset
select testing.open('lexer');
select testing.posted('released', 'of nobody');
select is(
    testing.rows_left(),
    '2 campaign, 8 campaign_event, 1 attempt, 1 bundle, 1 verdict, 1 allowance, 2 operation, '
    '5 operation_event', 'before, there is all of this'
);

select testing.raises(
    format('select testing.bury(%L)', 'parser'), 'KN901', 'no tombstone is set',
    'what has only just closed is not buried'
);
select testing.clock_passes('89 days 23:59:59');
select testing.raises(
    format('select testing.bury(%L)', 'parser'), 'KN901', 'no tombstone is set',
    'nor a second too early'
);
select testing.clock_passes('1 second');
select testing.raises(
    format('select testing.bury(%L, %L)', 'parser', p.principal), 'KN901', 'no tombstone is set',
    format('%s buries nothing', p.principal)
)
from unnest(array['worker_1', 'reaper_1', 'auditor_1', 'postgres']) as p (principal);
select testing.raises(
    format('select testing.bury(%L)', 'lexer'), 'KN901', 'no tombstone is set',
    'nor does anybody what is open'
);

select to_jsonb(testing.campaign()) as campaign \gset
select array_agg(ledger.event_digest(e) order by e.event_no)::text as digests
from ledger.campaign_event as e where e.class = 'fix' and e.campaign_id = :id \gset
select testing.bury('parser');
select is(
    testing.rows_left(),
    '1 campaign, 1 campaign_event, 0 attempt, 0 bundle, 0 verdict, 0 allowance, 1 operation, '
    '2 operation_event', 'ledger.bury leaves nothing of the campaign, and all of the others'
);
select row_eq(
    $$ select t.target, t.final_state, t.generation, t.attempt_count, t.event_count, t.opened_at,
              t.closed_at, cardinality(t.human_acts_at), t.event_digests, t.pruned_at, t.pruned_by,
              t.pruned_xid, t.sha256
       from ledger.tombstone as t $$,
    row('parser'::text, 'cancelled'::text, (:'campaign'::jsonb ->> 'generation')::bigint, 1,
        7::bigint, timestamptz '2026-09-01 03:00+00', timestamptz '2026-09-01 03:00+00', 2,
        :'digests'::bytea[], testing.clock(), 'admin_1'::name, pg_current_xact_id(),
        (select ledger.tombstone_digest(t) from ledger.tombstone as t)),
    'but a tombstone, which says what stood in the ledger'
);

-- == tg_tombstone__set ============================================================================

select testing.cancel('lexer');
select testing.clock_passes('90 days');
create function testing.set_by_hand()
    returns text
    language sql
as $fn$
    insert into ledger.tombstone (class, campaign_id, target, final_state, attempt_count, pruned_by)
    values ('fix', testing.id('lexer'), 'another', 'confirmed', 17, 'nobody')
    returning concat_ws(' ', target, final_state, attempt_count, pruned_by)
$fn$;
select is(
    testing.by('admin_1', 'testing.set_by_hand()') #>> '{}', 'lexer cancelled 0 admin_1',
    'whatever was to be inserted, it says what stands in the ledger'
);

select finish();
rollback;
