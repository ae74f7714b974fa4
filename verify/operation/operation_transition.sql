-- Verify fencepost:operation/operation_transition on pg

begin;

\set relation ledger.operation_transition
select $list$
    event      text    not null
    from_state text    not null
    to_state   text    not null
    duties     text[]  not null
    is_started boolean
$list$ as columns, $list$
    operation_transition_pk
$list$ as constraints, '' as indexes
\gset
\ir ../_support/assert_table.psql

\set relation ledger.operation_transition
select $list$
    operation_transition_10_append_only before insert or delete or update, each row: tg__append_only
    operation_transition_20_no_truncate before truncate, each statement: tg__append_only
$list$ as triggers \gset
\ir ../_support/assert_triggers.psql

-- Event, from, to, who makes it, whether it must have been started.
select set_config('verify.moves', $list$
    begin        none     pending   worker,verifier              -
    begin        released pending   worker,verifier              -
    take_over    pending  pending   worker,verifier              f
    start        pending  pending   worker,verifier              f
    complete     pending  completed worker,verifier              -
    complete     unknown  completed worker,verifier              -
    fail         pending  failed    worker,verifier              -
    mark_unknown pending  unknown   worker,verifier              -
    release      pending  released  worker,verifier,reaper,admin f
    abandon      pending  unknown   worker,verifier,reaper,admin -
    expire       pending  unknown   worker,verifier,reaper       t
    resolve      unknown  completed worker,verifier,admin        -
    resolve      unknown  failed    worker,verifier,admin        -
    inquire      unknown  unknown   worker,verifier,admin        -
    ask_again    unknown  unknown   admin                        -
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
        select concat_ws(' ', t.event, t.from_state, t.to_state, array_to_string(t.duties, ','),
                         coalesce(left(t.is_started::text, 1), '-'))
        from ledger.operation_transition as t
        order by 1
    );
    assert v_found = c_moves, format(
        'ledger.operation_transition has exactly its %s moves; only expected: %s; only found: %s',
        cardinality(c_moves),
        array(select unnest(c_moves) except select unnest(v_found)),
        array(select unnest(v_found) except select unnest(c_moves)));
end
$verify$;

rollback;
