-- kernel.begin_operation does what some authority of the class covers, and nothing else: by duty,
-- kind and target, with or without a campaign, so many times an attempt.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
\ir ../../_support/operation.psql
select plan(51);

create function testing.fresh(
    p_kind   text,
    p_target text,
    p_changes jsonb default '{}'
)
    returns jsonb
    language sql
as $fn$
    select jsonb_build_object('p_kind', p_kind, 'p_target', p_target,
                              'p_operation_token', gen_random_uuid()) || p_changes
$fn$;

create function testing.by_the_worker(p_kind text, p_target text, p_of text default 'parser')
    returns text
    language sql
as $fn$
    select testing.act('worker_1', testing.pushing(testing.fresh(p_kind, p_target), p_of))
        ->> 'outcome'
$fn$;

create function testing.alone(
    p_principal name,
    p_kind      text,
    p_target    text
)
    returns text
    language sql
as $fn$
    select testing.act(p_principal, testing.posting(
        testing.fresh(p_kind, p_target, jsonb_build_object('p_key', gen_random_uuid()))))
        ->> 'outcome'
$fn$;

-- == without a campaign ===========================================================================

select is(testing.alone('worker_1', 'http.post', 'https://pay.example'), 'forbidden',
          'where nothing is authorised, nothing may be done');
select testing.authorised('http.post', 'https://pay.example', 'fix', 'worker', true);
select testing.authorised('http.get', 'https://pay.example/v1/*', 'fix', 'worker', true);
select testing.authorised('mail', 'mailto:*', 'fix', 'verifier', true);
select is(testing.alone(t.principal, t.kind, t.target), t.outcome, t.what)
from (values
    ('worker_1', 'http.post', 'https://pay.example', 'ok', 'an exact target is covered'),
    ('worker_1', 'http.post', 'https://pay.example/', 'forbidden', 'but none that is longer'),
    ('worker_1', 'http.post', 'https://pay.exampl', 'forbidden', 'nor shorter'),
    ('worker_1', 'http.post', 'https://PAY.example', 'forbidden', 'nor in capitals'),
    ('worker_1', 'http.put', 'https://pay.example', 'forbidden', 'nor of another kind'),
    ('verifier_1', 'http.post', 'https://pay.example', 'forbidden', 'nor for another duty'),
    ('worker_1', 'http.get', 'https://pay.example/v1/', 'ok', 'a prefix covers itself'),
    ('worker_1', 'http.get', 'https://pay.example/v1/a*b', 'ok', 'and what begins so'),
    ('worker_1', 'http.get', 'https://pay.example/v1', 'forbidden', 'not less'),
    ('worker_1', 'http.get', 'https://pay.example/v2/', 'forbidden', 'nor other things'),
    ('verifier_1', 'mail', 'mailto:ann@example', 'ok', 'a verifier does what it may'),
    ('worker_1', 'mail', 'mailto:ann@example', 'forbidden', 'and no worker'),
    ('worker_elsewhere', 'http.post', 'https://pay.example', 'forbidden', 'nor one of elsewhere')
) as t (principal, kind, target, outcome, what);

select testing.posting('{"p_target": "https://other.example"}') as posting \gset
set local session authorization worker_1;
select testing.refused(:'posting', 'forbidden', 'what is forbidden is recorded');
reset session authorization;

-- One who is both does it as a worker, or as a verifier where only that may.
grant fencepost_verifier to worker_2;
select testing.must('admin_1', $$ select * from kernel.enrol('fix', 'worker_2', 'verifier') $$);
select is(
    testing.act('worker_2', testing.posting(
        testing.fresh(d.kind, d.target, jsonb_build_object('p_key', d.target)))) ->> 'duty',
    d.duty, format('who is both posts %s as %s', d.kind, d.duty)
)
from (values ('http.post', 'https://pay.example', 'worker'), ('mail', 'mailto:bob', 'verifier'))
    as d (kind, target, duty);

-- == of a campaign ================================================================================

select testing.leased();
select is(testing.by_the_worker('http.post', 'https://pay.example'), 'forbidden',
          'what may be done without a campaign is not allowed within one');
select testing.authorised('git.push', '{repository}#refs/fencepost/{campaign}/{attempt}/*');
select testing.authorised('git.tag', '/srv/parser.git#refs/tags/try-{campaign}');
select is(
    testing.alone('worker_1', 'git.push', '/srv/parser.git#refs/fencepost/1/1/x'), 'forbidden',
    'nor the other way round'
);
select is(
    testing.by_the_worker(t.kind, replace(t.target, 'ID', testing.id()::text)), t.outcome, t.what
)
from (values
    ('git.push', '/srv/parser.git#refs/fencepost/ID/1/result', 'ok',
     '{repository}, {campaign} and {attempt} stand for its own'),
    ('git.push', '/srv/parser.git#refs/fencepost/ID0/1/result', 'forbidden', 'no other campaign'),
    ('git.push', '/srv/parser.git#refs/fencepost/ID/2/result', 'forbidden', 'no other attempt'),
    ('git.push', '/srv/parser.git#refs/fencepost/{campaign}/1/result', 'forbidden',
     'nor their names'),
    ('git.push', '/srv/other.git#refs/fencepost/ID/1/result', 'forbidden', 'no other repository'),
    ('git.push', '{repository}#refs/fencepost/ID/1/result', 'forbidden', 'nor its name'),
    ('git.push', '/srv/parser.git#refs/heads/main', 'forbidden', 'never the target''s own place'),
    ('git.tag', '/srv/parser.git#refs/tags/try-ID', 'ok', '{campaign} where nothing follows it'),
    ('git.tag', '/srv/parser.git#refs/tags/try-ID0', 'forbidden', 'nothing may'),
    ('promote', '/srv/parser.git#refs/heads/main', 'forbidden', 'a worker promotes nothing')
) as t (kind, target, outcome, what);
select testing.authorised('any', '*', 'ship', 'worker');    -- there is no target yet
select is(
    (testing.act('admin_1', testing.call('define_target', '{"p_class": "ship",
        "p_target": "parser", "p_location": {"repository": "/srv/parser.git",
        "ref": "refs/heads/main"}, "p_desired_state": {},
        "p_acceptance": {"command": ["true"]}}'))) ->> 'outcome',
    'illegal', 'a target whose own place an authority covers is not defined'
);

-- The superuser's pattern of an own place, which authorise would not have taken.
alter table ledger.authority disable trigger all;
insert into ledger.authority
    (class, duty, kind, target, is_standalone, granted_at, granted_by)
values ('fix', 'worker', 'git.push', '/srv/parser.git#refs/heads/*', false, now(), 'postgres');
select is(
    testing.by_the_worker('git.push', '/srv/parser.git#refs/heads/main'), 'forbidden',
    'not even where an authority covered the target''s own place'
);
select is(
    testing.by_the_worker('git.push', '/srv/parser.git#refs/heads/other'), 'ok',
    'which is the one ref that it spares'
);
delete from ledger.authority where granted_by = 'postgres';

-- A target without a repository: its place is target:NAME, and {repository} stands for nothing.
select testing.clear();
select testing.must('admin_1', testing.call('define_target', '{"p_class": "fix",
    "p_target": "plain", "p_location": {"url": "https://plain.example"}, "p_desired_state": {},
    "p_acceptance": {"command": ["true"]}}'));
select testing.leased('plain');
select testing.authorised('set', 'plain:*');
select is(
    testing.by_the_worker(t.kind, t.target, 'plain'), t.outcome, t.what
)
from (values
    ('git.push', '#refs/fencepost/1/1/x', 'forbidden', 'no {repository}, no target'),
    ('set', 'plain:color', 'ok', 'any kind of target will do'),
    ('set', 'target:plain', 'forbidden', 'but its own place')
) as t (kind, target, outcome, what);

-- == how many =====================================================================================

select testing.clear();
select testing.authorised('note', 'notes/*', 'fix', 'worker', false, 2);
select testing.leased('counted');
select is(testing.by_the_worker('note', 'notes/' || t.n, 'counted'), t.outcome,
          format('of two, %s is answered %s', t.n, t.outcome))
from (values (1, 'ok'), (2, 'ok'), (3, 'limit')) as t (n, outcome);
set local session authorization worker_1;
select testing.refused(
    testing.pushing(testing.fresh('note', 'notes/4'), 'counted'), 'limit', 'which is recorded'
);
reset session authorization;
select is(testing.by_the_worker('note', 'notes/1', 'counted'), 'ok',
          'one that is there already counts once');
select testing.must('worker_1', testing.holding('fail', '{"p_reason": "no"}', 'counted'));
select testing.clock_passes('1 hour');
select testing.claim('counted');
select is(testing.by_the_worker('note', 'notes/' || t.n, 'counted'), t.outcome,
          format('of the next attempt''s two, %s is answered %s', t.n, t.outcome))
from (values (1, 'ok'), (2, 'ok'), (3, 'limit')) as t (n, outcome);
-- Released ones do not count.
select testing.must('worker_1', testing.holding('fail', '{"p_reason": "no"}', 'counted'));
select testing.clock_passes('1 hour');
select testing.claim('counted');
select testing.pushed('released', 'counted', 'fix', '{"p_kind": "note", "p_target": "notes/1"}');
select is(testing.by_the_worker('note', 'notes/' || t.n, 'counted'), t.outcome,
          format('after one that was released, %s is answered %s', t.n, t.outcome))
from (values (2, 'ok'), (3, 'ok'), (4, 'limit')) as t (n, outcome);
-- The most generous of several decides; and only that.
select testing.authorised('note', 'notes/4*');
select is(testing.by_the_worker('note', 'notes/' || t.n, 'counted'), t.outcome,
          format('with another authority for 4, %s is answered %s', t.n, t.outcome))
from (values (4, 'ok'), (5, 'limit')) as t (n, outcome);

-- == what is taken away ===========================================================================

select testing.pushed('pending', 'counted', 'fix', '{"p_kind": "note", "p_target": "notes/44"}',
                      'of note')
    as key \gset
select testing.must('admin_1', testing.call('deauthorise', '{"p_class": "fix",
    "p_duty": "worker", "p_kind": "note", "p_target": "notes/4*"}'));
select is(testing.by_the_worker('note', 'notes/45', 'counted'), 'limit',
          'what is not authorised any more is not begun');
select testing.as_if_committed();
select is(
    testing.told('worker_1', testing.on_operation(f.name, f.changes, :'key', 'fix', 'of note')),
    f.told, 'what was begun before is: ' || f.name
)
from (values
    ('start_operation', '{}'::jsonb, 'ok pending 2 started'),
    ('complete_operation', '{"p_read_back": {"commit": "tip-1"}}',
     'ok completed 3 started moved')
) as f (name, changes, told);

select finish();
rollback;
