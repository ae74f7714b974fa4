-- Verify fencepost:foundation/origin on pg

begin;

\set relation ledger.origin
select $list$
    is_origin            boolean                  not null default true
    ledger_uuid          uuid                     not null default gen_random_uuid()
    deployed_at          timestamp with time zone not null default clock_timestamp()
    deployed_by          name                     not null default session_user
    public_had_temporary boolean                  not null
$list$ as columns, $list$
    origin_is_one_row
    origin_pk
$list$ as constraints, '' as indexes
\gset
\ir ../_support/assert_table.psql

\set relation ledger.origin
select $list$
    origin_10_not_by_hand after any write by hand: tg__not_by_hand
$list$ as triggers \gset
\ir ../_support/assert_triggers.psql

do $verify$
declare
    v_who text;
begin
    assert (select count(*) from ledger.origin) = 1, 'a ledger has one origin';

    foreach v_who in array array[
        'public', 'fencepost_worker', 'fencepost_verifier', 'fencepost_reaper',
        'fencepost_sensor', 'fencepost_admin', 'fencepost_auditor', 'fencepost_collector'
    ] loop
        assert not has_database_privilege(v_who, current_database(), 'temporary'),
            format('%s makes no temporary objects here, to shadow a name with', v_who);
    end loop;
end
$verify$;

rollback;
