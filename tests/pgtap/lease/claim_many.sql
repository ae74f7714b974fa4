-- kernel.claim_many hands several ready campaigns to one worker, each under a lease of its own.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
select plan(42);

select testing.callable_by('kernel.claim_many', 'worker');

create function testing.many(p_names text, p_class text default 'fix', p_more text default '')
    returns text
    language sql
as $fn$
    select format('select * from kernel.claim_many(p_class => %L, p_tokens => %L%s)', p_class,
                  (select array_agg(testing.token(n.name) order by n.place)
                   from string_to_table(p_names, ' ') with ordinality as n (name, place)),
                  p_more)
$fn$;

comment on function testing.many(text, text, text) is
    'A call with the tokens of these names, separated by blanks.';

-- == what it hands out ============================================================================

set local session authorization worker_1;
select is_empty(testing.many('a b'), 'returns no row where nothing is ready');
select testing.open(t) from unnest(array['one', 'two', 'three']) as t;
select results_eq(
    testing.many('a b', p_more => $$, p_label => 'w1', p_lease_for => '20 minutes'$$),
    $$ select 'ok'::text, false, true, null::text, 'fix'::text, testing.id(t.target), 1::bigint,
              'leased'::text, '2026-09-01 03:20+00'::timestamptz, null::text, 1,
              interval '1 hour', '2026-09-02 03:00+00'::timestamptz
       from (values (1, 'one'), (2, 'two')) as t (place, target) order by t.place $$,
    'returns a lease for each token, in their order, the oldest campaign first'
);
select results_eq(
    $$ select c.target, c.state, c.generation, c.lease_principal, c.lease_label, c.lease_expires_at,
              c.lease_token_sha256
       from unnest(array['one', 'two', 'three']) as t (target),
            testing.campaign(t.target) as c order by c.campaign_id $$,
    $$ values ('one'::text, 'leased'::text, 1::bigint, 'worker_1'::name, 'w1'::text,
               '2026-09-01 03:20+00'::timestamptz, sha256(uuid_send(testing.token('a')))),
              ('two', 'leased', 1, 'worker_1', 'w1', '2026-09-01 03:20+00',
               sha256(uuid_send(testing.token('b')))),
              ('three', 'ready', 0, null, null, null, null) $$,
    'writes each lease with its own token, and leaves what no token is for'
);
select results_eq(
    $$ select t.target, a.attempt_no, a.generation, a.principal, a.family, a.label
       from unnest(array['one', 'two']) as t (target), testing.attempt(t.target) as a $$,
    $$ values ('one'::text, 1, 1::bigint, 'worker_1'::name, 'north'::text, 'w1'::text),
              ('two', 1, 1, 'worker_1', 'north', 'w1') $$,
    'begins an attempt of each'
);
select results_eq(
    $$ select m from unnest(array['one', 'two']) as t (target), testing.moves(t.target) as m $$,
    $$ values ('1 open: none to ready'), ('2 claim: ready to leased'),
              ('1 open: none to ready'), ('2 claim: ready to leased') $$,
    'logs each as a claim'
);
select results_eq(
    format('select campaign_id from (%s) as l', testing.many('c d e')),
    $$ select testing.id('three') $$, 'returns fewer leases where fewer are ready'
);

-- == repeated =====================================================================================

select testing.ledger_digest(true) as before \gset
select results_eq(
    format('select outcome, duplicate, moved, campaign_id, generation from (%s) as l',
           testing.many('a b c')),
    $$ select 'ok'::text, true, false, testing.id(t), 1::bigint
       from unnest(array['one', 'two', 'three']) as t $$,
    'repeated returns the leases as they stand'
);
select is(testing.ledger_digest(true), :'before', 'and writes nothing');
select results_eq(
    format('select duplicate, campaign_id from (%s) as l', testing.many('d c')),
    $$ select true, testing.id('three') $$,
    'returns what is held also after a token for which nothing is ready'
);
select testing.open('four');
select results_eq(
    format('select duplicate, campaign_id from (%s) as l', testing.many('b d a')),
    $$ values (true, testing.id('two')), (false, testing.id('four')), (true, testing.id('one')) $$,
    'tells what it held from what it claims anew'
);

-- == each by itself ===============================================================================

select testing.must('worker_1', testing.holding(
    'renew', jsonb_build_object('p_token', testing.token('b'), 'p_lease_for', '2 hours'), 'two'));
select testing.submit('one', p_token => testing.token('a'));
reset session authorization;
select testing.clock_passes('20 minutes');
select testing.must('reaper_1', testing.call('reap', '{"p_class": "fix"}'));
select results_eq(
    $$ select t.target, testing.state(t.target), testing.generation(t.target)
       from unnest(array['one', 'two', 'three', 'four']) as t (target) $$,
    $$ values ('one'::text, 'attempted'::text, 1::bigint), ('two', 'leased', 1),
              ('three', 'ready', 2), ('four', 'ready', 2) $$,
    'one is submitted, one renewed, the others lost: none takes another with it'
);
set local session authorization worker_1;
select testing.refused(
    testing.holding('submit', jsonb_build_object(
        'p_token', testing.token('b'), 'p_fingerprint', 'patch-1', 'p_result', '{}',
        'p_approach', null), 'three'),
    'illegal', 'the token of one lease is nothing in another campaign'
);
select testing.refused(
    testing.holding('renew', jsonb_build_object('p_token', testing.token('a')), 'two'),
    'not_holder', 'nor that of another lease of the same worker'
);

-- == tokens of others =============================================================================

set local session authorization worker_2;
select testing.refused(
    testing.many('b'), 'not_holder', 'refuses the token of another principal''s lease'
);
select results_eq(
    format('select outcome, campaign_id, generation from (%s) as l', testing.many('f b')),
    $$ values ('ok'::text, testing.id('three'), 3::bigint), ('not_holder', null, null) $$,
    'which does not keep the others from theirs'
);
reset session authorization;
grant fencepost_worker to verifier_1;
select testing.must('admin_1', $$ select * from kernel.enrol(
    p_class => 'fix', p_principal => 'verifier_1', p_duty => 'worker') $$);
select testing.claim_verification('one');
set local session authorization verifier_1;
select testing.refused(
    testing.many('verifier_1'), 'not_holder', 'refuses the token of a lease of another kind'
);

-- == paused, and without seats ====================================================================

reset session authorization;
select testing.must('admin_1', testing.call('pause', '{"p_class": "fix"}'));
set local session authorization worker_1;
select results_eq(
    format('select outcome, duplicate, campaign_id from (%s) as l', testing.many('b g')),
    $$ values ('ok'::text, true, testing.id('two')) $$,
    'returns in a paused class what is held, and claims nothing'
);
reset session authorization;

-- == who may ======================================================================================

set local session authorization worker_elsewhere;
select testing.refused(
    testing.many('a b'), 'forbidden', 'answers one forbidden to who is enrolled in another class'
);
select testing.refused(
    testing.many('a b', 'no-such-class'), 'forbidden', 'whatever there is'
);
reset session authorization;
select testing.refused(testing.many('a b'), 'forbidden', 'to a superuser too');
set local session authorization verifier_2;
select throws_ok(
    testing.many('a b'), '42501', 'permission denied for function claim_many',
    'the server refuses it to a principal of another group'
);

-- == misuse =======================================================================================

reset session authorization;
select testing.ledger_digest(true) as before \gset
set local session authorization worker_2;
select testing.raises(
    testing.many('a', null), 'KN101', 'argument p_class is null', 'wants a class'
);
select testing.raises(
    testing.many('a', c.class), 'KN102', null, 'takes no class ' || quote_ident(c.class)
)
from (values (''), ('Fix'), ('1fix')) as c (class);
select testing.raises(
    format('select * from kernel.claim_many(p_class => %L, p_tokens => %s)', 'fix', t.tokens),
    t.code, t.message, 'takes no ' || t.what
)
from (values
    ('null', 'KN101', 'argument p_tokens is null', 'null for the tokens'),
    ('array[testing.token(''a''), null]', 'KN101', 'argument p_tokens is null', 'null among them'),
    ('''{}''', 'KN104', 'p_tokens is not a list of 1 to 100 different tokens', 'empty list'),
    ('array(select testing.token(n::text) from generate_series(1, 101) as n)', 'KN104',
     'p_tokens is not a list of 1 to 100 different tokens', 'list of 101'),
    ('array[testing.token(''a''), testing.token(''b''), testing.token(''a'')]', 'KN104',
     'p_tokens is not a list of 1 to 100 different tokens', 'token twice'),
    ('array[array[testing.token(''a'')], array[testing.token(''b'')]]', 'KN102',
     'p_tokens is not a list', 'list of lists')
) as t (tokens, code, message, what);
select testing.raises(
    testing.many('a', p_more => format(', p_label => %L', l.label)), l.code, null,
    'takes no label of ' || l.what
)
from (values (repeat('é', 101), 'KN103', '202 bytes'), (' ', 'KN102', 'a blank'))
    as l (label, code, what);
select testing.raises(
    testing.many('a', p_more => format(', p_lease_for => %L', l.length)), 'KN104', null,
    format('grants no leases of "%s"', l.length)
)
from (values ('0'), ('-15 minutes'), ('4 hours 1 second'), ('1 year -359 days -23:59'))
    as l (length);
reset session authorization;
select is(testing.ledger_digest(true), :'before', 'has written nothing');

-- == as many as may be ============================================================================

select testing.class('many');
select testing.open('t' || n, 'many') from generate_series(1, 101) as n;
set local session authorization worker_2;
select is(
    (select count(*) from kernel.claim_many(
         p_class => 'many',
         p_tokens => array(select testing.token(n::text) from generate_series(1, 100) as n))),
    100::bigint, 'claims a hundred at once'
);
reset session authorization;
select is(
    (select count(distinct c.lease_token_sha256) from ledger.campaign as c
     where c.class = 'many' and c.state = 'leased'),
    100::bigint, 'each for a token of its own'
);
set local session authorization worker_2;
select set_config('transaction_read_only', 'on', true);
select testing.raises(testing.many('a'), 'KN112', null, 'wants a transaction that may write');
reset session authorization;

select finish();
rollback;
