-- ledger.as_operation tells of an operation; ledger.done_with of one whose call was carried out.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/operation.psql
select plan(6);

select testing.allows_operations('fix');
select testing.leased();
select testing.pushed('pending') as key \gset

create function testing.refusal()
    returns kernel.receipt
    language sql
as $fn$ select row('stale', false, false, null, 'fix', 7, 3, 'ready', null, 'm')::kernel.receipt $fn$;

-- == done_with ====================================================================================

select testing.operation(:'key') as pending \gset
select is(
    to_jsonb(ledger.done_with(:'pending', true, false, 'a note', 'owner', '3 seconds')),
    jsonb_build_object(
        'outcome', 'ok', 'duplicate', false, 'moved', true, 'note', 'a note', 'class', 'fix',
        'campaign_id', testing.id(), 'generation', 1, 'state', null, 'lease_expires_at', null,
        'message', null, 'status', 'owner', 'operation_key', :'key', 'kind', 'git.push',
        'target', format('/srv/parser.git#refs/fencepost/%s/1', testing.id()), 'ordinal', 1,
        'attempt_no', 1, 'duty', 'worker', 'fingerprint', 'push-1',
        'incarnation', (testing.operation(:'key')).incarnation, 'revision', 1,
        'operation_state', 'pending', 'is_started', false,
        'expected', '{"before": null, "after": {"commit": "tip-1"}, "fence": "fence-1"}'::jsonb,
        'read_back', null, 'result', null, 'result_text', null, 'diagnostic', null,
        'reason', null, 'principal', 'worker_1', 'label', null,
        'created_at', testing.clock(), 'updated_at', testing.clock(), 'reconciled_by', null,
        'reconciled_at', null, 'retry_after', interval '3 seconds'
    ),
    'ledger.done_with tells all of it, and no token'
);
select is(
    to_jsonb(ledger.done_with(:'pending', false, true)) @>
        '{"outcome": "ok", "duplicate": true, "moved": false, "note": null, "status": null,
          "retry_after": null}', true,
    'a repeat has moved nothing'
);
select testing.must('worker_1', testing.on_operation(
    'release_operation', '{"p_reason": "not wanted"}', :'key', 'fix', 'of push'));
select is(
    to_jsonb(ledger.done_with(testing.operation(:'key'), true)) @>
        '{"operation_state": "released", "reason": "not wanted", "is_started": false}', true,
    'it is told as it stands'
);

-- == as_operation =================================================================================

select is(
    jsonb_strip_nulls(to_jsonb(ledger.as_operation(testing.refusal()))),
    '{"outcome": "stale", "duplicate": false, "moved": false, "class": "fix", "campaign_id": 7,
      "generation": 3, "state": "ready", "message": "m"}',
    'ledger.as_operation of a refusal has no operation'
);
select is(
    jsonb_strip_nulls(to_jsonb(ledger.as_operation(
        testing.refusal(), testing.operation(:'key'), 'conflict', '1 second'))),
    jsonb_build_object('outcome', 'stale', 'duplicate', false, 'moved', false, 'class', 'fix',
                       'message', 'm', 'status', 'conflict', 'operation_key', :'key'),
    'of a conflict nothing is told but the key'
);
select testing.posted('started');
select is(
    to_jsonb(ledger.done_with(testing.operation(), true)) @>
        '{"campaign_id": null, "generation": null, "is_started": true}', true,
    'one without a campaign has none; one that was started says so'
);

select finish();
rollback;
