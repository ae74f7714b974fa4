-- Verify fencepost:watch/enrolments on pg

begin;

\set view audit.enrolments
select $list$
    class         text
    duty          text
    principal     name
    principal_oid oid
    family        text
    enrolled_at   timestamp with time zone
    enrolled_by   name
$list$ as columns \gset
\ir ../_support/assert_view.psql

rollback;
