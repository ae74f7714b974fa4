-- kernel.reap notes that it passed: whenever that says something new, and otherwise once a minute.
-- An idle reaper writes no more than that, and health still knows that it is alive.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
select plan(24);

create function testing.versions()
    returns text
    language sql
as $fn$ select coalesce(string_agg(r.ctid::text, ' '), '') from ledger.reaper_pass as r $fn$;

comment on function testing.versions() is
    'Where the rows are: another place for each time that one was written, be it as it was.';

create function testing.reaps(p_class text default 'fix', p_reaper name default 'reaper_1')
    returns text
    language plpgsql
as $fn$
declare
    v_before text := testing.ledger_digest(true) || testing.versions();
begin
    perform testing.act(p_reaper, testing.call('reap', jsonb_build_object('p_class', p_class)));
    return case
        when testing.ledger_digest(true) || testing.versions() = v_before then 'nothing'
        else 'something'
    end;
end
$fn$;

comment on function testing.reaps(text, name) is 'What a pass writes: "nothing" or "something".';

create function testing.passes(p_class text default 'fix')
    returns setof text
    language sql
as $fn$
    select concat_ws(' ', r.principal, to_char(r.passed_at, 'MI:SS'), 'took', r.reaped_count,
                     'locked', r.locked_count)
    from ledger.reaper_pass as r
    where r.class = p_class
    order by r.principal
$fn$;

-- == nothing to do ================================================================================

select testing.open();
select is(testing.reaps(), 'something', 'the first pass is noted');
select results_eq(
    'select testing.passes()', array['reaper_1 00:00 took 0 locked 0'], 'who, when, and what'
);
select is(testing.reaps(), 'nothing', 'the next one writes nothing');
select testing.clock_passes('59.999999 seconds');
select is(testing.reaps(), 'nothing', 'nor does any within the minute');
select testing.clock_is('2026-09-01 03:01+00');
select is(testing.reaps(), 'something', 'after a minute it is noted again');
select results_eq(
    'select testing.passes()', array['reaper_1 01:00 took 0 locked 0'], 'in the same row'
);
select is(testing.reaps(), 'nothing', 'and then not for another minute');

-- As a reaper goes on for an hour that looks every five seconds.
create function pg_temp.idle_for_an_hour()
    returns text
    language plpgsql
as $fn$
declare
    v_written integer := 0;
    v_ill     integer := 0;
begin
    for n in 1 .. 720 loop
        perform testing.clock_passes('5 seconds');
        perform testing.act('reaper_1', 'select * from kernel.reap(p_class => ''fix'')');
        select v_written + (r.passed_at = ledger.clock())::integer into v_written
        from ledger.reaper_pass as r where r.class = 'fix';
        select v_ill + (not h.is_well)::integer into v_ill
        from ledger.class_health(
            (select c from ledger.class as c where c.class = 'fix'), ledger.clock()
        ) as h
        where h.subject = 'reaper_last_pass_s';
    end loop;
    return format('%s written, %s times ill', v_written, v_ill);
end
$fn$;
select testing.claim();
select testing.must('worker_1', testing.holding('renew', '{"p_lease_for": "4 hours"}'));
select is(
    pg_temp.idle_for_an_hour(), '60 written, 0 times ill',
    'in an hour of idling it is noted sixty times, and health never misses the reaper'
);

-- == something new ================================================================================

select testing.class('busy');
select testing.leased('one', 'busy');
select testing.clock_passes('1 minute');
select testing.leased('two', 'busy', 'worker_2');
select is(testing.reaps('busy'), 'something', 'a pass in another class is noted by itself');
select testing.clock_passes('13 minutes 59 seconds');
select is(testing.reaps('fix'), 'something', 'so is the next one here');
select is(testing.reaps('busy'), 'something', 'and there, once a minute each');
select testing.clock_passes('1 second');
select is(testing.reaps('busy'), 'something', 'a pass that took something is noted at once');
select matches(
    (select p from testing.passes('busy') as p), 'took 1 locked 0$', 'with what it took'
);
select testing.clock_passes('1 minute');
select is(testing.reaps('busy'), 'something', 'the next loss');
select matches(
    (select p from testing.passes('busy') as p), 'took 2 locked 0$', 'is added to those before'
);
select is(testing.reaps('busy'), 'nothing', 'then nothing is new');

-- Only another session can lock a lease; that one was is written by hand here, and below.
alter table ledger.reaper_pass disable trigger reaper_pass_10_not_by_hand;
update ledger.reaper_pass set locked_count = 1 where class = 'busy';
select is(
    testing.reaps('busy'), 'something', 'another number of locked leases is noted at once'
);
select matches(
    (select p from testing.passes('busy') as p), 'took 2 locked 0$', 'as it is now'
);

-- == several reapers ==============================================================================

create role reaper_2 login;
grant fencepost_reaper to reaper_2;
select is(
    testing.reaps('busy', 'reaper_2'), 'something', 'each reaper''s passes are its own'
);
select is(
    (select count(*) from testing.passes('busy')), 2::bigint, 'and have a row of their own'
);
select is(testing.reaps('busy', 'reaper_2'), 'nothing', 'as rarely written');
update ledger.reaper_pass
set locked_count = 1, passed_at = passed_at + interval '1 second'
where class = 'busy' and principal = 'reaper_1';
select is(
    testing.reaps('busy', 'reaper_2'), 'something',
    'also where it was another reaper that found one locked, which health goes by'
);

-- == a clock that was set back ====================================================================

select testing.clock_passes('1 minute');
select testing.reaps('busy');
select testing.clock_passes('-1 day');
select is(testing.reaps('busy'), 'something', 'a pass that lies ahead does not keep it silent');
select is(testing.reaps('busy'), 'nothing', 'and is replaced');

select finish();
rollback;
