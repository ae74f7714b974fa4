-- How a seat is taken, sat in and freed, and how many there are. tests/pgtap/lease/seat.sql has what
-- classes and their claims make of it; what waits for what is in tests/pytest/sessions/test_seats.py.
\ir ../_support/fixture.psql
\ir ../_support/helper.psql
\ir ../_support/call.psql
\ir ../_support/log.psql
select plan(36);

create function testing.seats(p_class text default 'few', p_kind text default 'work')
    returns text
    language sql
    security definer
as $fn$
    select string_agg(
        format('%s%s', s.seat_no, case
            when s.is_surplus then ' too many'
            when s.campaign_id is not null then ' held'
            else ' free'
        end), ', ' order by s.seat_no)
    from ledger.seat as s
    where s.class = p_class and s.kind = p_kind
$fn$;

create function testing.set_seats(
    p_seats integer,
    p_class text default 'few',
    p_kind  text default 'work'
)
    returns text
    language sql
as $fn$
    select testing.by('admin_1', format(
        'ledger.set_seats(%L, %L, %L)', p_class, p_kind, p_seats
    ));
    select testing.seats(p_class, p_kind)
$fn$;

create function testing.taken(p_kind text default 'work', p_class text default 'few')
    returns integer
    language sql
as $fn$
    select testing.by('worker_1', format(
        'ledger.take_seat(ledger.known_class(%L), %L)', p_class, p_kind
    ))::integer
$fn$;

create function testing.freed(p_target text, p_class text default 'few')
    returns text
    language sql
as $fn$
    select testing.by('worker_1', format(
        'ledger.free_seat(%L, %s)', p_class, testing.id(p_target, p_class)
    ));
    select testing.seats(p_class)
$fn$;

select testing.class('few');
select testing.leased('a', 'few', 'worker_1', testing.token('a'));
select testing.leased('b', 'few', 'worker_1', testing.token('b'));
select testing.open('c', 'few');

-- == set_seats, take_seat, sit ====================================================================

select is(testing.seats(), null, 'where there is no limit there is no seat');
select is(testing.taken(), null, 'and none to take');
select is(
    testing.set_seats(3), '1 held, 2 held, 3 free',
    'ledger.set_seats seats who holds a lease already'
);
select is(testing.seats('few', 'verification'), null, 'of the other kind there is none');
select is(testing.taken('verification'), null, 'nor any to take');
select is(testing.taken('work', 'fix'), null, 'nor in another class');
select is(testing.taken(), 3, 'ledger.take_seat takes the free one');
select is(testing.seats(), '1 held, 2 held, 3 free', 'who takes it does not sit yet');
select testing.by('worker_1', format(
    'ledger.sit(ledger.known_class(%L), %L, null, %s)', 'few', 'work', testing.id('c', 'few')));
select is(testing.seats(), '1 held, 2 held, 3 free', 'ledger.sit without a seat seats nobody');
select testing.by('worker_1', format(
    'ledger.sit(ledger.known_class(%L), %L, 3, %s)', 'few', 'work', testing.id('c', 'few')));
select is(testing.seats(), '1 held, 2 held, 3 held', 'ledger.sit seats the campaign''s holder');
select is(testing.taken(), null, 'then none is free');

-- == fewer and more ===============================================================================

select is(testing.set_seats(5), '1 held, 2 held, 3 held, 4 free, 5 free', 'more come as free ones');
select is(testing.taken(), 4, 'of which the first is taken');
select is(testing.set_seats(4), '1 held, 2 held, 3 held, 4 free', 'fewer: free ones go at once');
select is(
    testing.set_seats(1), '1 held, 2 too many, 3 too many', 'and held ones are marked to go'
);
select is(testing.taken(), null, 'none of those is to be had');
select is(testing.set_seats(2), '1 held, 2 held, 3 too many', 'more: what was to go stays first');
select is(testing.set_seats(2), '1 held, 2 held, 3 too many', 'as many: nothing changes');

-- == free_seat ====================================================================================

create function testing.locked_at(p_generation bigint)
    returns boolean
    language sql
as $fn$
    select testing.by('worker_1', format(
        'ledger.lock_seat(%L, %s, %s)', 'few', testing.id('a', 'few'), p_generation
    ));
    select s.xmax::text <> '0' from ledger.seat as s
    where s.class = 'few' and s.campaign_id = testing.id('a', 'few')
$fn$;

comment on function testing.locked_at(bigint) is
    'Locks the seat of "a" under a generation; whether it is locked then: its row says by whom.';

select is(
    testing.locked_at(testing.generation('a', 'few') + 1), false,
    'ledger.lock_seat locks nothing under another generation'
);
select is(
    testing.locked_at(testing.generation('a', 'few')), true, 'under the holder''s it locks his seat'
);
select is(testing.seats(), '1 held, 2 held, 3 too many', 'and changes nothing');
select is(
    testing.freed('a'), '2 held, 3 held',
    'ledger.free_seat: while there is one too many, the one that falls free goes in its place'
);
select is(testing.freed('a'), '2 held, 3 held', 'what is free is not freed again');
select is(testing.freed('b'), '2 free, 3 held', 'a seat that is wanted falls free');

select testing.must('worker_1', testing.holding('release', jsonb_build_object(
    'p_token', testing.token(t.target)), t.target, 'few'))
from unnest(array['a', 'b']) as t (target);
select testing.clear('few');
select is(testing.seats(), '2 free, 3 held', 'who has no seat leaves none');
select is(testing.set_seats(0), '3 too many', 'with no seat at all who sits may stay');
select is(testing.freed('c'), null, 'until he leaves');
select testing.set_seats(null);
select testing.leased('d', 'few', 'worker_1', testing.token('d'));
select testing.leased('e', 'few', 'worker_1', testing.token('e'));
select is(
    testing.set_seats(1), '1 held, 2 too many', 'whoever sits without one is seated, and counts'
);
select is(testing.set_seats(2), '1 held, 2 held', 'each of them');
select is(testing.set_seats(null), '1 too many, 2 too many', 'no limit: all are to go');
select is(testing.set_seats(4), '1 held, 2 held, 3 free, 4 free', 'unless a limit comes back');

-- == a surplus that was locked while another fell free ============================================

select testing.set_seats(3);
select is(testing.seats(), '1 held, 2 held, 3 free', 'one is free');
-- Only another session can lock it; what it leaves behind is made by hand here.
select testing.tamper('ledger.seat', $$
    update ledger.seat as s set is_surplus = true where s.class = 'few' and s.seat_no = 2 $$);
select is(testing.taken(), null, 'ledger.take_seat gives no free one while there is one too many');
select is(testing.seats(), '1 held, 2 held', 'but lets it go in that one''s place');

-- == verification ================================================================================

select testing.class('seen', '{"promotes": true}');
select testing.verifying('parser', 'seen');
select is(
    testing.set_seats(1, 'seen', 'verification'), '1 held',
    'a verification has a seat of its kind'
);
select is(testing.set_seats(1, 'seen'), '1 free', 'and takes none of work''s');

select finish();
rollback;
