-- ledger.lineage names the campaigns that one inherits from.
\ir ../_support/fixture.psql
select plan(6);

create function testing.line(p_campaign_id bigint, p_class text default 'fix')
    returns bigint[]
    language sql
as $fn$
    select array_agg(l.id) from ledger.lineage(p_class, p_campaign_id) as l (id)
$fn$;

select testing.cancelled();
select testing.id() as first \gset
select testing.cancelled('lexer');
select testing.clock_passes('23 hours');
select testing.cancelled();
select testing.id() as second \gset
select testing.clock_passes('23 hours');
select testing.open();
select testing.id() as third \gset

select is(
    testing.line(:third), array[:third, :second, :first]::bigint[],
    'ledger.lineage is the campaign and those before it, the newest first'
);
select is(
    testing.line(:second), array[:second, :first]::bigint[],
    'from the one in the middle it goes back only'
);
select is(testing.line(:first), array[:first]::bigint[], 'the first stands alone');

select testing.cancel();
select testing.clock_passes('1 day 1 second');
select testing.open();
select is(
    testing.line(testing.id()), array[testing.id()],
    'as does one that was opened too late to inherit'
);
select is(testing.line(:third, 'ship'), null, 'in another class there is none of that number');
select is(testing.line(testing.id() + 1000), null, 'nor one that never was');

select finish();
rollback;
