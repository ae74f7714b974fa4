-- Verify fencepost:policy/enrolment on pg

begin;

\set relation ledger.enrolment
select $list$
    class         text                     not null
    duty          text                     not null
    principal     name                     not null
    principal_oid oid                      not null
    enrolled_at   timestamp with time zone not null
    enrolled_by   name                     not null
$list$ as columns, $list$
    enrolment_class_fk
    enrolment_duty_is_known
    enrolment_pk
    enrolment_principal_fk
$list$ as constraints, $list$
    enrolment_principal_ix (principal)
$list$ as indexes
\gset
\ir ../_support/assert_table.psql

\set relation ledger.enrolment
select $list$
    enrolment_10_not_by_hand after any write by hand: tg__not_by_hand
    enrolment_20_no_truncate before truncate, each statement: tg__not_by_hand
$list$ as triggers \gset
\ir ../_support/assert_triggers.psql

rollback;
