-- ledger.grant_lease sets a lease of the session's principal in a campaign, and writes nothing.
\ir ../_support/fixture.psql
\ir ../_support/helper.psql
select plan(4);

select testing.open();
select testing.ledger_digest(true) as before \gset

create function testing.granted(p_lease_for interval default null)
    returns jsonb
    language sql
as $fn$
    select testing.by('worker_2', format(
        'ledger.grant_lease(testing.campaign(), ledger.known_class(%L), %L, %L, %L, %L)',
        'fix', '\xaa'::bytea, 'a label', p_lease_for, '2026-09-01 05:00+00'
    ))
$fn$;

select is(
    (select jsonb_object_agg(g.key, g.value)
     from jsonb_each(testing.granted()) as g
     join jsonb_each(to_jsonb(testing.campaign())) as c on c.key = g.key
     where g.value <> c.value),
    jsonb_build_object(
        'lease_principal', 'worker_2',
        'lease_principal_oid', to_jsonb('worker_2'::regrole::oid),
        'lease_token_sha256', '\xaa',
        'lease_label', 'a label',
        'lease_granted_at', timestamptz '2026-09-01 05:00+00',
        'lease_expires_at', timestamptz '2026-09-01 05:15+00',
        'lease_xid', to_jsonb(pg_current_xact_id())
    ),
    'ledger.grant_lease sets who holds it, since when and until when, and nothing else'
);
select is(
    testing.granted('2 hours') ->> 'lease_expires_at', '2026-09-01T07:00:00+00:00',
    'for as long as is asked'
);
select testing.raises(
    $$ select testing.granted('4 hours 1 second') $$, 'KN104', null, 'and not longer than may be'
);
select is(testing.ledger_digest(true), :'before', 'nothing is written');

select finish();
rollback;
