-- kernel.exercise_report counts what a class did by itself, and names the window.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
select plan(54);

select testing.callable_by('kernel.exercise_report', 'admin', 'auditor');

create function testing.report_of(p_class text, p_window text default '7 days')
    returns text
    language sql
as $fn$
    select testing.call('exercise_report',
                        jsonb_build_object('p_class', p_class, 'p_window', p_window))
$fn$;

create function testing.verdict_of(p_class text, p_window text default '7 days')
    returns text
    language sql
as $fn$
    select format('%s: %s eligible, %s confirmed, %s human acts', r ->> 'verdict', r ->> 'eligible',
                  r ->> 'confirmed', r ->> 'human_acts')
    from testing.act('auditor_1', format('select * from (%s) as r where day is null',
                                         testing.report_of(p_class, p_window))) as r
$fn$;

comment on function testing.verdict_of(text, text) is
    'The last row, of the whole window, in words.';

create function testing.verdict_now(p_class text)
    returns text
    language plpgsql
as $fn$
begin
    perform testing.clock_passes('1 second');
    return testing.verdict_of(p_class);
end
$fn$;

comment on function testing.verdict_now(text) is
    'That of the week until now, what was done a second ago included.';

-- A class and its target, defined long before.
create function testing.class_of_old(p_class text, p_policy jsonb default '{}')
    returns void
    language plpgsql
as $fn$
begin
    perform testing.clock_is('2026-06-01 03:00+00');
    perform testing.class(p_class, p_policy);
    perform testing.target_in(t, p_class, '{"observe_every": "6 hours"}')
    from unnest(array['parser', 'lexer', 'linter']) as t;
    perform testing.clock_is('2026-09-01 03:00+00');
end
$fn$;

-- == nothing to do ================================================================================

select testing.class_of_old('idle');
select is(
    testing.verdict_now('idle'), 'under_exercised: 0 eligible, 0 confirmed, 0 human acts',
    'nothing to do is not success'
);
select testing.observed(true, 'parser', 'idle');
select is(
    testing.verdict_now('idle'), 'under_exercised: 0 eligible, 0 confirmed, 0 human acts',
    'nor are observations that are green'
);
select testing.must('admin_1', testing.call('pause', '{"p_class": "idle"}'));
select is(
    testing.verdict_now('idle'), 'under_exercised: 0 eligible, 0 confirmed, 1 human acts',
    'nor is what a person did meanwhile'
);

-- == a week by itself =============================================================================

create function testing.closes_a_loop(p_class text, p_target text default 'parser')
    returns void
    language plpgsql
as $fn$
begin
    perform testing.verified(p_target, p_class);
    perform testing.clock_passes('6 hours');
    perform testing.observed(true, p_target, p_class);
    perform testing.arrived('confirmed', p_target, p_class);
end
$fn$;

comment on function testing.closes_a_loop(text, text) is
    'From red to a green that confirms, in six hours, without a person.';

select testing.class_of_old('alone');
do $do$
begin
    for v_day in 1..7 loop
        perform testing.clock_is('2026-09-01 03:00+00'::timestamptz
                                 + (v_day - 1) * interval '1 day' + interval '2 hours');
        perform testing.closes_a_loop('alone');
    end loop;
end
$do$;
select testing.clock_is('2026-09-08 03:00+00');
set local session authorization auditor_1;
select results_eq(
    $$ select class, day, window_begins_at, window_ends_at, eligible, confirmed, human_acts, verdict
       from kernel.exercise_report(p_class => 'alone', p_window => '7 days') $$,
    $$ select 'alone'::text, '2026-08-31'::date + d.no,
              '2026-08-31 03:00+00'::timestamptz + d.no * interval '24 hours',
              '2026-09-01 03:00+00'::timestamptz + d.no * interval '24 hours',
              1::bigint, 1::bigint, 0::bigint, null::text
       from generate_series(1, 7) as d (no)
       union all
       select 'alone', null, '2026-09-01 03:00+00', '2026-09-08 03:00+00', 7, 7, 0, 'autonomous' $$,
    'seven days in a row with verified closures and no human act are shown day by day, and named'
);
select results_eq(
    $$ select count(*) from kernel.exercise_report(p_class => 'alone') $$, $$ values (8::bigint) $$,
    'the window is a week where none is named'
);
reset session authorization;

-- == how a window is cut ==========================================================================

select is(
    testing.verdict_of('alone', '1 day'), 'autonomous: 1 eligible, 1 confirmed, 0 human acts',
    'of one day'
);
set local session authorization auditor_1;
select results_eq(
    $$ select day, window_begins_at, window_ends_at, eligible, confirmed
       from kernel.exercise_report(p_class => 'alone', p_window => '36 hours') $$,
    $$ values ('2026-09-06'::date, '2026-09-06 15:00+00'::timestamptz,
               '2026-09-07 15:00+00'::timestamptz, 1::bigint, 1::bigint),
              ('2026-09-07', '2026-09-07 15:00+00', '2026-09-08 03:00+00', 0, 0),
              (null, '2026-09-06 15:00+00', '2026-09-08 03:00+00', 1, 1) $$,
    'the last day is shorter where the window is no whole number of them'
);
reset session authorization;
-- A closure at the very beginning of the window is of it; at its end it is of the next.
select testing.clock_is('2026-09-14 11:00+00');
select is(
    testing.verdict_of('alone'), 'autonomous: 1 eligible, 1 confirmed, 0 human acts',
    'what closed as the window begins is of it'
);
select testing.clock_passes('1 microsecond');
select is(
    testing.verdict_of('alone'), 'under_exercised: 0 eligible, 0 confirmed, 0 human acts',
    'what closed before is not'
);
select testing.clock_is('2026-09-07 11:00+00');
select is(
    testing.verdict_of('alone', '1 day'), 'autonomous: 2 eligible, 1 confirmed, 0 human acts',
    'of two that close a day apart, as it begins and as it ends, the first counts'
);
set local session authorization auditor_1;
set local timezone = 'Pacific/Kiritimati';
select is(
    (select array_agg(r.day order by r.day)
     from kernel.exercise_report(p_class => 'alone', p_window => '2 days') as r),
    array['2026-09-05', '2026-09-06', null]::date[],
    'a day is named in UTC, whatever the session sets'
);
set local timezone = 'UTC';
reset session authorization;

-- == a person helped ==============================================================================

create function testing.helped(p_class text, p_act text)
    returns text
    language plpgsql
as $fn$
begin
    perform testing.class_of_old(p_class);
    perform testing.closes_a_loop(p_class);
    case p_act
        when 'set_priority' then
            perform testing.open('lexer', p_class);
            perform testing.must('admin_1', testing.on_campaign(
                'set_priority', '{"p_priority": 1}', 'lexer', p_class));
        when 'allow_repeat' then
            perform testing.open('lexer', p_class);
            perform testing.must('admin_1', testing.on_campaign(
                'allow_repeat', '{"p_fingerprint": "f", "p_reason": "so"}', 'lexer', p_class));
        when 'park' then
            perform testing.parked('lexer', p_class);
        when 'redrive' then
            perform testing.clock_is('2026-08-01 03:00+00');
            perform testing.parked('lexer', p_class);
            perform testing.clock_is('2026-09-01 10:00+00');
            perform testing.must('admin_1', testing.on_campaign('redrive', '{}', 'lexer', p_class));
        when 'cancel' then
            perform testing.cancelled('lexer', p_class);
        when 'open' then
            perform testing.must('admin_1', testing.call('open_campaign', jsonb_build_object(
                'p_class', p_class, 'p_target', 'lexer', 'p_token', gen_random_uuid())));
        when 'dismiss' then
            perform testing.leased('lexer', p_class);
            perform testing.must('admin_1', testing.call('dismiss', jsonb_build_object(
                'p_class', p_class, 'p_principal', 'worker_1', 'p_duty', 'worker')));
        when 'new_epoch' then
            perform testing.open('lexer', p_class);
            perform testing.open('linter', p_class);
            perform testing.must('admin_1', testing.call('new_epoch', jsonb_build_object(
                'p_class', p_class, 'p_token', gen_random_uuid())));
        when 'define_class' then
            perform testing.must('admin_1', testing.call('define_class', jsonb_build_object(
                'p_class', p_class)));
        when 'define_target' then
            perform testing.target_in('lexer', p_class);
        when 'pause' then
            perform testing.must('admin_1', testing.call('pause', jsonb_build_object(
                'p_class', p_class)));
        when 'nothing' then null;
    end case;
    return testing.verdict_now(p_class);
end
$fn$;

comment on function testing.helped(text, text) is
    'A class that has closed a loop, and then an admin acted: the verdict.';

select is(testing.helped('h_' || h.act, h.act), h.expected, format('an admin did: %s', h.act))
from (values
    (1, 'nothing', 'autonomous: 1 eligible, 1 confirmed, 0 human acts'),
    (2, 'set_priority', 'assisted: 2 eligible, 1 confirmed, 1 human acts'),
    (3, 'allow_repeat', 'assisted: 2 eligible, 1 confirmed, 1 human acts'),
    (4, 'park', 'assisted: 2 eligible, 1 confirmed, 1 human acts'),
    (5, 'redrive', 'assisted: 2 eligible, 1 confirmed, 1 human acts'),
    (6, 'cancel', 'assisted: 2 eligible, 1 confirmed, 1 human acts'),
    (7, 'open', 'assisted: 2 eligible, 1 confirmed, 1 human acts'),
    -- One act, whatever it does to how many campaigns.
    (8, 'dismiss', 'assisted: 2 eligible, 1 confirmed, 1 human acts'),
    (9, 'new_epoch', 'assisted: 3 eligible, 1 confirmed, 1 human acts'),
    (10, 'define_class', 'assisted: 1 eligible, 1 confirmed, 1 human acts'),
    (11, 'define_target', 'assisted: 1 eligible, 1 confirmed, 1 human acts'),
    (12, 'pause', 'assisted: 1 eligible, 1 confirmed, 1 human acts')
) as h (place, act, expected) order by h.place;
select testing.clock_is('2026-09-02 03:00+00');
select is(
    testing.verdict_of('h_define_class', '1 day'),
    'assisted: 1 eligible, 1 confirmed, 1 human acts', 'an act of the day is of the day'
);
select testing.closes_a_loop('h_define_class');
select testing.clock_is('2026-09-03 03:00+00');
select is(
    testing.verdict_of('h_define_class', '1 day'),
    'autonomous: 1 eligible, 1 confirmed, 0 human acts', 'and not of the next'
);
select testing.class_of_old('another');
select testing.closes_a_loop('another');
select testing.must('admin_1', testing.call('pause', '{"p_class": "idle"}'));
select testing.must('admin_1', testing.call('register_principal', '{"p_principal": "worker_1",
    "p_family": "north"}'));
select is(
    testing.verdict_now('another'), 'autonomous: 1 eligible, 1 confirmed, 0 human acts',
    'nor is what was done to another class'
);

-- == it fails =====================================================================================

select testing.class_of_old('stuck');
select testing.open('parser', 'stuck');
select testing.clock_passes('3 days');
select is(
    testing.verdict_now('stuck'), 'failing: 1 eligible, 0 confirmed, 0 human acts',
    'what was found and not put right is a failure, though nobody complained'
);
select testing.clock_passes('30 days');
select is(
    testing.verdict_now('stuck'), 'failing: 1 eligible, 0 confirmed, 0 human acts',
    'in every week in which it is open'
);
set local session authorization auditor_1;
select is(
    (select array_agg(r.eligible) from kernel.exercise_report(p_class => 'stuck') as r
     where r.day is not null),
    array_fill(1::bigint, array[7]), 'and every day'
);
reset session authorization;
select testing.cancel('parser', 'stuck');
select is(
    testing.verdict_now('stuck'), 'failing: 1 eligible, 0 confirmed, 1 human acts',
    'that a person closes it is no success either'
);

select testing.class_of_old('spent', '{"attempt_budget": 1}');
select testing.closes_a_loop('spent');
select testing.leased('lexer', 'spent');
select testing.must('worker_1', testing.holding('fail', '{"p_reason": "so"}', 'lexer', 'spent'));
select is(
    testing.verdict_now('spent'), 'failing: 2 eligible, 1 confirmed, 0 human acts',
    'what was given up makes a window fail, whatever else went well'
);
select testing.must('admin_1', testing.call('pause', '{"p_class": "spent"}'));
select is(
    testing.verdict_now('spent'), 'failing: 2 eligible, 1 confirmed, 1 human acts',
    'an act beside it hides nothing'
);
select testing.must('admin_1', testing.call('resume', '{"p_class": "spent"}'));
select testing.must('admin_1', testing.on_campaign('redrive', '{}', 'lexer', 'spent'));
select is(
    testing.verdict_now('spent'), 'assisted: 2 eligible, 1 confirmed, 3 human acts',
    'sent on by a person it is assisted'
);

-- == who needed no work ===========================================================================

select testing.class_of_old('healed');
select testing.open('parser', 'healed');
select testing.clock_passes('6 hours');
select testing.observed(true, 'parser', 'healed');
select testing.arrived('lapsed', 'parser', 'healed');
select is(
    testing.verdict_now('healed'), 'under_exercised: 0 eligible, 0 confirmed, 0 human acts',
    'what healed by itself was nothing to do'
);
select testing.closes_a_loop('healed', 'lexer');
select is(
    testing.verdict_now('healed'), 'autonomous: 1 eligible, 1 confirmed, 0 human acts',
    'and does not count against what was done'
);
select testing.class_of_old('aside');
select testing.clock_is('2026-08-01 03:00+00');
select testing.parked('parser', 'aside');
select testing.clock_is('2026-09-01 03:00+00');
select is(
    testing.verdict_now('aside'), 'under_exercised: 0 eligible, 0 confirmed, 0 human acts',
    'what a person had set aside before is nothing to do'
);
select testing.closes_a_loop('aside', 'lexer');
select is(
    testing.verdict_now('aside'), 'autonomous: 1 eligible, 1 confirmed, 0 human acts',
    'and no failure'
);

-- == what was pruned counts =======================================================================

select testing.class_of_old('pruned', '{"retention": "1 day"}');
select testing.closes_a_loop('pruned');
select testing.cancelled('lexer', 'pruned');
select testing.open('linter', 'pruned');
select testing.clock_passes('6 hours');
select testing.observed(true, 'linter', 'pruned');
select testing.arrived('lapsed', 'linter', 'pruned');
select testing.closes_a_loop('pruned', 'lexer');
select testing.clock_is('2026-09-04 03:00+00');
select testing.verdict_now('pruned') as before \gset
select is(
    :'before'::text, 'assisted: 3 eligible, 2 confirmed, 1 human acts', 'before a pruning'
);
select testing.must('admin_1', testing.call('prune', '{"p_class": "pruned"}'));
select testing.must('admin_1', testing.call('prune', '{"p_class": "pruned"}'));
select is(
    (select count(*) from ledger.tombstone as t where t.class = 'pruned'), 4::bigint,
    'all four campaigns are gone'
);
select is(testing.verdict_now('pruned'), :'before', 'and after it the same is counted');

-- == who may, and misuse ==========================================================================

set local session authorization admin_1;
select isnt_empty(testing.report_of('alone'), 'an admin may ask');
reset session authorization;
select is_empty(testing.report_of('alone'), 'a superuser gets no row');
select is_empty(testing.report_of('no-such-class'), 'whatever there is');
create role between_them;
grant fencepost_auditor to between_them;
grant between_them to stranger;
set local session authorization stranger;
select is_empty(testing.report_of('alone'), 'nor does who is an auditor indirectly');
reset session authorization;
select testing.ledger_digest(true) as before \gset
set local session authorization auditor_1;
select testing.raises(m.call, m.code, null, 'wants ' || m.what)
from (values
    (testing.report_of(null), 'KN101', 'a class'),
    (testing.report_of('Fix'), 'KN102', 'the name of one'),
    (testing.report_of('no-such-class'), 'KN106', 'one that there is'),
    (testing.report_of('fix', null), 'KN101', 'a window'),
    (testing.report_of('fix', '0'), 'KN104', 'one of some length'),
    (testing.report_of('fix', '23:59:59'), 'KN104', 'of a day at least'),
    (testing.report_of('fix', '-7 days'), 'KN104', 'forward'),
    (testing.report_of('fix', '367 days'), 'KN104', 'of at most 366 days')
) as m (call, code, what);
reset session authorization;
select is(testing.ledger_digest(true), :'before', 'has written nothing');

select finish();
rollback;
