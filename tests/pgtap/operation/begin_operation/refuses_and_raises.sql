-- What kernel.begin_operation refuses whatever it would find, and what it raises.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
\ir ../../_support/operation.psql
select plan(58);

select testing.allows_operations('fix');
select testing.leased();

-- == who ==========================================================================================

select testing.refused(testing.posting(), 'forbidden', 'is forbidden to a superuser');
set local session authorization worker_elsewhere;
select testing.refused(testing.posting(), 'forbidden', 'and to who is of another class');
select testing.refused(
    testing.posting('{"p_class": "nowhere"}'), 'forbidden', 'in the words of a class there is not'
);
select testing.refused(
    testing.pushing(jsonb_build_object('p_token', testing.token('worker_1'))), 'forbidden',
    'nor with a lease''s token'
);
reset session authorization;

-- == paused and retired ===========================================================================

-- Each state stands ready before the class is paused, then retired.
select testing.class('calm');
select testing.allows_operations('calm');
select testing.posted(s.state, s.state, 'calm')
from unnest(array['pending', 'completed', 'failed', 'unknown', 'released', 'started'])
    as s (state);
select testing.clock_passes('15 minutes');
select testing.must('admin_1', $$ select * from kernel.pause('calm', 'wait') $$);
create function testing.in_calm(p_key text)
    returns text
    language sql
as $fn$
    select testing.told('worker_2', testing.posting(jsonb_build_object(
        'p_key', p_key, 'p_operation_token', testing.token('of worker_2')), 'calm'))
$fn$;
select is(testing.in_calm(s.key), s.told, format('while the class is paused: %s', s.key))
from (values
    ('new', 'paused'), ('released', 'paused'), ('pending', 'paused'),
    ('completed', 'ok replay completed 3 started'), ('failed', 'ok replay failed 3 started'),
    ('unknown', 'ok unknown unknown 3 started'), ('started', 'ok unknown unknown 3 started moved')
) as s (key, told);
set local session authorization worker_2;
select testing.refused(
    testing.posting('{"p_key": "new"}', 'calm'), 'paused', 'which is recorded'
);
reset session authorization;
select testing.must('admin_1', $$ select * from kernel.resume('calm') $$);
select testing.must('worker_1', testing.on_operation(
    'release_operation', '{}', 'pending', 'calm'));
select testing.must('worker_1', testing.on_operation(
    'complete_operation', '{}', o.operation_key, 'calm'))
from (select operation_key from ledger.operation where class = 'calm' and state = 'unknown') as o;
select testing.must('admin_1', $$ select * from kernel.retire_class('calm') $$);
select is(testing.in_calm(s.key), s.told, format('where the class is retired: %s', s.key))
from (values
    ('new', 'illegal'), ('released', 'illegal'), ('pending', 'illegal'),
    ('completed', 'ok replay completed 3 started'), ('failed', 'ok replay failed 3 started')
) as s (key, told);
set local session authorization worker_2;
select testing.refused(
    testing.posting(jsonb_build_object('p_key', s.key), 'calm'), 'illegal',
    'which is recorded: ' || s.key
)
from unnest(array['new', 'released']) as s (key);
reset session authorization;

-- A class with an operation that is open or unknown is not retired.
select testing.class('full_' || s.state) from unnest(array['pending', 'unknown', 'failed'])
    as s (state);
select testing.allows_operations('full_' || s.state) from unnest(array['pending', 'unknown',
    'failed']) as s (state);
select testing.posted(s.state, 'pay-1', 'full_' || s.state) from unnest(array['pending',
    'unknown', 'failed']) as s (state);
select is(
    testing.act('admin_1', testing.call('retire_class',
        jsonb_build_object('p_class', 'full_' || s.state))) ->> 'outcome',
    s.outcome, format('a class with an operation that is %s is retired: %s', s.state, s.outcome)
)
from (values ('pending', 'operation_open'), ('unknown', 'operation_open'), ('failed', 'ok'))
    as s (state, outcome);

-- == misuse =======================================================================================

select testing.ledger_digest(true) as before \gset
set local session authorization worker_1;
select testing.raises(testing.posting(m.changes), m.code, m.message, 'wants ' || m.what)
from (values
    ('{"p_class": null}'::jsonb, 'KN101', 'argument p_class is null', 'a class'),
    ('{"p_class": "No"}', 'KN102', null, 'one with the form of a name'),
    ('{"p_operation_token": null}', 'KN101', 'argument p_operation_token is null', 'a token'),
    ('{"p_kind": null}', 'KN101', 'argument p_kind is null', 'a kind'),
    ('{"p_kind": "Post"}', 'KN102', 'p_kind is not the kind of an operation', 'one in its form'),
    ('{"p_target": null}', 'KN101', 'argument p_target is null', 'a target'),
    ('{"p_target": " "}', 'KN102', 'argument p_target is empty', 'one that is not blank'),
    (jsonb_build_object('p_target', repeat('x', 1001)), 'KN103', null, 'one of 1000 bytes'),
    ('{"p_fingerprint": null}', 'KN101', 'argument p_fingerprint is null', 'a fingerprint'),
    ('{"p_fingerprint": ""}', 'KN102', null, 'one that is not blank'),
    (jsonb_build_object('p_fingerprint', repeat('x', 201)), 'KN103', null, 'one of 200 bytes'),
    ('{"p_key": null}', 'KN101', null, 'a key where there is no campaign'),
    ('{"p_key": ""}', 'KN102', null, 'one that is not empty'),
    (jsonb_build_object('p_key', U&'\00A0\FEFF\2003'), 'KN102', 'argument p_key is empty',
     'one that is not blank to ECMAScript either'),
    ('{"p_key": "fencepost:1"}', 'KN102', 'p_key is not a key of the caller''s',
     'one that is not like the kernel''s'),
    (jsonb_build_object('p_key', repeat('x', 513)), 'KN103', null, 'D14: one of 512 bytes'),
    (jsonb_build_object('p_key', repeat('é', 257)), 'KN103', null, 'bytes, not characters'),
    (jsonb_build_object('p_label', repeat('x', 201)), 'KN103', null, 'a label of 200 bytes'),
    ('{"p_label": " "}', 'KN102', null, 'or none'),
    ('{"p_ordinal": null}', 'KN101', 'argument p_ordinal is null', 'an ordinal'),
    ('{"p_ordinal": 2}', 'KN101', null, 'ordinal 1 where there is no campaign'),
    ('{"p_ordinal": 0}', 'KN104', 'an ordinal of 0 is out of range', 'none below'),
    ('{"p_ordinal": 1001}', 'KN104', null, 'none above 1000'),
    ('{"p_expected": []}', 'KN102', 'argument p_expected is not a jsonb object',
     'to expect an object'),
    ('{"p_expected": {"after": "x"}}', 'KN102', null, 'whose "after" is one'),
    (jsonb_build_object('p_expected', jsonb_build_object('x', repeat('x', 65536))), 'KN103', null,
     'in 65536 bytes'),
    ('{"p_generation": 1}', 'KN101', null, 'all of a lease or nothing'),
    ('{"p_campaign_id": 1, "p_generation": 1}', 'KN101', null, 'its token too')
) as m (changes, code, message, what);
select testing.raises(
    testing.pushing(m.changes), m.code, m.message, 'of a campaign wants ' || m.what
)
from (values
    ('{"p_key": "mine"}'::jsonb, 'KN102', 'a campaign''s operation lives and is named by its lease',
     'no key'),
    ('{"p_lease_for": "1 minute"}', 'KN102', null, 'no lease of its own'),
    ('{"p_expected": null}', 'KN102', null, 'something expected'),
    ('{"p_expected": {"before": 1}}', 'KN102', null, 'to say what comes after'),
    ('{"p_campaign_id": 123456789}', 'KN108', null, 'a campaign that there is')
) as m (changes, code, message, what);
-- D14: what fits is taken: a key of 512 bytes, a target of 1000, a fingerprint and a label of 200.
reset session authorization;
select is(testing.ledger_digest(true), :'before', 'has written nothing');
select is(
    testing.told('worker_1', testing.posting(jsonb_build_object(
        'p_key', repeat('é', 256), 'p_target', 'https://' || repeat('x', 992),
        'p_fingerprint', repeat('x', 200), 'p_label', repeat('x', 200)))),
    'ok owner pending 1 moved', 'D14: what fits is taken'
);
set local session authorization worker_1;
select set_config('transaction_read_only', 'on', true);
select testing.raises(testing.posting(), 'KN112', null, 'wants a transaction that may write');
reset session authorization;

select finish();
rollback;
