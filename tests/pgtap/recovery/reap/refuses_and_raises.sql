-- kernel.reap is the reapers', and of any class; what is misuse it raises.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
select plan(13);

select testing.leased();
select testing.clock_passes('1 day');

-- EXECUTE alone is not enough: a member over another role is no reaper.
create role between_them;
grant fencepost_reaper to between_them;
grant between_them to stranger;
set local session authorization stranger;
select testing.refused(
    $$ select * from kernel.reap(p_class => 'fix') $$, 'forbidden',
    'refuses whose membership is indirect'
);
select testing.refused(
    $$ select * from kernel.reap(p_class => 'nowhere') $$, 'forbidden',
    'in the same way where there is no such class'
);
reset session authorization;
set local session authorization worker_1;
select throws_ok(
    $$ select * from kernel.reap(p_class => 'fix') $$, '42501', null,
    'is not there for a worker'
);
reset session authorization;
select is(testing.state(), 'leased', 'and nothing was taken');

set local session authorization reaper_1;
select testing.ledger_digest(true) as before \gset
select testing.raises(
    $$ select * from kernel.reap(p_class => null) $$, 'KN101', 'argument p_class is null',
    'wants a class'
);
select testing.raises(
    $$ select * from kernel.reap(p_class => 'Fix') $$, 'KN102', null, 'wants the name of a class'
);
select testing.raises(
    $$ select * from kernel.reap(p_class => 'nowhere') $$, 'KN106', 'there is no class nowhere',
    'wants a class that there is'
);
select testing.raises(
    $$ select * from kernel.reap(p_class => 'fix', p_limit => null) $$, 'KN101',
    'argument p_limit is null', 'wants a limit'
);
select testing.raises(
    $$ select * from kernel.reap(p_class => 'fix', p_limit => 0) $$, 'KN104',
    'a limit of 0 is out of range', 'of 1 at least'
);
select testing.raises(
    $$ select * from kernel.reap(p_class => 'fix', p_limit => 10001) $$, 'KN104', null,
    'and 10000 at most'
);
select is(testing.ledger_digest(true), :'before', 'has written nothing');
select results_eq(
    $$ select note from kernel.reap(p_class => 'fix', p_limit => 10000) $$,
    $$ values ('lose'::text) $$, 'takes a limit of 10000, of a class that it is enrolled in nowhere'
);
select set_config('transaction_read_only', 'on', true);
select testing.raises(
    $$ select * from kernel.reap(p_class => 'fix') $$, 'KN112', null,
    'wants a transaction that may write'
);
reset session authorization;

select finish();
rollback;
