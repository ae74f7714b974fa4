-- ledger.known_class finds a class or says that there is none; ledger.hold_class keeps it as it is.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
select plan(15);

create function testing.is_locked(p_class text)
    returns boolean
    language sql
as $fn$ select c.xmax::text <> '0' from ledger.class as c where c.class = p_class $fn$;

comment on function testing.is_locked(text) is
    'Whether somebody has locked the class''s row: then it says who.';

select testing.must('admin_1', testing.call(
    'define_class', '{"p_class": "bare", "p_policy": "{\"promotes\": true}"}'));
select is(
    (ledger.known_class('bare')).promotes, true, 'ledger.known_class returns the class''s policy'
);
select is(testing.is_locked('bare'), false, 'ledger.known_class locks nothing');
select is((ledger.hold_class('bare')).class, 'bare', 'ledger.hold_class returns the class');
select is((ledger.hold_class('bare')).promotes, true, 'with its policy');
select is(testing.is_locked('bare'), true, 'ledger.hold_class locks it');

select testing.must('admin_1', testing.call('retire_class', '{"p_class": "fix"}'));
select isnt(
    (ledger.known_class('fix')).retired_at, null, 'ledger.known_class knows a retired class'
);

select testing.raises(
    format('select ledger.%I(%L)', f.name, c.class), 'KN106',
    format('there is no class %s', c.class), format('ledger.%s knows no %s', f.name, c.class)
)
from unnest(array['known_class', 'hold_class']) as f (name)
cross join unnest(array['none', 'FIX', 'fix ', '']) as c (class);
select testing.raises(
    'select ledger.known_class(null)', 'KN106', 'there is no class <NULL>',
    'ledger.known_class of nothing raises'
);

select finish();
rollback;
