-- Verify fencepost:denial/denial on pg

begin;

\set relation ledger.denial
select $list$
    denial_no        bigint                   not null generated always as identity
    session_id       text                     not null
    line_no          bigint                   not null
    denied_at        timestamp with time zone not null
    principal        name                     not null
    sqlstate         text                     not null
    message          text                     not null
    command          text
    application      text
    raised_in        text
    reported_at      timestamp with time zone not null
    reported_by      name                     not null
    suppressed       bigint                   not null default 0
    suppressed_until timestamp with time zone
$list$ as columns, $list$
    denial_is_of_a_permission
    denial_number_uq
    denial_pk
    denial_suppressed_has_its_time
    denial_suppressed_is_a_count
$list$ as constraints, $list$
    denial_principal_ix (principal, denied_at, denial_no)
$list$ as indexes
\gset
\ir ../_support/assert_table.psql

rollback;
