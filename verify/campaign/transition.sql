-- Verify fencepost:campaign/transition on pg

begin;

\set relation ledger.transition
select $list$
    transition      text    not null
    from_state      text    not null
    to_state        text    not null
    duties          text[]  not null
    lease           text    not null
    generation_step integer not null
    operations      text    not null default 'spares'::text
$list$ as columns, $list$
    transition_lease_is_known
    transition_never_lowers_the_generation
    transition_operations_are_known
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

-- Transition, from, to, who makes it, what becomes of the lease, by how much the generation rises,
-- what becomes of the external operations.
select set_config('verify.moves', $list$
    open               none      ready     sensor,admin none    0    spares
    claim              ready     leased    worker       takes   1    spares
    submit             leased    attempted worker       returns 0    closed
    fail               leased    ready     worker       returns 0    settles
    fail               leased    parked    worker       returns 0    settles
    release            leased    ready     worker       returns 0    settles
    release            leased    parked    worker       returns 0    settles
    lose               leased    ready     reaper,admin revokes 1    settles
    lose               leased    parked    reaper,admin revokes 1    settles
    claim_verification attempted verifying verifier     takes   1    spares
    accept             verifying promoting verifier     keeps   0    closed
    accept             verifying verified  verifier     returns 0    closed
    reject             verifying ready     verifier     returns 0    unstarted
    reject             verifying parked    verifier     returns 0    unstarted
    abstain            verifying attempted verifier     returns 0    unstarted
    abstain            verifying parked    verifier     returns 0    unstarted
    lose_verification  verifying attempted reaper,admin revokes 1    settles
    lose_verification  verifying parked    reaper,admin revokes 1    settles
    claim_promotion    accepted  promoting verifier     takes   1    spares
    lose_promotion     promoting accepted  reaper,admin revokes 1    settles
    lose_promotion     promoting parked    reaper,admin revokes 1    settles
    promote            promoting verified  verifier     returns 0    closed
    outdate            promoting ready     verifier     returns 0    unstarted
    outdate            promoting parked    verifier     returns 0    unstarted
    confirm            verified  confirmed sensor       none    0    closed
    contradict         verified  ready     sensor       none    0    spares
    contradict         verified  parked    sensor       none    0    spares
    lapse              ready     lapsed    sensor       none    0    closed
    expire             ready     parked    reaper       none    0    spares
    expire             attempted parked    reaper       none    0    spares
    expire             accepted  parked    reaper       none    0    spares
    park               ready     parked    admin        none    1    settles
    park               leased    parked    admin        revokes 1    settles
    park               attempted parked    admin        none    1    settles
    park               verifying parked    admin        revokes 1    settles
    park               accepted  parked    admin        none    1    settles
    park               promoting parked    admin        revokes 1    settles
    park               verified  parked    admin        none    1    settles
    redrive            parked    ready     admin        none    1    spares
    redrive            parked    attempted admin        none    1    spares
    redrive            parked    accepted  admin        none    1    spares
    redrive            parked    verified  admin        none    1    spares
    cancel             ready     cancelled admin        none    1    settles
    cancel             leased    cancelled admin        revokes 1    settles
    cancel             attempted cancelled admin        none    1    settles
    cancel             verifying cancelled admin        revokes 1    settles
    cancel             accepted  cancelled admin        none    1    settles
    cancel             promoting cancelled admin        revokes 1    settles
    cancel             verified  cancelled admin        none    1    settles
    cancel             parked    cancelled admin        none    1    settles
    set_priority       ready     ready     admin        stays   0    spares
    set_priority       leased    leased    admin        stays   0    spares
    set_priority       attempted attempted admin        stays   0    spares
    set_priority       verifying verifying admin        stays   0    spares
    set_priority       accepted  accepted  admin        stays   0    spares
    set_priority       promoting promoting admin        stays   0    spares
    set_priority       verified  verified  admin        stays   0    spares
    set_priority       parked    parked    admin        stays   0    spares
    allow_repeat       ready     ready     admin        stays   0    spares
    allow_repeat       leased    leased    admin        stays   0    spares
    allow_repeat       attempted attempted admin        stays   0    spares
    allow_repeat       verifying verifying admin        stays   0    spares
    allow_repeat       accepted  accepted  admin        stays   0    spares
    allow_repeat       promoting promoting admin        stays   0    spares
    allow_repeat       verified  verified  admin        stays   0    spares
    allow_repeat       parked    parked    admin        stays   0    spares
    new_epoch          ready     ready     admin        stays   1000 settles
    new_epoch          leased    leased    admin        stays   1000 settles
    new_epoch          attempted attempted admin        stays   1000 settles
    new_epoch          verifying verifying admin        stays   1000 settles
    new_epoch          accepted  accepted  admin        stays   1000 settles
    new_epoch          promoting promoting admin        stays   1000 settles
    new_epoch          verified  verified  admin        stays   1000 settles
    new_epoch          parked    parked    admin        stays   1000 settles
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
                         t.generation_step, t.operations)
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
