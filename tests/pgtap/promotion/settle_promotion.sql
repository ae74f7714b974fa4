-- ledger.settle_promotion records under which lease a promotion was settled;
-- ledger.repeated_promotion knows the call again by it.
\ir ../_support/fixture.psql
\ir ../_support/helper.psql
\ir ../_support/call.psql
select plan(13);

create function testing.answer(
    p_content    bytea,
    p_principal  name   default 'verifier_1',
    p_token      text   default 'verifier_1',
    p_generation bigint default 2
)
    returns text
    language sql
as $fn$
    select concat_ws(' ', r.receipt ->> 'outcome', r.receipt ->> 'state',
                     case when (r.receipt ->> 'duplicate')::boolean then 'duplicate' end)
    from (select testing.by(p_principal, format(
        'ledger.repeated_promotion(%L, %L, %s, %s, ledger.token_digest(%L), %L)',
        'promote', 'ship', testing.id('parser', 'ship'), p_generation, testing.token(p_token),
        p_content
    ))) as r (receipt)
$fn$;

-- == settle_promotion =============================================================================

select testing.promoting();
select testing.attempted('another', 'ship');
select testing.by('verifier_1', $$
    ledger.settle_promotion(testing.campaign('parser', 'ship'), '\xaa', '2026-09-01 04:00+00') $$);
select row_eq(
    $$ select a.promotion_generation, a.promotion_principal, a.promotion_principal_oid,
              a.promotion_token_sha256, a.promotion_sha256, a.promoted_at, a.ended_at
       from testing.attempt('parser', 'ship') as a $$,
    row(2::bigint, 'verifier_1'::name, 'verifier_1'::regrole::oid,
        ledger.token_digest(testing.token('verifier_1')), '\xaa'::bytea,
        timestamptz '2026-09-01 04:00+00', null::timestamptz),
    'ledger.settle_promotion writes whose lease it was, by which call, and when'
);
select is(
    (testing.attempt('another', 'ship')).promotion_sha256, null, 'and to no other attempt'
);
select testing.class('haul', '{"promotes": true}');
select testing.promoting('parser', 'haul');
select testing.by('verifier_1', $$
    ledger.settle_promotion(testing.campaign('parser', 'haul'), '\xbb', null) $$);
select row_eq(
    $$ select a.promotion_sha256, a.promoted_at from testing.attempt('parser', 'haul') as a $$,
    row('\xbb'::bytea, null::timestamptz), 'where it was outdated it was not promoted'
);
select is(
    (testing.attempt('parser', 'ship')).promotion_sha256, '\xaa'::bytea,
    'another campaign''s attempt is not touched'
);

-- == repeated_promotion ===========================================================================

select is(testing.answer('\xaa'), 'ok promoting duplicate', 'the very call is known again');
select testing.cancel('parser', 'ship');
select is(
    testing.answer('\xaa'), 'ok cancelled duplicate', 'however far the campaign has moved'
);
select is(count(*), 0::bigint, 'and is no refusal') from testing.refusals('verifier_1');
select is(testing.answer('\xab'), 'stale cancelled', 'what said something else is not');
select is(testing.answer(null), 'stale cancelled', 'nor what said nothing');
select is(testing.answer('\xaa', 'verifier_2'), 'stale cancelled', 'nor another principal''s');
select is(testing.answer('\xaa', p_token => 'x'), 'stale cancelled', 'nor with another token');
select is(testing.answer('\xaa', p_generation => 1), 'stale cancelled', 'nor of another lease');
alter role verifier_1 rename to verifier_3;
create role verifier_1 login in role fencepost_verifier;
select is(
    testing.answer('\xaa'), 'stale cancelled', 'nor that of a new role of the same name'
);

select finish();
rollback;
