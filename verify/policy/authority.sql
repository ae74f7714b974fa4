-- Verify fencepost:policy/authority on pg

begin;

\set relation ledger.authority
select $list$
    class         text                     not null
    duty          text                     not null
    kind          text                     not null
    target        text                     not null
    is_standalone boolean                  not null
    attempt_limit integer
    granted_at    timestamp with time zone not null
    granted_by    name                     not null
$list$ as columns, $list$
    authority_class_fk
    authority_duty_is_known
    authority_limit_is_positive
    authority_pk
$list$ as constraints, '' as indexes
\gset
\ir ../_support/assert_table.psql

\set relation ledger.authority
select $list$
    authority_10_not_by_hand after any write by hand: tg__not_by_hand
    authority_20_no_truncate before truncate, each statement: tg__not_by_hand
$list$ as triggers \gset
\ir ../_support/assert_triggers.psql

rollback;
