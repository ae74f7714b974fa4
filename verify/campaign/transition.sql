-- Verify fencepost:campaign/transition on pg

begin;

\set relation ledger.transition
select $list$
    transition        text    not null
    from_state        text    not null
    to_state          text    not null
    duties            text[]  not null
    lease             text    not null
    raises_generation boolean not null
$list$ as columns, $list$
    transition_lease_is_known
    transition_pk
    transition_raises_with_every_grant_and_revocation
$list$ as constraints, '' as indexes
\gset
\ir ../_support/assert_table.psql

\set relation ledger.transition
select $list$
    transition_10_append_only before insert or delete or update, each row: tg__append_only
    transition_20_no_truncate before truncate, each statement: tg__append_only
$list$ as triggers \gset
\ir ../_support/assert_triggers.psql

-- Transition, from, to, who makes it, what becomes of the lease, and of the generation.
select set_config('verify.moves', $list$
    open               none      ready     sensor,admin none    kept
    claim              ready     leased    worker       takes   raised
    submit             leased    attempted worker       returns kept
    fail               leased    ready     worker       returns kept
    fail               leased    parked    worker       returns kept
    release            leased    ready     worker       returns kept
    release            leased    parked    worker       returns kept
    lose               leased    ready     reaper,admin revokes raised
    lose               leased    parked    reaper,admin revokes raised
    claim_verification attempted verifying verifier     takes   raised
    accept             verifying promoting verifier     keeps   kept
    accept             verifying verified  verifier     returns kept
    reject             verifying ready     verifier     returns kept
    reject             verifying parked    verifier     returns kept
    abstain            verifying attempted verifier     returns kept
    abstain            verifying parked    verifier     returns kept
    lose_verification  verifying attempted reaper,admin revokes raised
    lose_verification  verifying parked    reaper,admin revokes raised
    claim_promotion    accepted  promoting verifier     takes   raised
    lose_promotion     promoting accepted  reaper,admin revokes raised
    lose_promotion     promoting parked    reaper,admin revokes raised
    promote            promoting verified  verifier     returns kept
    outdate            promoting ready     verifier     returns kept
    outdate            promoting parked    verifier     returns kept
    confirm            verified  confirmed sensor       none    kept
    contradict         verified  ready     sensor       none    kept
    contradict         verified  parked    sensor       none    kept
    lapse              ready     lapsed    sensor       none    kept
    expire             ready     parked    reaper       none    kept
    expire             attempted parked    reaper       none    kept
    expire             accepted  parked    reaper       none    kept
    park               ready     parked    admin        none    raised
    park               leased    parked    admin        revokes raised
    park               attempted parked    admin        none    raised
    park               verifying parked    admin        revokes raised
    park               accepted  parked    admin        none    raised
    park               promoting parked    admin        revokes raised
    park               verified  parked    admin        none    raised
    redrive            parked    ready     admin        none    raised
    redrive            parked    attempted admin        none    raised
    redrive            parked    accepted  admin        none    raised
    redrive            parked    verified  admin        none    raised
    cancel             ready     cancelled admin        none    raised
    cancel             leased    cancelled admin        revokes raised
    cancel             attempted cancelled admin        none    raised
    cancel             verifying cancelled admin        revokes raised
    cancel             accepted  cancelled admin        none    raised
    cancel             promoting cancelled admin        revokes raised
    cancel             verified  cancelled admin        none    raised
    cancel             parked    cancelled admin        none    raised
$list$, true) as moves \gset

do $verify$
declare
    c_moves constant text[] := array(
        select btrim(regexp_replace(m.line, '\s+', ' ', 'g'))
        from regexp_split_to_table(current_setting('verify.moves'), '\n') as m (line)
        where btrim(m.line) <> ''
        order by 1
    );
    v_found text[];
begin
    v_found := array(
        select concat_ws(' ', t.transition, t.from_state, t.to_state,
                         array_to_string(t.duties, ','), t.lease,
                         case when t.raises_generation then 'raised' else 'kept' end)
        from ledger.transition as t
        order by 1
    );
    assert v_found = c_moves, format(
        'ledger.transition has exactly its %s moves; only expected: %s; only found: %s',
        cardinality(c_moves),
        array(select unnest(c_moves) except select unnest(v_found)),
        array(select unnest(v_found) except select unnest(c_moves)));
end
$verify$;

rollback;
