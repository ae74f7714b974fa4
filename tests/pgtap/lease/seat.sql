-- Seats: a class with N of them never has more than N worker leases; verifications have a limit of
-- their own.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
select plan(100);

create function testing.seats(p_class text, p_kind text default 'work')
    returns text
    language sql
    security definer
as $fn$
    select format('%s free, %s held, %s too many',
                  count(*) filter (where s.campaign_id is null),
                  count(*) filter (where s.campaign_id is not null and not s.is_surplus),
                  count(*) filter (where s.is_surplus))
    from ledger.seat as s
    where s.class = p_class and s.kind = p_kind
$fn$;

create function testing.limited(p_class text, p_policy jsonb)
    returns void
    language sql
as $fn$
    select testing.must('admin_1', format(
        'select * from kernel.define_class(p_class => %L, p_policy => %L)', p_class,
        '{"backoff_jitter": 0, "backoff_base": "0", "release_budget": 1000, "promotes": true,
          "attempt_budget": 1000}'::jsonb || p_policy))
$fn$;

create function testing.open_many(p_class text, p_count integer)
    returns void
    language sql
as $fn$
    select testing.open('t' || n, p_class) from generate_series(1, p_count) as n
$fn$;

create function testing.claims(p_class text, p_name text, p_function text default 'claim')
    returns text
    language sql
as $fn$
    select coalesce(testing.act(
        case p_function when 'claim' then 'worker_1' else 'verifier_1' end,
        format('select * from kernel.%I(p_class => %L, p_token => %L)', p_function, p_class,
               testing.token(p_name))
    ) ->> 'outcome', 'no row')
$fn$;

comment on function testing.claims(text, text, text) is
    'Claims under the token of p_name: the outcome, or "no row".';

create function testing.leases(p_class text, p_state text default 'leased')
    returns bigint
    language sql
    security definer
as $fn$
    select count(*) from ledger.campaign as c where c.class = p_class and c.state = p_state
$fn$;

-- == no limit, no seats ===========================================================================

select testing.class('free');
select testing.open_many('free', 3);
select is(
    (select count(*) from generate_series(1, 3) as n
     where testing.claims('free', 'a' || n) = 'ok'),
    3::bigint, 'a class without seats leases whatever is ready'
);
select is(testing.seats('free'), '0 free, 0 held, 0 too many', 'and has no seat');

-- == N seats, N leases ============================================================================

select testing.class('two');
select testing.limited('two', '{"seats": 2}');
select is(testing.seats('two'), '2 free, 0 held, 0 too many', 'a class with two seats has two');
select is(testing.seats('two', 'verification'), '0 free, 0 held, 0 too many', 'of one kind');
select is(testing.claims('two', 'a'), 'no row', 'a claim takes none while nothing is ready');
select is(testing.seats('two'), '2 free, 0 held, 0 too many', 'and leaves both free');
select testing.open_many('two', 4);
select is(testing.claims('two', 'a'), 'ok', 'the first of two seats is taken');
select is(testing.claims('two', 'b'), 'ok', 'and the second');
select is(
    (select count(*) from ledger.seat as s
     join ledger.campaign as c on c.class = s.class and c.campaign_id = s.campaign_id
     where s.class = 'two' and c.state = 'leased'),
    2::bigint, 'each by the campaign that is leased'
);
select testing.ledger_digest(true) as before \gset
select is(testing.claims('two', 'c'), 'no row', 'a third lease is not granted, ready or not');
select is(testing.claims('two', 'a'), 'ok', 'a claim that is repeated returns its lease');
select is(testing.ledger_digest(true), :'before', 'neither writes anything, not even a refusal');
select is(testing.leases('two'), 2::bigint, 'two seats, two leases');

select testing.clear('two');
select testing.open_many('two', 4);
select is(
    (select count(*) from (
        select (jsonb_populate_recordset(null::kernel.lease, x.leases)).*
        from (select testing.act('worker_1', format(
            'select jsonb_agg(to_jsonb(l)) as leases from kernel.claim_many('
            'p_class => %L, p_tokens => array(select testing.token(n::text) '
            'from generate_series(1, 4) as n)) as l', 'two')) -> 'leases' as leases) as x
     ) as l where l.outcome = 'ok'),
    2::bigint, 'claim_many is given no more than there are seats'
);
select is(testing.leases('two'), 2::bigint, 'two seats, two leases, all at once too');

-- == whatever ends the lease frees the seat =======================================================

create function testing.ends(p_class text, p_ending text)
    returns void
    language plpgsql
as $fn$
declare
    v_state text;
begin
    case p_ending
        when 'submit' then perform testing.submit('parser', p_class);
        when 'fail' then perform testing.must('worker_1', testing.holding(
            'fail', '{"p_reason": "nothing helped"}', 'parser', p_class));
        when 'release' then perform testing.must('worker_1', testing.holding(
            'release', '{}', 'parser', p_class));
        when 'accept' then perform testing.judge('accepted', 'parser', p_class);
        when 'reject' then perform testing.judge('rejected', 'parser', p_class);
        when 'abstain' then perform testing.judge('unverifiable', 'parser', p_class);
        when 'promote' then
            perform testing.moved('parser', p_class);
            perform testing.must('verifier_1', testing.promotion('{}', 'parser', p_class));
        when 'outdate' then perform testing.must('verifier_1', testing.holding(
            'outdate', '{"p_reason": "somebody else pushed"}', 'parser', p_class));
        when 'lose' then
            perform testing.clock_passes('15 minutes');
            perform testing.must('reaper_1', testing.call(
                'reap', jsonb_build_object('p_class', p_class)));
        when 'park', 'cancel' then perform testing.must('admin_1', testing.on_campaign(
            p_ending, '{}', 'parser', p_class));
        when 'dismiss' then
            v_state := testing.state('parser', p_class);
            perform testing.must('admin_1', testing.call('dismiss', jsonb_build_object(
                'p_class', p_class,
                'p_principal', case v_state when 'leased' then 'worker_1' else 'verifier_1' end,
                'p_duty', case v_state when 'leased' then 'worker' else 'verifier' end)));
    end case;
end
$fn$;

comment on function testing.ends(text, text) is
    'Ends the lease of "parser", whoever holds it, by that ending.';

select testing.class('w_' || e.ending)
from unnest(array['submit', 'fail', 'release', 'lose', 'park', 'cancel', 'dismiss']) as e (ending);
select testing.limited('w_' || e.ending, '{"seats": 1}')
from unnest(array['submit', 'fail', 'release', 'lose', 'park', 'cancel', 'dismiss']) as e (ending);
select collect_tap(
    (select is(testing.seats('w_' || e.ending), '0 free, 1 held, 0 too many',
               format('a worker sits in the seat until %s', e.ending))
     from (select testing.leased('parser', 'w_' || e.ending)) as leased),
    (select is(testing.seats('w_' || e.ending), '1 free, 0 held, 0 too many',
               format('%s frees the worker''s seat', e.ending))
     from (select testing.ends('w_' || e.ending, e.ending)) as ended)
)
from unnest(array['submit', 'fail', 'release', 'lose', 'park', 'cancel', 'dismiss']) as e (ending);

select testing.class('v_' || e.ending)
from unnest(array['reject', 'abstain', 'lose', 'park', 'cancel', 'dismiss']) as e (ending);
select testing.limited('v_' || e.ending, '{"verification_limit": 1}')
from unnest(array['reject', 'abstain', 'lose', 'park', 'cancel', 'dismiss']) as e (ending);
select collect_tap(
    (select is(testing.seats('v_' || e.ending, 'verification'), '0 free, 1 held, 0 too many',
               format('a verifier sits in the seat until %s', e.ending))
     from (select testing.verifying('parser', 'v_' || e.ending)) as leased),
    (select is(testing.seats('v_' || e.ending, 'verification'), '1 free, 0 held, 0 too many',
               format('%s frees the verifier''s seat', e.ending))
     from (select testing.ends('v_' || e.ending, e.ending)) as ended)
)
from unnest(array['reject', 'abstain', 'lose', 'park', 'cancel', 'dismiss']) as e (ending);

select testing.class('p_' || e.ending)
from unnest(array['promote', 'outdate', 'lose', 'park', 'cancel', 'dismiss']) as e (ending);
select testing.limited('p_' || e.ending, '{"verification_limit": 1}')
from unnest(array['promote', 'outdate', 'lose', 'park', 'cancel', 'dismiss']) as e (ending);
select collect_tap(
    (select is(testing.seats('p_' || e.ending, 'verification'), '0 free, 1 held, 0 too many',
               format('an acceptance goes on in the same seat, until %s', e.ending))
     from (select testing.promoting('parser', 'p_' || e.ending)) as leased),
    (select is(testing.seats('p_' || e.ending, 'verification'), '1 free, 0 held, 0 too many',
               format('%s frees the promoter''s seat', e.ending))
     from (select testing.ends('p_' || e.ending, e.ending)) as ended)
)
from unnest(array['promote', 'outdate', 'lose', 'park', 'cancel', 'dismiss']) as e (ending);

-- Where nothing is promoted the acceptance itself ends the lease.
select testing.class('v_accept');
select testing.limited('v_accept', '{"verification_limit": 1, "promotes": false}');
select testing.verifying('parser', 'v_accept');
select testing.ends('v_accept', 'accept');
select is(
    testing.seats('v_accept', 'verification'), '1 free, 0 held, 0 too many',
    'accept frees the seat where nothing is promoted'
);

-- A promotion that is taken up sits down again.
select is(testing.claims('p_lose', 'taken up', 'claim_promotion'), 'ok', 'a promotion taken up');
select is(
    testing.seats('p_lose', 'verification'), '0 free, 1 held, 0 too many', 'sits down again'
);

-- A renewal and an act within the state keep it.
select count(testing.claims('w_fail', 'keeps it'));
select testing.must('worker_1', testing.holding(
    'renew', jsonb_build_object('p_token', testing.token('keeps it')), 'parser', 'w_fail'));
select testing.must('admin_1', testing.on_campaign(
    'set_priority', '{"p_priority": 2}', 'parser', 'w_fail'));
select testing.must('admin_1', testing.call('new_epoch', jsonb_build_object(
    'p_class', 'w_fail', 'p_token', testing.token('lost'))));
select is(
    testing.seats('w_fail'), '0 free, 1 held, 0 too many',
    'renewals, priorities and a new epoch leave the seat to its holder'
);
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', testing.call('reap', '{"p_class": "w_fail"}'));
select is(
    testing.seats('w_fail'), '1 free, 0 held, 0 too many',
    'the seat of a dead holder comes back with its lease'
);

-- == two limits ===================================================================================

select testing.class('both');
select testing.limited('both', '{"seats": 1, "verification_limit": 1}');
select testing.verifying('judged', 'both');
select testing.open_many('both', 2);
select is(testing.claims('both', 'a'), 'ok', 'verifiers do not take the workers'' seats');
select testing.submit('t1', 'both', p_token => testing.token('a'));
select is(
    testing.claims('both', 'v', 'claim_verification'), 'no row',
    'with one verification under way another is not begun, be a worker''s seat free or not'
);
select is(testing.claims('both', 'b'), 'ok', 'and workers hold theirs');
select testing.must('verifier_1', testing.holding('judge', jsonb_build_object(
    'p_verdict', 'unverifiable', 'p_reason', 'no network'), 'judged', 'both'));
select testing.open('t3', 'both');
select is(
    testing.claims('both', 'c'), 'no row', 'a verifier''s seat that is free is none for a worker'
);
select is(
    testing.claims('both', 'v', 'claim_verification'), 'ok',
    'workers in all their seats do not starve the verifiers'
);
select is(testing.claims('both', 'c'), 'no row', 'nor the verifiers make room for more workers');
select is(
    testing.claims('both', 'w', 'claim_promotion'), 'no row',
    'promotions are of the verifications'' limit'
);

-- == fewer ========================================================================================

select testing.class('less');
select testing.limited('less', '{"seats": 4}');
select testing.open_many('less', 6);
select count(testing.claims('less', n)) from unnest(array['a', 'b', 'c']) as n;
select is(testing.seats('less'), '1 free, 3 held, 0 too many', 'of four seats one is free');
select testing.limited('less', '{"seats": 1}');
select is(
    testing.seats('less'), '0 free, 1 held, 2 too many',
    'fewer seats: a free one goes at once, of those held two are to go'
);
select is(testing.leases('less'), 3::bigint, 'nobody''s lease is taken away');
select is(testing.claims('less', 'd'), 'no row', 'nobody comes in');

create function testing.leaves(p_class text, p_name text)
    returns void
    language sql
as $fn$
    select testing.must('worker_1', testing.call('release', jsonb_build_object(
        'p_class', p_class, 'p_campaign_id', c.campaign_id, 'p_generation', c.generation,
        'p_token', testing.token(p_name))))
    from ledger.campaign as c
    where c.class = p_class
      and c.lease_token_sha256 = ledger.token_digest(testing.token(p_name))
$fn$;

-- Seats are taken in the order of their numbers, and the highest are marked: 'a' is not.
select testing.leaves('less', 'a');
select is(
    testing.seats('less'), '0 free, 1 held, 1 too many',
    'whoever leaves, a seat goes with him: one of those that stay is not too many any more'
);
select is(testing.claims('less', 'd'), 'no row', 'while one too many sits there');
select testing.leaves('less', 'c');
select is(testing.seats('less'), '0 free, 1 held, 0 too many', 'until as many sit as may');
select is(testing.claims('less', 'd'), 'no row', 'who are enough');
select testing.leaves('less', 'b');
select is(testing.seats('less'), '1 free, 0 held, 0 too many', 'then a seat falls free');
select is(testing.claims('less', 'd'), 'ok', 'and is taken');
select is(testing.claims('less', 'e'), 'no row', 'by one');

-- == more =========================================================================================

select testing.limited('less', '{"seats": 3}');
select is(testing.seats('less'), '2 free, 1 held, 0 too many', 'more seats are there at once');
select count(testing.claims('less', n)) from unnest(array['e', 'f']) as n;
select testing.limited('less', '{"seats": 1}');
select testing.limited('less', '{"seats": 2}');
select is(
    testing.seats('less'), '0 free, 2 held, 1 too many',
    'what was too many is not when there are more again'
);
select testing.limited('less', '{"seats": 4}');
select is(
    testing.seats('less'), '1 free, 3 held, 0 too many', 'and beyond those seats are added'
);

-- == from no limit to one, and back ===============================================================

select testing.class('adopt');
select testing.open_many('adopt', 5);
select count(testing.claims('adopt', n)) from unnest(array['a', 'b', 'c']) as n;
select testing.limited('adopt', '{"seats": 2}');
select is(
    testing.seats('adopt'), '0 free, 2 held, 1 too many',
    'a limit counts the leases that there are'
);
select is(testing.claims('adopt', 'd'), 'no row', 'who are more than may');
select testing.leaves('adopt', 'a');
select is(testing.claims('adopt', 'd'), 'no row', 'until enough have left');
select testing.leaves('adopt', 'b');
select is(testing.claims('adopt', 'd'), 'ok', 'and then one comes for one');
select testing.limited('adopt', '{"seats": null}');
select is(testing.claims('adopt', 'e'), 'ok', 'without the limit anybody comes');
select is(testing.claims('adopt', 'f'), 'ok', 'and another');
select testing.leaves('adopt', 'c');
select is(testing.seats('adopt'), '0 free, 0 held, 1 too many', 'old seats go with who sits there');
select testing.limited('adopt', '{"seats": 3}');
select is(testing.leases('adopt'), 3::bigint, 'a limit anew');
select is(
    testing.seats('adopt'), '0 free, 3 held, 0 too many', 'counts those with a seat and without'
);

select testing.class('adopt_v', '{"promotes": true}');
select testing.verifying('one', 'adopt_v');
select testing.attempted('two', 'adopt_v');
select testing.leased('three', 'adopt_v', 'worker_2');
select testing.limited('adopt_v', '{"verification_limit": 1}');
select is(
    testing.seats('adopt_v', 'verification'), '0 free, 1 held, 0 too many',
    'a limit of verifications counts those under way, and no work'
);
select is(testing.claims('adopt_v', 'v', 'claim_verification'), 'no row', 'and grants no other');
select is(testing.seats('adopt_v'), '0 free, 0 held, 0 too many', 'work has none');

-- == any sequence =================================================================================

create function testing.seat_complaint(p_class text)
    returns text
    language sql
    security definer
as $fn$
    select case
        when exists (
            select from ledger.campaign as c
            where c.class = p_class and c.state = 'leased' and k.seats is not null
              and not exists (
                  select from ledger.seat as s
                  where s.class = p_class and s.kind = 'work' and s.campaign_id = c.campaign_id
              )
        ) then 'a lease has no seat'
        when exists (
            select from ledger.seat as s
            left join ledger.campaign as c
                on c.class = s.class and c.campaign_id = s.campaign_id and c.state = 'leased'
            where s.class = p_class and s.campaign_id is not null and c.campaign_id is null
        ) then 'a seat is held without a lease'
        when (select count(*) from ledger.seat as s
              where s.class = p_class and not s.is_surplus) <> coalesce(k.seats, 0)
            then 'there are not as many seats as the class has'
        when exists (select from ledger.seat as s
                     where s.class = p_class and s.campaign_id is null)
            and exists (select from ledger.seat as s where s.class = p_class and s.is_surplus)
            then 'a seat is free while one is too many'
    end
    from ledger.class as k
    where k.class = p_class
$fn$;

create function testing.walk(p_class text, p_steps integer)
    returns text
    language plpgsql
as $fn$
declare
    v_seats   integer;
    v_leased  bigint;
    v_waiting bigint;
    v_target  text;
    v_token   uuid;
    v_what    text;
    v_got     text;
begin
    for v_step in 1..p_steps loop
        select k.seats into v_seats from ledger.class as k where k.class = p_class;
        v_leased := testing.leases(p_class);
        v_waiting := testing.leases(p_class, 'ready');
        select c.target into v_target
        from ledger.campaign as c
        where c.class = p_class and c.state = 'leased'
        order by random() limit 1;

        v_what := (array['claim', 'claim', 'claim', 'release', 'fail', 'lose', 'park', 'cancel',
                         'seats'])[1 + floor(random() * 9)::integer];
        if v_what = 'claim' then
            v_token := gen_random_uuid();
            v_got := coalesce(testing.act('worker_1', format(
                'select * from kernel.claim(p_class => %L, p_token => %L)', p_class, v_token
            )) ->> 'outcome', 'no row');
            if v_got <> (case when v_waiting > 0 and v_leased < coalesce(v_seats, 1000)
                              then 'ok' else 'no row' end)
            then
                return format('step %s: claim of %s ready with %s of %s seats: %s',
                              v_step, v_waiting, v_leased, v_seats, v_got);
            end if;
            update testing.held as h set token = v_token
            where v_got = 'ok' and h.target = (
                select c.target from ledger.campaign as c
                where c.class = p_class
                  and c.lease_token_sha256 = ledger.token_digest(v_token));
        elsif v_what = 'seats' then
            perform testing.limited(p_class, jsonb_build_object(
                'seats', nullif(floor(random() * 5)::integer, 0)));
        elsif v_target is null then
            continue;
        elsif v_what in ('release', 'fail') then
            perform testing.must('worker_1', testing.holding(v_what, jsonb_strip_nulls(
                jsonb_build_object('p_reason', 'so', 'p_token', h.token)), v_target, p_class))
            from testing.held as h where h.target = v_target;
        elsif v_what = 'lose' then
            perform testing.clock_passes('15 minutes');
            perform testing.act('reaper_1', testing.call('reap', jsonb_build_object(
                'p_class', p_class, 'p_limit', 1)));
        elsif v_what = 'park' then
            perform testing.must('admin_1', testing.on_campaign('park', '{}', v_target, p_class));
            perform testing.must('admin_1', testing.on_campaign(
                'redrive', '{}', v_target, p_class));
        else
            perform testing.cancel(v_target, p_class);
            perform testing.must('admin_1', testing.call('open_campaign', jsonb_build_object(
                'p_class', p_class, 'p_target', v_target, 'p_token', gen_random_uuid())));
        end if;
        if testing.seat_complaint(p_class) is not null then
            return format('step %s, %s: %s', v_step, v_what, testing.seat_complaint(p_class));
        end if;
    end loop;
    return null;
end
$fn$;

comment on function testing.walk(text, integer) is
    'Makes so many steps at random: says what is wrong after which, or null.';

select testing.class('walk');
select testing.limited('walk', '{"seats": 2, "loss_budget": 1000000}');
select testing.open_many('walk', 6);
create table testing.held as select t.target, null::uuid as token from ledger.target as t
where t.class = 'walk';
select setseed(0.3);
select is(
    testing.walk('walk', 400), null,
    'in four hundred steps at random a claim is granted exactly while a seat is free'
);

-- == a seat that fell free while one too many was locked ==========================================

-- Only another session can lock it; what it leaves behind is made by hand here, unguarded.
alter table ledger.seat disable trigger seat_10_not_by_hand;
select testing.class('locked');
select testing.limited('locked', '{"seats": 2}');
select testing.open_many('locked', 5);
select count(testing.claims('locked', n)) from unnest(array['a', 'b']) as n;
insert into ledger.seat (class, kind, seat_no) values ('locked', 'work', 3);
update ledger.seat set is_surplus = true where class = 'locked' and seat_no = 2;
select is(testing.seats('locked'), '1 free, 1 held, 1 too many', 'one is free, one too many');
select is(
    testing.claims('locked', 'c'), 'no row', 'the free one stands for the one that is too many'
);
select is(
    testing.seats('locked'), '0 free, 2 held, 0 too many', 'and goes in its place'
);
insert into ledger.seat (class, kind, seat_no) values ('locked', 'work', 3), ('locked', 'work', 4);
update ledger.seat set is_surplus = true where class = 'locked' and seat_no in (1, 2);
delete from ledger.seat where class = 'locked' and seat_no = 1;
select is(testing.seats('locked'), '2 free, 0 held, 1 too many', 'two are free, one too many');
select is(testing.claims('locked', 'd'), 'ok', 'of two free ones one is taken');
select is(testing.seats('locked'), '0 free, 2 held, 0 too many', 'and one goes');
alter table ledger.seat enable always trigger seat_10_not_by_hand;

-- == by hand ======================================================================================

select testing.raises(
    $$ update ledger.seat set is_surplus = true where campaign_id is null $$, '23514', null,
    'only a seat that is held can be one too many'
);
select testing.raises(
    $$ insert into ledger.seat (class, kind, seat_no, campaign_id)
       select s.class, 'verification', 1000, s.campaign_id
       from ledger.seat as s where s.campaign_id is not null limit 1 $$, '23505', null,
    'nobody sits in two'
);

select finish();
rollback;
