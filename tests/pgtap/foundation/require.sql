-- ledger.require and its family say what is wrong with an argument; each kernel function's own file
-- shows them at work. What is blank is for one function to say.
\ir ../_support/fixture.psql
select plan(34);

select is(ledger.is_blank(chr(c.code)), true, format('U+%s is blank', upper(to_hex(c.code))))
from unnest(array[9, 10, 11, 12, 13, 32, 160, 5760, 8232, 8233, 8239, 8287, 12288, 65279])
    as c (code);
select is(
    (select string_agg(upper(to_hex(c.code)), ' ') from generate_series(8192, 8202) as c (code)
     where not ledger.is_blank(chr(c.code))), null, 'and U+2000 to U+200A'
);
select is(ledger.is_blank(chr(c.code)), false, format('U+%s is not', upper(to_hex(c.code))))
from unnest(array[1, 8, 14, 31, 95, 133, 173, 6158, 8191, 8203, 8204, 8205, 8288, 65278])
    as c (code);
select is(ledger.is_blank(t.text), t.is_blank, t.what)
from (values
    ('', true, 'nothing is blank'), (E' \t\u00A0\uFEFF\n', true, 'several of them are'),
    (E'\u00A0x\u00A0', false, 'but not around something'), (null, null, 'null is null')
) as t (text, is_blank, what);
select is(
    array(select c.code from generate_series(1, 70000) as c (code)
          where c.code not between 55296 and 57343 and ledger.is_blank(chr(c.code))),
    array[9, 10, 11, 12, 13, 32, 160, 5760, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200,
          8201, 8202, 8232, 8233, 8239, 8287, 12288, 65279],
    'no other code point is: it is what ECMAScript trims'
);

select finish();
rollback;
