-- How operations are named: the key of an attempt's, a target's own place, and what is blank.
\ir ../_support/fixture.psql
select plan(42);

-- == the key ======================================================================================

select o.ledger_uuid as origin from ledger.origin as o \gset
select is(
    ledger.operation_key('fix', 0, 1, 2, 'git.push', 'r#x', 3),
    'fencepost:' || encode(sha256(convert_to(jsonb_build_array(
        :'origin'::uuid, 'fix', 0, 1, 2, 'git.push', 'r#x', 3)::text, 'UTF8')), 'hex'),
    'a key is the digest of all that makes it one'
);
select is(
    (select count(distinct ledger.operation_key(k.class, k.epoch, k.campaign, k.attempt, k.kind,
                                                k.target, k.ordinal))
     from (values
         ('fix', 0, 1, 2, 'git.push', 'r#x', 3), ('fi', 0, 1, 2, 'git.push', 'r#x', 3),
         ('fix', 1, 1, 2, 'git.push', 'r#x', 3), ('fix', 0, 2, 2, 'git.push', 'r#x', 3),
         ('fix', 0, 1, 1, 'git.push', 'r#x', 3), ('fix', 0, 1, 2, 'git.pus', 'hr#x', 3),
         ('fix', 0, 1, 2, 'git.push', 'r#y', 3), ('fix', 0, 1, 2, 'git.push', 'r#x', 4)
     ) as k (class, epoch, campaign, attempt, kind, target, ordinal)), 8::bigint,
    'each part of it tells'
);
select is(
    ledger.operation_key('fix', 0, 1, 2, 'git.push', 'r#x', 3),
    ledger.operation_key('fix', 0, 1, 2, 'git.push', 'r#x', 3), 'it is the same every time'
);

-- == a target's own place =========================================================================

select is(ledger.own_target('parser', l.location), l.place, format('the place of %s', l.location))
from (values
    ('{"repository": "/srv/parser.git", "ref": "refs/heads/main"}'::jsonb,
     '/srv/parser.git#refs/heads/main'),
    ('{"repository": "/srv/parser.git"}', 'target:parser'), ('{"ref": "x"}', 'target:parser'),
    ('{}', 'target:parser'), ('{"repository": null, "ref": "x"}', 'target:parser')
) as l (location, place);

-- == blank ========================================================================================

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
