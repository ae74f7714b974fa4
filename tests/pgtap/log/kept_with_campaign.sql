-- What is kept as long as its campaign: ledger.is_pruned_now says whether this transaction buries
-- it, ledger.tg__kept_with_campaign refuses every other deletion, and every change.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/log.psql
select plan(16);

-- == tg__kept_with_campaign =======================================================================

create function testing.tables()
    returns setof text
    language sql
as $fn$
    select distinct t.tgrelid::regclass::text
    from pg_trigger as t
    where t.tgfoid = 'ledger.tg__kept_with_campaign'::regproc
$fn$;

select set_eq(
    'select * from testing.tables()',
    '{ledger.allowance,ledger.bundle,ledger.verdict}'::text[],
    'these tables are kept so'
);
select testing.verifying();
select testing.judge('rejected');
select testing.must('admin_1', testing.on_campaign('allow_repeat', jsonb_build_object(
    'p_fingerprint', 'patch-1', 'p_reason', 'the base was broken')));
select testing.cancel();
select testing.raises(
    format('truncate %s cascade', t.name), 'KN902', null,
    format('a superuser does not truncate %s', t.name)
)
from testing.tables() as t (name)
order by t.name;
select testing.raises(
    format('delete from ledger.%I', t.name), 'KN902', format('DELETE of ledger.%s is refused', t.name),
    format('nor delete a row of %s', t.name)
)
from unnest(array['allowance', 'bundle', 'verdict']) as t (name);
select testing.raises(
    format('update ledger.%I set class = class', t.name), 'KN902',
    format('UPDATE of ledger.%s is refused', t.name), format('nor change one of %s', t.name)
)
from unnest(array['allowance', 'bundle', 'verdict']) as t (name);

-- == is_pruned_now ================================================================================

select testing.id() as gone \gset
select testing.open('lexer');
select testing.cancel('lexer');
select testing.clock_passes('80 days');
select testing.confirmed('linker');
select testing.clock_passes('10 days');
select is(ledger.is_pruned_now('fix', :gone), false, 'nothing is pruned yet');
select testing.must('admin_1', testing.call('prune', '{"p_class": "fix"}'));
select is(ledger.is_pruned_now('fix', :gone), true, 'this transaction prunes it');
select is(ledger.is_pruned_now('fix', testing.id('linker')), false, 'but not what closed lately');
select is(ledger.is_pruned_now('ship', :gone), false, 'nor one of another class');
select testing.raises(
    'delete from ledger.bundle', 'KN902', null, 'whose rows stay, also in this transaction'
);

-- Set by an earlier transaction, a tombstone lets nothing go any more.
select testing.tamper('ledger.tombstone', $$ update ledger.tombstone set pruned_xid = '3' $$);
select is(ledger.is_pruned_now('fix', :gone), false, 'what another transaction pruned is not now');

select finish();
rollback;
