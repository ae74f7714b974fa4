-- Verify fencepost:watch/authorities on pg

begin;

\set view audit.authorities
select $list$
    class         text
    duty          text
    kind          text
    target        text
    is_standalone boolean
    attempt_limit integer
    granted_at    timestamp with time zone
    granted_by    name
$list$ as columns \gset
\ir ../_support/assert_view.psql

rollback;
