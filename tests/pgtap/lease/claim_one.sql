-- Which campaign a claim takes: the oldest, where each step of priority is a head start in time.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
select plan(18);

create function testing.ready(p_target text, p_class text, p_priority integer default 0)
    returns void
    language plpgsql
as $fn$
begin
    perform testing.open(p_target, p_class);
    if p_priority > 0 then
        perform testing.must('admin_1', testing.on_campaign(
            'set_priority', jsonb_build_object('p_priority', p_priority), p_target, p_class));
    end if;
end
$fn$;

create function testing.taken(
    p_class  text,
    p_worker name default 'worker_1',
    p_token  uuid default gen_random_uuid()
)
    returns text
    language plpgsql
as $fn$
declare
    v_lease jsonb := testing.act(p_worker, format(
        'select * from kernel.claim(p_class => %L, p_token => %L)', p_class, p_token));
begin
    return (
        select c.target from ledger.campaign as c
        where c.class = p_class and c.campaign_id = (v_lease ->> 'campaign_id')::bigint
    );
end
$fn$;

comment on function testing.taken(text, name, uuid) is
    'Claims, and says which target; null for none.';

create function testing.order_of(p_class text)
    returns text
    language plpgsql
as $fn$
declare
    v_target text;
    v_order  text;
begin
    loop
        v_target := testing.taken(p_class);
        exit when v_target is null;
        v_order := concat_ws(', ', v_order, v_target);
    end loop;
    return v_order;
end
$fn$;

comment on function testing.order_of(text) is 'Claims all that is ready: the targets, in order.';

-- == without priorities ===========================================================================

select testing.class('plain');
select testing.clock_is('2026-09-01 05:00+00');
select testing.ready('third', 'plain');
select testing.clock_is('2026-09-01 03:00+00');
select testing.ready('first', 'plain');
select testing.clock_is('2026-09-01 04:00+00');
select testing.ready('second', 'plain');
select testing.ready('second too, made later', 'plain');
select testing.clock_is('2026-09-01 06:00+00');
select is(
    testing.order_of('plain'), 'first, second, second too, made later, third',
    'takes what has been due longest, of equals what was opened first'
);

-- == a head start in time =========================================================================

select testing.class('head', '{"priority_step": "1 hour"}');
select testing.clock_is('2026-09-01 03:00+00');
select testing.ready('0 at 03:00', 'head');
select testing.clock_is('2026-09-01 03:30+00');
select testing.ready('1 at 03:30', 'head', 1);
select testing.clock_is('2026-09-01 04:30+00');
select testing.ready('1 at 04:30', 'head', 1);
select testing.ready('2 at 04:30', 'head', 2);
select testing.ready('0 at 04:30', 'head', 0);
select testing.clock_is('2026-09-01 07:00+00');
select testing.ready('3 at 07:00', 'head', 3);
select is(
    testing.order_of('head'),
    -- as if due at     02:30       02:30       03:00       03:30       04:00       04:30
    '2 at 04:30, 1 at 03:30, 0 at 03:00, 1 at 04:30, 3 at 07:00, 0 at 04:30',
    'takes a campaign as if it had been due a priority_step earlier for each step of priority; of '
    'equals the higher'
);

select testing.clear('head');
select testing.must('admin_1', $$ select * from kernel.define_class(
    p_class => 'head', p_policy => '{"backoff_jitter": 0, "priority_step": "0"}') $$);
select testing.clock_is('2026-09-02 03:00+00');
select testing.ready('older', 'head', 0);
select testing.clock_is('2026-09-02 03:01+00');
select testing.ready('younger', 'head', 3);
select is(
    testing.order_of('head'), 'older, younger',
    'reads the length of a step live: 0 is no head start'
);

-- == nothing starves ==============================================================================

-- Every hour one of the highest priority comes, and one worker takes one an hour.
select testing.class('busy', '{"priority_step": "1 hour"}');
select testing.clock_is('2026-09-03 00:00+00');
select testing.ready('patient', 'busy', 0);
create table testing.hourly (hour integer, target text);
do $do$
begin
    for v_hour in 0..5 loop
        perform testing.clock_is('2026-09-03 00:00+00'::timestamptz + v_hour * interval '1 hour');
        perform testing.ready('urgent ' || v_hour, 'busy', 3);
        insert into testing.hourly select v_hour, testing.taken('busy');
    end loop;
end
$do$;
select results_eq(
    $$ select h.hour, h.target from testing.hourly as h order by h.hour $$,
    $$ values (0, 'urgent 0'), (1, 'urgent 1'), (2, 'urgent 2'), (3, 'urgent 3'), (4, 'patient'),
              (5, 'urgent 4') $$,
    'lets nothing starve: three steps later the oldest comes before what is new and urgent'
);

-- == not before its time ==========================================================================

select testing.class('later', '{"backoff_base": "1 hour", "backoff_cap": "1 hour"}');
select testing.clock_is('2026-09-04 03:00+00');
select testing.ready('urgent', 'later', 3);
select testing.must('worker_1', $$ select * from kernel.claim(
    p_class => 'later', p_token => testing.token('worker_1')) $$);
select testing.must('worker_1', testing.holding(
    'fail', '{"p_reason": "nothing helped"}', 'urgent', 'later'));
select testing.clock_passes('59 minutes');
select is(testing.taken('later'), null, 'takes no campaign before its time, however urgent');
select testing.ready('plain', 'later');
select is(testing.taken('later'), 'plain', 'and takes what is due meanwhile');
select testing.clock_passes('1 minute');
select is(testing.taken('later'), 'urgent', 'until its time has come');

-- == a campaign that comes back keeps its age and its priority ====================================

select testing.class('back');
select testing.clock_is('2026-09-05 03:00+00');
select testing.ready('old', 'back', 1);
select testing.must('worker_1', $$ select * from kernel.claim(
    p_class => 'back', p_token => testing.token('worker_1')) $$);
select testing.clock_passes('10 minutes');
select testing.ready('young', 'back', 1);
select testing.clock_passes('5 minutes');
select testing.must('reaper_1', $$ select * from kernel.reap(p_class => 'back') $$);
select results_eq(
    $$ select c.state, c.priority, c.next_attempt_at from testing.campaign('old', 'back') as c $$,
    $$ values ('ready'::text, 1::smallint, '2026-09-05 03:00+00'::timestamptz) $$,
    'a campaign that was taken back keeps its age and its priority'
);
select is(
    testing.taken('back', 'worker_1', testing.token('again')), 'old',
    'and is taken before what came later'
);
select testing.must('worker_1', testing.holding(
    'release', jsonb_build_object('p_token', testing.token('again')), 'old', 'back'));
select is(testing.taken('back', 'worker_2'), 'old', 'so does one that was given back');
select is(testing.taken('back'), 'young', 'before the other');

-- == who has judged a campaign does not work on it ================================================

select testing.class('both', '{"backoff_base": "1 hour", "backoff_cap": "1 hour"}');
grant fencepost_worker to verifier_1;
select testing.must('admin_1', $$ select * from kernel.enrol(
    p_class => 'both', p_principal => 'verifier_1', p_duty => 'worker') $$);
select testing.clock_is('2026-09-06 03:00+00');
select testing.verifying('judged', 'both');
select testing.judge('rejected', 'judged', 'both');
select testing.clock_passes('30 minutes');
select testing.ready('later', 'both');
select testing.must('worker_2', $$ select * from kernel.claim(
    p_class => 'both', p_token => testing.token('worker_2')) $$);
select testing.must('worker_2', testing.holding(
    'fail', jsonb_build_object('p_reason', 'so', 'p_token', testing.token('worker_2')), 'later',
    'both'));
select testing.clock_passes('30 minutes');
select is(
    testing.taken('both', 'verifier_1'), null,
    'offers no campaign to who has judged it before, nor the next before its time'
);
select testing.ready('fresh', 'both');
select is(testing.taken('both', 'verifier_1'), 'fresh', 'but the next one behind it');
select is(testing.taken('both', 'worker_2'), 'judged', 'which another worker takes');

-- == a crowd in backoff costs nothing =============================================================

-- What the index hands to a claim is counted by the server, in this very transaction.
create function testing.index_reads()
    returns bigint
    language sql
as $fn$
    select sum(pg_stat_get_xact_tuples_returned(i.indexrelid))::bigint
    from pg_index as i
    where i.indrelid = 'ledger.campaign'::regclass
$fn$;

create function testing.reads_of_a_claim(p_class text)
    returns bigint
    language plpgsql
as $fn$
declare
    v_before bigint := testing.index_reads();
begin
    perform testing.taken(p_class);
    return testing.index_reads() - v_before;
end
$fn$;

comment on function testing.reads_of_a_claim(text) is
    'Claims one campaign: how many entries of the indexes of ledger.campaign that read.';

-- In a class of a name of its own, since an index keeps what other runs rolled back; and the clock
-- is put back in between, since it keeps every version of a row too: none of the crowd is due then.
set local enable_seqscan = off;
select 'crowd_' || pg_current_xact_id() as crowd \gset
select testing.class(:'crowd');
select testing.clock_is('2026-09-07 03:00+00');
select testing.ready('one', :'crowd');
select testing.reads_of_a_claim(:'crowd') as reads_alone \gset
select testing.clock_is('2026-09-08 03:00+00');
select testing.ready('urgent ' || n, :'crowd', 3) from generate_series(1, 100) as n;
select count(testing.must('worker_1', format(
    'select * from kernel.claim(p_class => %L, p_token => %L)', :'crowd',
    testing.token('urgent ' || n)))) as claimed
from generate_series(1, 100) as n;
select count(testing.must('worker_1', testing.holding('fail', jsonb_build_object(
    'p_reason', 'nothing helped', 'p_token', t.token), c.target, :'crowd'))) as failed
from ledger.campaign as c
join (select testing.token('urgent ' || n) as token from generate_series(1, 100) as n) as t
    on c.lease_token_sha256 = ledger.token_digest(t.token)
where c.class = :'crowd' and c.state = 'leased';
select testing.clock_is('2026-09-07 04:00+00');
select testing.ready('two', :'crowd');
select is(
    (select count(*) from ledger.campaign as c
     where c.class = :'crowd' and c.state = 'ready' and c.priority = 3
       and c.next_attempt_at > testing.clock()),
    100::bigint, 'a hundred of the highest priority wait for their time'
);
select cmp_ok(
    testing.reads_of_a_claim(:'crowd'), '<=', :reads_alone + 5::bigint,
    'and a claim reads no entry of theirs'
);
select is(testing.state('two', :'crowd'), 'leased', 'to take what is due');
set local enable_seqscan = on;

-- == set by nobody but an admin ===================================================================

select is(
    (select count(*) from ledger.campaign as c where c.class = 'plain' and c.priority <> 0),
    0::bigint, 'opens campaigns without a head start'
);

select finish();
rollback;
