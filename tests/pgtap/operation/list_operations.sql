-- kernel.list_operations pages through a class's operations: by key, byte by byte, or by state and
-- age.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/operation.psql
select plan(34);

select testing.callable_by('kernel.list_operations', 'worker', 'verifier', 'admin');
select testing.allows_operations('fix');
select testing.allows_operations('ship');

-- D24, D28: capitals before small letters, and bytes before letters, whatever the collation says.
select testing.posted('pending', k.key)
from unnest(array['b', 'B', 'a', 'A', 'ä', 'z', '_', '-', '10', '9', 'aa', 'a b']) as k (key);
select testing.posted('pending', 'of another class', 'ship');
set local session authorization worker_2;
select is(
    (select string_agg(l.operation_key, '|' order by l.ordinality)
     from kernel.list_operations('fix') with ordinality as l),
    '-|10|9|A|B|_|a|a b|aa|b|z|ä', 'D24, D28: all of the class, in the order of their bytes'
);
reset session authorization;
create function testing.paged(p_limit integer, p_state text default null)
    returns text
    language plpgsql
as $fn$
declare
    v_row  kernel.operation;
    v_last kernel.operation;
    v_keys text[] := '{}';
begin
    loop
        v_row := null;
        for v_row in
            select l.*
            from kernel.list_operations(
                'fix', p_state, v_last.operation_key,
                case when p_state is not null then v_last.updated_at end, p_limit
            ) as l
        loop
            v_keys := v_keys || v_row.operation_key;
        end loop;
        exit when v_row.operation_key is null or cardinality(v_keys) > 100;
        v_last := v_row;
    end loop;
    return array_to_string(v_keys, '|');
end
$fn$;
set local session authorization worker_2;
select is(testing.paged(n), '-|10|9|A|B|_|a|a b|aa|b|z|ä',
          format('D24: nor is any skipped or shown twice in pages of %s', n))
from unnest(array[1, 2, 5, 12, 1000]) as p (n);
select results_eq(
    $$ select l.operation_key from kernel.list_operations('fix', p_after_key => 'a', p_limit => 2)
           as l $$,
    $$ values ('a b'::text), ('aa') $$, 'a page goes on after a key, be that there or not'
);
select results_eq(
    $$ select l.operation_key from kernel.list_operations('fix', p_after_key => 'a0', p_limit => 1)
           as l $$,
    $$ values ('aa'::text) $$, 'be that there or not'
);
reset session authorization;

-- == by state and age =============================================================================

select testing.clock_passes('1 minute');
select testing.must('worker_1', testing.on_operation('mark_operation_unknown', '{}', k.key))
from unnest(array['z', 'b']) as k (key);
select testing.clock_passes('1 minute');
select testing.must('worker_1', testing.on_operation('mark_operation_unknown', '{}', k.key))
from unnest(array['a', 'ä', '9']) as k (key);
select testing.must('worker_1', testing.on_operation('release_operation', '{}', 'B'));
select testing.must('worker_1', testing.on_operation('complete_operation', '{}', 'A'));
select testing.must('worker_1', testing.on_operation('fail_operation', '{}', '_'));
set local session authorization worker_2;
select is(testing.paged(n, 'unknown'), 'b|z|9|a|ä',
          format('D20: those of a state, oldest first, in pages of %s', n))
from unnest(array[1, 2, 3, 5, 1000]) as p (n);
select is(testing.paged(2, s.state), s.keys, 'those that are ' || s.state)
from (values ('pending', '-|10|a b|aa'), ('completed', 'A'), ('failed', '_'), ('released', 'B'))
    as s (state, keys);
select results_eq(
    $$ select l.outcome, l.operation_state, l.status, l.revision, l.reason, l.retry_after
       from kernel.list_operations('fix', 'unknown', p_limit => 1) as l $$,
    $$ values ('ok'::text, 'unknown'::text, null::text, 2, 'no answer'::text, null::interval) $$,
    'each as it stands'
);
set local session authorization admin_1;
select isnt_empty($$ select from kernel.list_operations('fix') $$, 'an admin may look');
reset session authorization;
select is_empty(
    $$ select from testing.refusals('worker_2') $$, 'nothing is recorded of who looks'
);

-- == who, and misuse ==============================================================================

select testing.refused(
    'select * from kernel.list_operations(''fix'')', 'forbidden', 'is forbidden to a superuser'
);
set local session authorization worker_elsewhere;
select testing.refused(
    'select * from kernel.list_operations(''fix'')', 'forbidden', 'and to who is of another class'
);
set local session authorization worker_1;
select testing.raises(
    testing.call('list_operations', '{"p_class": "fix"}'::jsonb || m.changes), m.code, m.message,
    'wants ' || m.what
)
from (values
    ('{"p_class": null}'::jsonb, 'KN101', 'argument p_class is null', 'a class'),
    ('{"p_state": "started"}', 'KN102', 'there is no such state of an operation',
     'a state that there is'),
    ('{"p_after_key": ""}', 'KN102', null, 'a key that is not empty'),
    (jsonb_build_object('p_after_key', repeat('x', 513)), 'KN103', null, 'of 512 bytes'),
    ('{"p_after_at": "2026-09-01"}', 'KN101', 'a page by age goes on from a time and a key',
     'a time only with a state'),
    ('{"p_after_at": "2026-09-01", "p_state": "unknown"}', 'KN101', null, 'and a key'),
    ('{"p_after_at": "2026-09-01", "p_after_key": "x"}', 'KN101', null, 'both'),
    ('{"p_state": "unknown", "p_after_key": "x"}', 'KN101', null,
     'with a state a key only with its time'),
    ('{"p_limit": null}', 'KN101', 'argument p_limit is null', 'a limit'),
    ('{"p_limit": 0}', 'KN104', 'a limit of 0 is out of range', 'of one at least'),
    ('{"p_limit": 1001}', 'KN104', null, 'and 1000 at most')
) as m (changes, code, message, what);
reset session authorization;
select finish();
rollback;
