-- ledger.clock is the one place where time is read, and it moves within a transaction.
begin;
select plan(9);

create temporary table reading on commit drop as select ledger.clock() as at;
select ok(
    ledger.clock() between clock_timestamp() - interval '1 minute' and clock_timestamp(),
    'ledger.clock is the server''s'
);
select ok(
    (select ledger.clock() > at from reading), 'ledger.clock moves within a transaction'
);
select ok(
    (select at > transaction_timestamp() from reading),
    'ledger.clock does not stand at its beginning'
);
commit;

\ir ../_support/fixture.psql

select is(
    ledger.clock(), timestamptz '2026-09-01 03:00+00', 'ledger.clock can be stopped by a test'
);

-- Spans only: nobody's clock but the server's.
select is_empty(
    $$ select p.oid::regproc
       from pg_proc as p
       cross join lateral unnest(p.proargtypes) as t (type)
       where p.pronamespace = 'kernel'::regnamespace
         and t.type in ('timestamptz'::regtype, 'timestamp'::regtype, 'date'::regtype,
                        'time'::regtype, 'timetz'::regtype)
         -- A page goes on after the row before, of which the ledger told the time.
         and p.oid <> 'kernel.list_operations'::regproc
         -- When the server's log says that it was; the kernel's own time stands beside it.
         and p.oid <> 'kernel.report_denial'::regproc $$,
    'ledger.clock has no rival: no function of the kernel takes a time from its caller'
);
select is_empty(
    $$ select p.oid::regproc
       from pg_proc as p
       where p.pronamespace in ('kernel'::regnamespace, 'ledger'::regnamespace)
         and p.oid <> 'ledger.clock'::regproc
         and p.prosrc ~* ('(clock|statement|transaction)_timestamp|\mnow\(|\mcurrent_(date|time)'
                          '|\mlocaltime|timeofday|''(now|today|tomorrow|yesterday)''') $$,
    'ledger.clock has no rival: no other function reads the time'
);
select results_eq(
    $$ select (c.relname || '.' || a.attname) collate "default"
       from pg_attrdef as d
       join pg_class as c on c.oid = d.adrelid and c.relnamespace = 'ledger'::regnamespace
       join pg_attribute as a on a.attrelid = d.adrelid and a.attnum = d.adnum
       where pg_get_expr(d.adbin, d.adrelid) ~* 'now\(|_timestamp' $$,
    array['origin.deployed_at'],
    'ledger.clock has no rival: no column takes the time by itself, but for the deployment''s own'
);
select results_eq(
    $$ select (c.relname || '.' || a.attname) collate "default"
       from pg_class as c
       join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0
       where c.relnamespace = 'ledger'::regnamespace
         and a.atttypid in ('timestamp'::regtype, 'date'::regtype, 'time'::regtype,
                            'timetz'::regtype) $$,
    array['target.observe_at'],
    'ledger.clock is kept with its time zone: every time in the ledger is a timestamptz, but for a '
    'time of day, which has its zone beside it'
);
set local session authorization worker_1;
select testing.raises(
    'select ledger.clock()', '42501', null, 'ledger.clock is not called by a worker'
);

select finish();
rollback;
