-- ledger.answer_with says how a campaign stands; ledger.campaign_of finds one.
\ir ../_support/fixture.psql
select plan(7);

select testing.leased();

-- == answer_with ==================================================================================

select is(
    to_jsonb(ledger.answer_with(testing.campaign(), true)),
    jsonb_build_object(
        'outcome', 'ok', 'duplicate', false, 'moved', true, 'note', null, 'class', 'fix',
        'campaign_id', testing.id(), 'generation', 1, 'state', 'leased',
        'lease_expires_at', timestamptz '2026-09-01 03:15+00', 'message', null
    ),
    'ledger.answer_with tells of the campaign as it stands'
);
select is(
    to_jsonb(ledger.answer_with(testing.campaign(), false, true, 'again')) - '{class,state,
        campaign_id,generation,lease_expires_at}'::text[],
    '{"outcome": "ok", "duplicate": true, "moved": false, "note": "again", "message": null}',
    'and of the call what it is told'
);
select is(
    to_jsonb(ledger.answer_with(null, false)) - '{outcome,duplicate,moved}'::text[],
    '{"note": null, "class": null, "campaign_id": null, "generation": null, "state": null,
      "lease_expires_at": null, "message": null}',
    'of no campaign it tells nothing'
);

-- == campaign_of ==================================================================================

select is(
    ledger.campaign_of('fix', testing.id()), testing.campaign(),
    'ledger.campaign_of returns the campaign'
);
select testing.raises(
    format('select ledger.campaign_of(%L, %L)', c.class, c.id), 'KN108', c.message,
    format('ledger.campaign_of: %s', c.message)
)
from (values
    ('fix', testing.id() + 1000, format('class fix has no campaign %s', testing.id() + 1000)),
    ('ship', testing.id(), format('class ship has no campaign %s', testing.id())),
    ('none', testing.id(), format('class none has no campaign %s', testing.id()))
) as c (class, id, message);

select finish();
rollback;
