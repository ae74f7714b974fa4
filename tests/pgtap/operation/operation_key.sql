-- How operations are named: the key of an attempt's, and a target's own place.
\ir ../_support/fixture.psql
select plan(8);

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

select finish();
rollback;
