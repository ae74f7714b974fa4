-- Verify fencepost:policy/principal on pg

begin;

\set relation ledger.principal
select $list$
    principal     name                     not null
    principal_oid oid                      not null
    family        text
    registered_at timestamp with time zone not null
    registered_by name                     not null
$list$ as columns, $list$
    principal_family_is_bounded
    principal_pk
$list$ as constraints, '' as indexes
\gset
\ir ../_support/assert_table.psql

\set relation ledger.principal
select $list$
    principal_10_not_by_hand after any write by hand: tg__not_by_hand
    principal_20_no_truncate before truncate, each statement: tg__not_by_hand
$list$ as triggers \gset
\ir ../_support/assert_triggers.psql

rollback;
