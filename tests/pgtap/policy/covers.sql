-- ledger.covers says whether a target pattern covers a target; ledger.could_cover whether it would
-- for some campaign and attempt; ledger.authority_over what allows an operation.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/operation.psql
select plan(81);

-- == covers =======================================================================================

select is(
    ledger.covers(c.pattern, c.target, 17, 2, '/srv/a.git'), c.covers,
    format('%s covers %s: %s', c.pattern, c.target, c.covers)
)
from (values
    ('x', 'x', true), ('x', 'xy', false), ('xy', 'x', false), ('x', 'X', false),
    ('x*', 'x', true), ('x*', 'xy', true), ('x*', 'x*', true), ('x*', 'wx', false),
    ('*', 'anything', true), ('*', '', true), ('x.y', 'xzy', false), ('x%', 'xy', false),
    ('x_', 'xy', false), ('x?', 'x', false),
    ('{campaign}', '17', true), ('{campaign}', '1', false), ('{campaign}', '{campaign}', false),
    ('c{campaign}*', 'c17', true), ('c{campaign}*', 'c170', true), ('c{campaign}/*', 'c170', false),
    ('{attempt}-{campaign}-{attempt}', '2-17-2', true), ('{attempt}', '17', false),
    ('{repository}', '/srv/a.git', true), ('{repository}#*', '/srv/a.git#b', true),
    ('{repository}#*', '/srv/a.git', false), ('{repository}*', '/srv/a.git.b', true),
    ('{repository}', '{repository}', false)
) as c (pattern, target, covers);
select is(
    ledger.covers('{repository}#{campaign}', r.repository || '#17', 17, 2, r.repository), true,
    format('a repository named %s stands for itself', r.repository)
)
from unnest(array['a{campaign}', '{attempt}', '*', 'a*', '{repository}', 'a\1', ''])
    as r (repository);
select is(
    ledger.covers('{repository}#x', t.target, 17, 2, 'a*'), t.covers,
    format('and covers no more by that: %s', t.target)
)
from (values ('a*#x', true), ('ab#x', false), ('a', false)) as t (target, covers);
select is(
    ledger.covers(c.pattern, c.target), c.covers,
    format('without a campaign %s covers %s: %s', c.pattern, c.target, c.covers)
)
from (values ('x{campaign}', 'x17', false), ('{repository}#x', '#x', false), ('x*', 'xy', true))
    as c (pattern, target, covers);

-- == could_cover ==================================================================================

select is(
    ledger.could_cover(c.pattern, '/srv/a.git#refs/heads/v1.7', '/srv/a.git'), c.could,
    format('%s could cover it: %s', c.pattern, c.could)
)
from (values
    ('/srv/a.git#refs/heads/v1.7', true), ('/srv/a.git#refs/heads/v1.', false),
    ('/srv/a.git#refs/heads/v1x7', false), ('/srv/a.git#refs/heads/v{campaign}.{attempt}', true),
    ('/srv/a.git#refs/heads/v{campaign}*', true), ('/srv/a.git#refs/heads/{campaign}', false),
    ('{repository}#refs/heads/v1.7', true), ('{repository}#refs/*', true),
    ('{repository}*', true), ('{repository}x*', false), ('*', true), ('/*', true), ('b*', false),
    ('srv/a.git#refs/heads/v1.7', false), ('/srv/a.git#refs/heads/v1.7x', false),
    ('/srv/a.git#refs/tags/*', false), ('.*', false), ('/srv/a(.git)?#refs/heads/v1.7', false),
    ('/srv/a.git#refs/heads/v{attempt}.{attempt}', true)
) as c (pattern, could);
select is(
    ledger.could_cover('{repository}#m', r.repository || '#m', r.repository), true,
    format('a repository named %s is read to the letter', r.repository)
)
from unnest(array['a+b', '(', '[a', '\d', '{campaign}', '^', '$', '|', '***:x']) as r (repository);
select is(ledger.could_cover('{repository}#m', 'axb#m', 'a.b'), false, 'a dot is a dot');
select is(ledger.could_cover('{repository}#m', '#m', null), false, 'no repository, no target');

-- Whatever covers some target for some campaign could cover it.
select is_empty(
    $$ select p.pattern, t.target, c.campaign, a.attempt
       from unnest(array['*', 'r#*', '{repository}#*', '{repository}#{campaign}',
                         '{repository}#{campaign}*', '{repository}#{attempt}/{campaign}/*', 'r#1',
                         'r#{attempt}', '{campaign}*', '{repository}*']) as p (pattern)
       cross join unnest(array['r', 'r#', 'r#1', 'r#12', 'r#12x', 'r#2/12/', 'r#2/12/x', '12',
                               '12x', 'r#{campaign}']) as t (target)
       cross join unnest(array[1, 12, 2]) as c (campaign)
       cross join unnest(array[1, 2]) as a (attempt)
       where ledger.covers(p.pattern, t.target, c.campaign, a.attempt, 'r')
         and not ledger.could_cover(p.pattern, t.target, 'r') $$,
    'what could not cover a target covers it for no campaign and attempt'
);

-- == authority_over ===============================================================================

select testing.authorised('k', 'x*', 'fix', 'worker', false, 3);
select testing.authorised('k', 'xy*', 'fix', 'worker', false, 5);
select testing.authorised('k', 'xyz', 'fix', 'worker', false, 4);
select testing.authorised('k', 'xyzz', 'fix');
select testing.authorised('k', 'xa', 'fix', 'worker', true);
select is(
    (ledger.authority_over('fix', 'worker', 'k', a.target, 1, 1, 'r')).target, a.pattern,
    format('the most generous authority over %s is %s', a.target, a.pattern)
)
from (values ('x', 'x*'), ('xy', 'xy*'), ('xyz', 'xy*'), ('xyzz', 'xyzz'), ('y', null),
             ('xa', 'x*')) as a (target, pattern);
select is(
    (ledger.authority_over('fix', a.duty, a.kind, 'xa')).target, a.pattern,
    format('without a campaign %s has over %s: %s', a.duty, a.kind, a.pattern)
)
from (values ('worker', 'k', 'xa'), ('verifier', 'k', null), ('worker', 'l', null))
    as a (duty, kind, pattern);
select is(
    (ledger.authority_over('ship', 'worker', 'k', 'xa')).target, null, 'each class has its own'
);

select finish();
rollback;
