-- kernel.judge raises what is misuse, before it looks at anything, and writes nothing.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
select plan(35);

select testing.verifying();
select testing.ledger_digest(true) as before \gset
set local session authorization verifier_1;

-- == a verdict that contradicts its run ===========================================================

select testing.raises(
    testing.judging('{"p_exit_code": 1}'), 'KN114',
    'an acceptance command that ended with 1 does not accept',
    'accepts nothing whose command failed'
);
select testing.raises(
    testing.judging('{"p_exit_code": -1}'), 'KN114', null, 'nor was killed by a signal'
);
select testing.raises(
    testing.judging('{"p_exit_code": null}'), 'KN101', 'argument p_exit_code is null',
    'nor was never run'
);
select testing.raises(
    testing.judging(jsonb_build_object('p_exit_code', 1, 'p_bundle_sha256', sha256('another'))),
    'KN114', null, 'says so before it compares digests'
);

-- == what each verdict needs ======================================================================

select testing.raises(
    testing.judging('{"p_verdict": null}'), 'KN101', 'argument p_verdict is null', 'wants a verdict'
);
select testing.raises(
    testing.judging('{"p_verdict": "confirmed"}'), 'KN102', 'there is no such verdict',
    'knows three verdicts, and confirmed is not one'
);
select testing.raises(
    testing.judging('{"p_verdict": "Accepted"}'), 'KN102', null, 'as they are written'
);
select testing.raises(
    testing.judging('{"p_bundle_sha256": null}'), 'KN101', 'argument p_bundle_sha256 is null',
    'wants the digest with an acceptance'
);
select testing.raises(
    testing.judging('{"p_fingerprint": null}'), 'KN101', 'argument p_fingerprint is null',
    'and a fingerprint of the verifier''s own'
);
select testing.raises(
    testing.judging('{"p_verdict": "rejected", "p_bundle_sha256": null, "p_reason": "red"}'),
    'KN101', 'argument p_bundle_sha256 is null', 'wants the digest with a rejection'
);
select testing.raises(
    testing.judging('{"p_verdict": "rejected"}'), 'KN101', 'argument p_reason is null',
    'and a reason'
);
select testing.raises(
    testing.judging('{"p_verdict": "unverifiable"}'), 'KN101', 'argument p_reason is null',
    'wants a reason with an abstention'
);

-- == bounds =======================================================================================

select testing.raises(
    testing.judging('{"p_bundle_sha256": "\\x00"}'), 'KN102', null, 'wants a digest of 32 bytes'
);
select testing.raises(
    testing.judging(jsonb_build_object('p_bundle_sha256', sha256('x') || '\x00'::bytea)), 'KN102',
    null, 'not of 33'
);
select testing.raises(
    testing.judging(jsonb_build_object('p_evidence_sha256', '\x00')), 'KN102', null,
    'wants evidence with a digest of 32 bytes'
);
select testing.raises(
    testing.judging('{"p_evidence_sha256": null}'), 'KN101', null, 'wants no URI without its digest'
);
select testing.raises(
    testing.judging('{"p_evidence_uri": null}'), 'KN101', null, 'and no digest without its URI'
);
select testing.raises(
    testing.judging('{"p_evidence_uri": ""}'), 'KN102', null, 'wants a URI that is one'
);
select testing.raises(
    testing.judging(jsonb_build_object('p_evidence_uri', repeat('x', 4097))), 'KN103', null,
    'of at most 4096 bytes'
);
select testing.raises(
    testing.judging(jsonb_build_object('p_fingerprint', repeat('x', 201))), 'KN103', null,
    'wants a fingerprint of at most 200 bytes'
);
select testing.raises(
    testing.judging('{"p_fingerprint": "  "}'), 'KN102', null, 'that is not blank'
);
select testing.raises(
    testing.judging(jsonb_build_object('p_command', repeat('x', 4097))), 'KN103', null,
    'wants a command of at most 4096 bytes'
);
select testing.raises(
    testing.judging('{"p_command": ""}'), 'KN102', null, 'that is not blank'
);
select testing.raises(
    testing.judging(jsonb_build_object('p_reason', repeat('x', 4097))), 'KN103', null,
    'wants a reason of at most 4096 bytes'
);
select testing.raises(
    testing.judging('{"p_verdict": "rejected", "p_reason": "\n\t "}'), 'KN102', null,
    'that is not blank'
);

-- == which campaign ===============================================================================

select testing.raises(
    testing.judging('{"p_campaign_id": 123456789}'), 'KN108', null, 'wants a campaign that there is'
);
select testing.raises(
    testing.judging('{"p_campaign_id": null}'), 'KN101', 'argument p_campaign_id is null',
    'wants it named'
);
select testing.raises(
    testing.judging('{"p_generation": null}'), 'KN101', 'argument p_generation is null',
    'wants its generation'
);
select testing.raises(
    testing.judging('{"p_token": null}'), 'KN101', 'argument p_token is null', 'wants the token'
);
select testing.raises(
    testing.judging('{"p_class": null}'), 'KN101', 'argument p_class is null', 'wants a class'
);
select testing.raises(
    testing.judging('{"p_class": "-"}'), 'KN102', null, 'wants the name of a class'
);

select is(testing.ledger_digest(true), :'before', 'has written nothing');
reset session authorization;

-- Misuse is the same to whoever may call, so it tells a stranger nothing.
set local session authorization verifier_elsewhere;
select testing.raises(
    testing.judging('{"p_campaign_id": 123456789, "p_exit_code": 1}'), 'KN114', null,
    'raises misuse to one who is not enrolled as well'
);
reset session authorization;
set local session authorization verifier_1;
select results_eq(
    format('select outcome, state from (%s) as j', testing.judging()),
    $$ values ('ok'::text, 'verified'::text) $$, 'takes the verdict that has none of these faults'
);
select set_config('transaction_read_only', 'on', true);
select testing.raises(testing.judging(), 'KN112', null, 'wants a transaction that may write');
reset session authorization;

select finish();
rollback;
