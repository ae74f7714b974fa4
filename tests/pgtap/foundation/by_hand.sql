-- The ledger is not written by hand, whoever's: every table as the catalogue has it, every way to
-- write it, every column, with no constraint to help.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/log.psql
select plan(62);

-- == a ledger in which every table has rows =======================================================

select testing.class('old', '{"retention": "1 day", "seats": 2}');
select testing.cancelled('parser', 'old');
select testing.clock_passes('2 days');
select testing.must('admin_1', testing.call('prune', '{"p_class": "old"}'));
select testing.verified('parser', 'ship');
select testing.leased();
select testing.must('admin_1', testing.call('allow_repeat', jsonb_build_object(
    'p_class', 'fix', 'p_campaign_id', testing.id(), 'p_generation', testing.generation(),
    'p_fingerprint', 'f', 'p_reason', 'why not'
)));
select testing.act('reaper_1', testing.call('reap', '{"p_class": "fix"}'));
select testing.as_if_committed_each();
select testing.must('auditor_1', testing.call('checkpoint', '{"p_class": "ship"}'));
select testing.act('worker_elsewhere', testing.call('claim', jsonb_build_object(
    'p_class', 'fix', 'p_token', gen_random_uuid()
)));
select testing.must('collector_1', testing.call('report_denial', jsonb_build_object(
    'p_session_id', '6a9632e4.1f', 'p_line_no', '1', 'p_denied_at', testing.clock(),
    'p_role', 'worker_1', 'p_sqlstate', '42501', 'p_message', 'permission denied for table seat'
)));

create view testing.ledger_table as
select c.oid::regclass as name, c.relname
from pg_class as c
where c.relnamespace = 'ledger'::regnamespace and c.relkind in ('r', 'p', 'f', 'm');

create function testing.is_empty_table(p_table regclass)
    returns boolean
    language plpgsql
as $fn$
declare
    v_has boolean;
begin
    execute format('select exists (select from %s)', p_table) into v_has;
    return not v_has;
end
$fn$;
select is_empty(
    'select name from testing.ledger_table as t where testing.is_empty_table(t.name)',
    'every table of the ledger has rows to try it with'
);

-- From here on no constraint and no unique index stands in a hand's way: only triggers do.
do $do$
declare
    v_statement text;
begin
    for v_statement in
        select format('alter table %s drop constraint if exists %I cascade',
                      k.conrelid::regclass, k.conname)
        from pg_constraint as k
        where k.connamespace = 'ledger'::regnamespace and k.contype in ('c', 'f', 'p', 'u')
          and k.conrelid <> 0
    loop
        execute v_statement;
    end loop;
    for v_statement in
        select format('drop index %s', i.indexrelid::regclass)
        from pg_index as i
        join testing.ledger_table as t on t.name = i.indrelid
        where i.indisunique
    loop
        execute v_statement;
    end loop;
end
$do$;

-- == every way to write each of them ==============================================================

create table testing.other_value (type regtype, instead_of_null text, change text);
insert into testing.other_value values
    ('text', 'x', '%I || ''x'''), ('name', 'x', '%I || ''x'''),
    ('bigint', '7', '%I + 1'), ('integer', '7', '%I + 1'), ('smallint', '7', '%I + 1'),
    ('numeric', '7', '%I + 1'),
    ('oid', '7', '(%I::bigint + 1)::oid'), ('xid8', '7', '(%I::text::bigint + 1)::text::xid8'),
    ('boolean', 'true', 'not %I'), ('uuid', null, 'gen_random_uuid()'),
    ('timestamptz', '2026-01-01', '%I + interval ''1 s'''),
    ('interval', '1 day', '%I + interval ''1 s'''), ('time', '06:00', '%I + interval ''1 s'''),
    ('bytea', '\x00', '%I || ''\x00'''), ('jsonb', '{}', 'jsonb_build_array(%I)'),
    ('text[]', '{}', 'array_append(%I, null)'), ('integer[]', '{}', 'array_append(%I, null)'),
    ('xid8[]', '{}', 'array_append(%I, null)'), ('bytea[]', '{}', 'array_append(%I, null)'),
    ('timestamptz[]', '{}', 'array_append(%I, null)');

create view testing.writing as
select t.name, w.way, format(w.statement, t.name) as statement
from testing.ledger_table as t
cross join (values
    ('INSERT', 'insert into %1$s overriding system value select * from %1$s'),
    ('DELETE', 'delete from %s'),
    ('TRUNCATE', 'truncate %s')
) as w (way, statement)
union all
select t.name, 'UPDATE', format(
    'update %s set %I = %s', t.name, a.attname,
    case a.attidentity
        when 'a' then 'default'
        else format('case when %I is null then %L else ' || o.change || ' end',
                    a.attname, o.instead_of_null, a.attname)
    end
)
from testing.ledger_table as t
join pg_attribute as a on a.attrelid = t.name and a.attnum > 0 and not a.attisdropped
join testing.other_value as o on o.type = a.atttypid;
select is(
    (select count(*) from testing.writing as w where w.way = 'UPDATE'),
    (select sum(c.relnatts) from pg_class as c join testing.ledger_table as t on t.name = c.oid),
    'there is another value for every column of every table'
);

-- Which SQLSTATE a statement raises, or "written"; then it is undone.
create function testing.written(p_sql text)
    returns text
    language plpgsql
as $fn$
begin
    execute p_sql;
    raise exception using errcode = 'TST01';
exception
    when sqlstate 'TST01' then return 'written';
    when others then return sqlstate || ': ' || sqlerrm;
end
$fn$;

create function testing.refuses_hand(p_statement text)
    returns text
    language sql
as $fn$
    select matches(testing.written(p_statement), '^KN901: \w+ of ledger[.]\w+ by hand is refused$',
                   'is by hand: ' || p_statement)
$fn$;

create function testing.hand(
    p_hand    text,
    p_writing regclass default 'testing.writing',
    p_ways    text[]   default '{INSERT, UPDATE, DELETE, TRUNCATE}'
)
    returns setof text
    language sql
as $fn$
    select is_empty(
        format($$
            select w.statement, s.said
            from %s as w
            cross join lateral testing.written(w.statement) as s (said)
            where w.way = %L and s.said !~ '^KN90[123]: '
        $$, p_writing, k.way),
        format('no table of the ledger takes %s from %s', k.way, p_hand)
    )
    from unnest(p_ways) as k (way)
$fn$;

create role keyboard login superuser;
grant fencepost_owner, fencepost_worker, fencepost_verifier, fencepost_sensor, fencepost_reaper,
    fencepost_admin, fencepost_auditor, fencepost_collector to keyboard;
grant usage on schema ledger to stranger;
grant all on all tables in schema ledger to stranger;
grant select on all tables in schema testing to public;

select testing.hand('a superuser');
set local session_replication_role = replica;
select testing.hand('a superuser while other triggers are off');
set local session_replication_role = origin;
set local role fencepost_owner;
select testing.hand('a superuser who became its owner');
set local session authorization fencepost_owner;
select testing.hand('its owner');
set local session authorization keyboard;
select testing.hand('a superuser of every group');
set local role fencepost_owner;
select testing.hand('a member of every group who became its owner');
set local session authorization stranger;
select testing.hand('whoever was granted everything');
reset session authorization;

-- One trigger says so for all tables but these, of which others have more to say.
select set_eq(
    $$ select t.name from testing.ledger_table as t
       where not exists (
           select from pg_trigger as g
           where g.tgrelid = t.name and g.tgfoid = 'ledger.tg__not_by_hand'::regproc
             and g.tgname like t.relname || '%not_by_hand'
       ) $$,
    $$ values
        -- A legal move of the session's own duty is let through, whichever way it comes, and logged
        -- by the trigger that let it through.
        ('ledger.campaign'::regclass), ('ledger.operation'),
        -- Written by that trigger and by nothing else.
        ('ledger.campaign_event'), ('ledger.operation_event'),
        -- Set by an admin once a campaign may be buried; its trigger writes what stands in it.
        ('ledger.tombstone'),
        -- Written by nobody.
        ('ledger.transition'), ('ledger.operation_transition') $$,
    'and it is one trigger that says so, but for moves, their logs, and what never changes'
);

-- == no statement is too small or too odd =========================================================

select testing.refuses_hand(s.statement)
from (values
    ('update ledger.seat set is_surplus = is_surplus'),
    ('with x as (delete from ledger.seat returning 1) select count(*) from x'),
    ('merge into ledger.seat as s using (select 1) as x on true when matched then delete'),
    ('insert into ledger.seat select * from ledger.seat limit 1'),
    ('copy ledger.seat from program ''echo fix,work,7,,f'' (format csv)'),
    ('do $x$ begin execute ''delete from ledger.seat''; end $x$'),
    ('truncate only ledger.seat')
) as s (statement);

-- == what looks like the kernel ===================================================================

-- Neither its helpers nor what bears its names help a hand.
create function pg_temp.judge() returns void language plpgsql security definer as $fn$
begin
    delete from ledger.seat;
end
$fn$;
create schema "kernel.judge";
create function "kernel.judge"."ledger.free_seat"() returns void language plpgsql as $fn$
begin
    -- PL/pgSQL function ledger.free_seat(text,bigint) line 47 at SQL statement
    delete from ledger.seat;
end
$fn$;
select testing.refuses_hand(s.statement)
from (values
    ('select pg_temp.judge()'),
    ('select "kernel.judge"."ledger.free_seat"()'),
    ('select ledger.log_config(''fix'', ''pause'', ''fix'', null, null)'),
    ('select ledger.refuse(''claim'', ''stale'', ''fix'', ''not so'')'),
    ('select ledger.set_seats(''old'', ''work'', 9)'),
    ('select ledger.set_paused(''pause'', ''fix'', true, null)')
) as s (statement);
set local role fencepost_owner;
select testing.refuses_hand('select ledger.log_config(''fix'', ''pause'', ''fix'', null, null)');
reset role;

-- The kernel itself asks for the session's user, whatever else that may do; but who became the owner
-- is a hand in whatever he calls.
set local session authorization keyboard;
select is(
    (select r.outcome from kernel.pause(p_class => 'fix') as r), 'ok',
    'a superuser who is an admin calls the kernel like any admin'
);
set local role fencepost_owner;
select testing.raises(
    $$ select * from kernel.resume(p_class => 'fix') $$, 'KN901',
    'UPDATE of ledger.class by hand is refused', 'but not as its owner'
);
reset role;
select lives_ok(
    $$ select * from kernel.resume(p_class => 'fix') $$, 'until he resets the role, as he is told'
);
reset session authorization;

-- What is not stopped: a function that acts as the owner. Who can make one can drop the triggers, and
-- it is found (access/definer_hygiene).
create function testing.acts_as_owner() returns void language plpgsql security definer as $fn$
begin
    delete from ledger.seat;
end
$fn$;
alter function testing.acts_as_owner() owner to fencepost_owner;
select is(
    testing.written('select testing.acts_as_owner()'), 'written',
    'a function of the owner''s own is taken for the kernel''s'
);
-- Nor what the owner lets run as itself, or does to a table and not to its rows: docs/limits.md says
-- which rule of the audit finds it.
create function testing.frees_seats() returns integer language plpgsql as $fn$
begin
    delete from ledger.seat;
    return 1;
end
$fn$;
create function testing.looks_immutable(p_text text) returns integer language plpgsql immutable as $fn$
begin
    return testing.frees_seats();
end
$fn$;
grant usage on schema testing to fencepost_owner;
create table testing.referred (class text primary key);
insert into testing.referred select distinct s.class from ledger.seat as s;
grant references on testing.referred to fencepost_owner;
create materialized view testing.refreshed as select testing.frees_seats() as one with no data;
alter materialized view testing.refreshed owner to fencepost_owner;
select is(testing.written(s.statement), 'written', s.what || ' is the owner''s own power')
from (values
    ('a foreign key''s cascade',
     'alter table ledger.seat add foreign key (class) references testing.referred on delete cascade;'
     'delete from testing.referred;'
     'do $x$ begin assert not exists (select from ledger.seat); end $x$'),
    ('an expression in an index',
     'create index on ledger.class (testing.looks_immutable(class));'
     'do $x$ begin assert not exists (select from ledger.seat); end $x$'),
    ('an expression in statistics',
     'create statistics testing.planted on (testing.looks_immutable(class)) from ledger.class;'
     'analyze ledger.class;'
     'do $x$ begin assert not exists (select from ledger.seat); end $x$'),
    ('a materialised view''s refresh',
     'refresh materialized view testing.refreshed;'
     'do $x$ begin assert not exists (select from ledger.seat); end $x$'),
    ('a table written anew',
     'alter table ledger.seat alter column class type text using ''another'';'
     'do $x$ begin assert not exists (select from ledger.seat where class <> ''another''); end $x$')
) as s (what, statement);
set local session_replication_role = replica;
select testing.refuses_hand('select testing.acts_as_owner()');
set local session_replication_role = origin;

-- == below a parent ===============================================================================

-- What is written through a parent fires the children's triggers for each row, and no others.
create schema above;
do $do$
declare
    v_table record;
begin
    for v_table in select * from testing.ledger_table loop
        execute format('create table above.%I (like %s)', v_table.relname, v_table.name);
        execute format('alter table %s inherit above.%I', v_table.name, v_table.relname);
    end loop;
end
$do$;
create view testing.writing_above as
select w.name, w.way, regexp_replace(
    replace(w.statement, w.name::text, replace(w.name::text, 'ledger.', 'above.')),
    '(\w+) = default$', '\1 = \1 + 1'
) as statement
from testing.writing as w;
-- A row that is put into a parent stays there, if that is not partitioned.
select testing.hand('who put a parent above it', 'testing.writing_above', '{UPDATE, DELETE, TRUNCATE}');

do $do$
declare
    v_table record;
begin
    -- From 17 on a partition has no identity of its own.
    for v_table in
        select t.name, a.attname
        from testing.ledger_table as t
        join pg_attribute as a on a.attrelid = t.name and a.attidentity <> ''
    loop
        execute format('alter table %s alter %I drop identity', v_table.name, v_table.attname);
    end loop;
    for v_table in
        select t.name, t.relname, a.attname
        from testing.ledger_table as t
        join pg_attribute as a on a.attrelid = t.name and a.attnum = 1
    loop
        execute format('alter table %s no inherit above.%I', v_table.name, v_table.relname);
        execute format('drop table above.%I', v_table.relname);
        execute format('create table above.%I (like %s) partition by list (%I)',
                       v_table.relname, v_table.name, v_table.attname);
        execute format('alter table above.%I attach partition %s default',
                       v_table.relname, v_table.name);
    end loop;
end
$do$;
select testing.hand('who made it a partition', 'testing.writing_above');

select finish();
rollback;
