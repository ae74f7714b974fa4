-- kernel.authorise allows a duty to do operations of a kind to some targets, but to no target's own
-- place.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
select plan(59);

select testing.callable_by('kernel.authorise', 'admin');
create function testing.allowing(p_changes jsonb default '{}')
    returns text
    language sql
as $fn$
    select testing.call('authorise', '{"p_class": "fix", "p_duty": "worker", "p_kind": "git.push",
        "p_target": "{repository}#refs/fencepost/{campaign}/*"}'::jsonb || p_changes)
$fn$;

-- == what it writes ===============================================================================

set local session authorization admin_1;
select results_eq(
    testing.allowing('{"p_limit": 3}'),
    $$ values ('ok'::text, false, false, null::text, 'fix'::text, null::bigint, null::bigint,
               null::text, null::timestamptz, null::text) $$,
    'answers ok'
);
select testing.duplicate(testing.allowing('{"p_limit": 3}'), 'repeated it is a duplicate');
reset session authorization;
select row_eq(
    $$ select a.* from ledger.authority as a where a.kind = 'git.push' $$,
    row('fix'::text, 'worker'::text, 'git.push'::text,
        '{repository}#refs/fencepost/{campaign}/*'::text, false, 3, testing.clock(),
        'admin_1'::name)::ledger.authority,
    'the authority stands, by whom and since when'
);
select testing.clock_passes('1 hour');
select testing.must('admin_1', testing.allowing());
select row_eq(
    $$ select a.attempt_limit, a.granted_at from ledger.authority as a where a.kind = 'git.push' $$,
    row(null::integer, testing.clock()), 'another limit takes the place of the one before'
);
select testing.must('admin_1', testing.allowing(
    '{"p_target": "/srv/x#refs/y", "p_is_standalone": "true"}'));
select results_eq(
    $$ select c.class, c.subject, c.by_principal, c.before ->> 'attempt_limit',
              c.after ->> 'attempt_limit', c.after ->> 'is_standalone'
       from testing.config('authorise') as c where c.after ->> 'kind' = 'git.push' $$,
    $$ values
       ('fix'::text, 'worker git.push {repository}#refs/fencepost/{campaign}/*'::text,
        'admin_1'::name, null::text, '3'::text, 'false'::text),
       ('fix', 'worker git.push {repository}#refs/fencepost/{campaign}/*', 'admin_1', '3', null,
        'false'),
       ('fix', 'worker git.push /srv/x#refs/y', 'admin_1', null, null, 'true') $$,
    'each change is in the log of the configuration'
);

-- With a campaign or without one: not both by one row, and not silently the other.
set local session authorization admin_1;
select testing.refused(
    testing.allowing('{"p_target": "/srv/x#refs/y"}'), 'illegal',
    'what is authorised without a campaign is not turned into one with'
);
select testing.allowing('{"p_target": "/srv/x#refs/z"}') as with_campaign \gset
reset session authorization;
select testing.must('admin_1', :'with_campaign');
set local session authorization admin_1;
select testing.refused(
    testing.allowing('{"p_target": "/srv/x#refs/z", "p_is_standalone": "true"}'), 'illegal',
    'nor the other way round'
);
reset session authorization;
select testing.must('admin_1', $$ select * from kernel.deauthorise(
    p_class => 'fix', p_duty => 'worker', p_kind => 'git.push', p_target => '/srv/x#refs/z') $$);

-- == never a target's own place ===================================================================

select testing.target_in('parser', 'fix');
select testing.must('admin_1', testing.call('define_target', '{"p_class": "fix",
    "p_target": "plain", "p_location": {}, "p_desired_state": {},
    "p_acceptance": {"command": ["true"]}}'));
set local session authorization admin_1;
select testing.refused(
    testing.allowing(jsonb_build_object('p_target', t.target) || t.more), 'illegal',
    format('refuses %s %s', t.target, t.more)
)
from (values
    ('/srv/parser.git#refs/heads/main', '{}'::jsonb), ('/srv/parser.git#refs/heads/*', '{}'),
    ('{repository}#refs/heads/main', '{}'), ('{repository}*', '{}'), ('*', '{}'), ('/srv/*', '{}'),
    ('target:plain', '{}'), ('target:*', '{}'), ('target:p*', '{"p_kind": "set"}'),
    ('/srv/parser.git#refs/heads/*', '{"p_duty": "verifier"}'),
    ('/srv/parser.git#refs/heads/*', '{"p_is_standalone": "true"}')
) as t (target, more);
reset session authorization;
select is(
    testing.act('admin_1', testing.allowing(jsonb_build_object('p_target', t.target) || t.more))
        ->> 'outcome', 'ok', format('takes %s %s', t.target, t.more)
)
from (values
    ('{repository}#refs/heads/maintenance', '{}'::jsonb), ('{repository}#refs/heads/m', '{}'),
    ('/srv/parser#*', '{}'), ('target:other', '{}'),
    ('/srv/parser.git#refs/heads/main', '{"p_kind": "promote", "p_duty": "verifier"}'),
    ('*', '{"p_kind": "promote", "p_duty": "verifier"}')
) as t (target, more);

-- The other way round: a target is not defined where an authority could cover it.
create function testing.defining(p_repository text, p_ref text)
    returns text
    language sql
as $fn$
    select testing.call('define_target', jsonb_build_object(
        'p_class', 'fix', 'p_target', 'lexer', 'p_desired_state', '{}'::jsonb,
        'p_location', jsonb_build_object('repository', p_repository, 'ref', p_ref),
        'p_acceptance', '{"command": ["true"]}'::jsonb))
$fn$;
set local session authorization admin_1;
select testing.refused(
    testing.defining(l.repository, l.ref), 'illegal',
    format('a target at %s#%s is not defined', l.repository, l.ref)
)
from (values
    ('/srv/x', 'refs/y'), ('/srv/lexer.git', 'refs/fencepost/1/x'),
    ('/srv/lexer.git', 'refs/heads/maintenance'), ('/srv/parser', 'refs/heads/main')
) as l (repository, ref);
reset session authorization;
select is(
    testing.act('admin_1', testing.defining('/srv/lexer.git', 'refs/heads/main')) ->> 'outcome',
    'ok', 'elsewhere it is'
);
set local session authorization admin_1;
select testing.refused(
    testing.defining('/srv/lexer.git', 'refs/heads/m'), 'illegal', 'nor moved to where one could'
);
reset session authorization;
select is(
    (testing.target('lexer')).location ->> 'ref', 'refs/heads/main', 'it stays where it was'
);
select is(
    testing.act('admin_1', replace(testing.defining('/srv/x', 'refs/y'), '''fix''', '''ship'''))
        ->> 'outcome', 'ok', 'another class''s authorities are its own'
);

-- A campaign goes on at the place where its target was when its bundle was made.
select testing.class('went', '{"promotes": true}');
select testing.verifying('parser', 'went');
select testing.must('admin_1', testing.call('define_target', '{"p_class": "went",
    "p_target": "parser", "p_desired_state": {}, "p_acceptance": {"command": ["true"]},
    "p_location": {"repository": "/srv/parser.git", "ref": "refs/heads/next"}}'));
set local session authorization admin_1;
select testing.refused(
    testing.allowing('{"p_class": "went", "p_target": "/srv/parser.git#refs/heads/main"}'),
    'illegal', 'nor where an open campaign''s target was when it was bundled'
);
reset session authorization;
select testing.must('admin_1', testing.on_campaign('cancel', '{}', 'parser', 'went'));
select is(
    testing.act('admin_1', testing.allowing(
        '{"p_class": "went", "p_target": "/srv/parser.git#refs/heads/main"}')) ->> 'outcome',
    'ok', 'but where one that is closed had been'
);

-- == who, and misuse ==============================================================================

select testing.refused(testing.allowing(), 'forbidden', 'is forbidden to a superuser');
select testing.ledger_digest(true) as before \gset
set local session authorization admin_1;
select testing.raises(testing.allowing(m.changes), m.code, m.message, 'wants ' || m.what)
from (values
    ('{"p_class": null}'::jsonb, 'KN101', 'argument p_class is null', 'a class'),
    ('{"p_class": "nowhere"}', 'KN106', null, 'one that there is'),
    ('{"p_duty": null}', 'KN101', 'argument p_duty is null', 'a duty'),
    ('{"p_duty": "sensor"}', 'KN102', 'duty sensor does no operations', 'worker or verifier'),
    ('{"p_kind": null}', 'KN101', 'argument p_kind is null', 'a kind'),
    ('{"p_kind": "1"}', 'KN102', null, 'in its form'),
    ('{"p_kind": "a b"}', 'KN102', null, 'without spaces'),
    (jsonb_build_object('p_kind', repeat('x', 64)), 'KN102', null, 'of 63 letters'),
    ('{"p_target": null}', 'KN101', 'argument p_target is null', 'a target'),
    ('{"p_target": " "}', 'KN102', null, 'that is not blank'),
    (jsonb_build_object('p_target', repeat('x', 1001)), 'KN103', null, 'of 1000 bytes'),
    ('{"p_target": "a*b"}', 'KN102', 'a target pattern has one "*", at its end',
     'the star at its end'),
    ('{"p_target": "a**"}', 'KN102', null, 'and one alone'),
    ('{"p_target": "x{repository}"}', 'KN102', 'in a target pattern {repository} stands first',
     '{repository} first'),
    ('{"p_target": "{repository}{repository}"}', 'KN102', null, 'and once'),
    ('{"p_is_standalone": null}', 'KN101', 'argument p_is_standalone is null', 'yes or no'),
    ('{"p_is_standalone": "true"}', 'KN102', null, 'no {campaign} without one'),
    ('{"p_is_standalone": "true", "p_target": "x", "p_limit": 1}', 'KN102', null, 'nor a limit'),
    ('{"p_limit": 0}', 'KN104', 'a limit of 0 is out of range', 'one at least'),
    ('{"p_limit": 1000001}', 'KN104', null, 'a million at most'),
    ('{"p_kind": "promote"}', 'KN102', 'only a campaign''s verifier promotes',
     'no worker to promote'),
    ('{"p_kind": "promote", "p_duty": "verifier", "p_target": "x", "p_is_standalone": "true"}',
     'KN102', null, 'nor anybody without a campaign')
) as m (changes, code, message, what);
reset session authorization;
select is(testing.ledger_digest(true), :'before', 'has written nothing');

select finish();
rollback;
