-- Verify fencepost:foundation/answer on pg

begin;

\set relation ledger.answer
select $list$
    code    text not null
    kind    text not null
    name    text not null
    meaning text not null
    remedy  text not null
$list$ as columns, $list$
    answer_kind_is_known
    answer_name_uq
    answer_outcome_is_its_own_code
    answer_pk
$list$ as constraints, '' as indexes
\gset
\ir ../_support/assert_table.psql

\set relation ledger.answer
select $list$
    answer_10_not_by_hand after any write by hand: tg__not_by_hand
    answer_20_no_truncate before truncate, each statement: tg__not_by_hand
$list$ as triggers \gset
\ir ../_support/assert_triggers.psql

select set_config('verify.answers', $list$
    ok              outcome ok
    stale           outcome stale
    not_holder      outcome not_holder
    illegal         outcome illegal
    forbidden       outcome forbidden
    repeated        outcome repeated
    self_verdict    outcome self_verdict
    same_family     outcome same_family
    bundle_mismatch outcome bundle_mismatch
    no_evidence     outcome no_evidence
    paused          outcome paused
    expired         outcome expired
    operation_open  outcome operation_open
    limit           outcome limit
    KN101           misuse  argument_missing
    KN102           misuse  argument_malformed
    KN103           misuse  argument_too_long
    KN104           misuse  argument_out_of_range
    KN105           misuse  unknown_policy_key
    KN106           misuse  unknown_class
    KN107           misuse  unknown_target
    KN108           misuse  unknown_campaign
    KN109           misuse  unknown_principal
    KN110           misuse  unknown_observation
    KN111           misuse  wrong_isolation
    KN112           misuse  read_only
    KN113           misuse  not_yet_committed
    KN114           misuse  verdict_contradicts_exit_code
    KN115           misuse  not_a_member
    KN116           misuse  unknown_operation
    KN901           misuse  move_refused
    KN902           misuse  append_only
    KN903           misuse  frozen_column
    55P03           retry   lock_not_available
    40P01           retry   deadlock_detected
    57014           retry   query_canceled
$list$, true) as answers \gset

do $verify$
declare
    c_answers constant text[] := array(
        select btrim(regexp_replace(a.line, '\s+', ' ', 'g'))
        from regexp_split_to_table(current_setting('verify.answers'), '\n') as a (line)
        where btrim(a.line) <> ''
        order by 1
    );
    v_found   text[];
begin
    v_found := array(
        select concat_ws(' ', a.code, a.kind, a.name) from ledger.answer as a order by 1
    );
    assert v_found = c_answers, format(
        'ledger.answer has exactly its %s rows; only expected: %s; only found: %s',
        cardinality(c_answers),
        array(select unnest(c_answers) except select unnest(v_found)),
        array(select unnest(v_found) except select unnest(c_answers)));
    assert not exists (
        select from ledger.answer as a where btrim(a.meaning) = '' or btrim(a.remedy) = ''
    ), 'every answer says what it means and what to do';
end
$verify$;

rollback;
