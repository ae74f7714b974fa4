-- ledger.as_lease makes a lease of a receipt.
\ir ../_support/fixture.psql
select plan(2);

select testing.leased();
select is(
    to_jsonb(ledger.as_lease(
        ledger.answer_with(testing.campaign(), true, false, 'a note'), testing.campaign(),
        ledger.known_class('fix')
    )),
    jsonb_build_object(
        'outcome', 'ok', 'duplicate', false, 'moved', true, 'note', 'a note', 'class', 'fix',
        'campaign_id', testing.id(), 'generation', 1, 'state', 'leased',
        'lease_expires_at', timestamptz '2026-09-01 03:15+00', 'message', null,
        'attempt_no', 1, 'attempt_limit', interval '1 hour',
        'lease_cap_at', timestamptz '2026-09-02 03:00+00'
    ),
    'ledger.as_lease adds the attempt, its limit, and until when it may be renewed at most'
);
select is(
    to_jsonb(ledger.as_lease(
        row('forbidden', false, false, null, 'fix', null, null, null, null, 'no')::kernel.receipt
    )),
    '{"outcome": "forbidden", "duplicate": false, "moved": false, "note": null, "class": "fix",
      "campaign_id": null, "generation": null, "state": null, "lease_expires_at": null,
      "message": "no", "attempt_no": null, "attempt_limit": null, "lease_cap_at": null}',
    'ledger.as_lease of a refusal has nothing of the sort'
);

select finish();
rollback;
