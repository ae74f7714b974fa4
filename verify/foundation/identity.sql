-- Verify fencepost:foundation/identity on pg

begin;

\set function ledger.session_oid
\set arguments ''
\set returns oid
\set volatility stable
\ir ../_support/assert_helper.psql

\set function ledger.is_member
select $list$
    p_role  oid
    p_group text
$list$ as arguments \gset
\set returns boolean
\set volatility stable
\ir ../_support/assert_helper.psql

\set function ledger.session_is
\set arguments 'p_duty text'
\set returns boolean
\set volatility stable
\ir ../_support/assert_helper.psql

do $verify$
begin
    assert ledger.session_oid() = session_user::regrole, 'the principal is the session''s own role';
    assert not ledger.is_member('fencepost_worker'::regrole, 'fencepost_verifier'),
        'one group is no member of another';
    assert not exists (
        select from pg_catalog.pg_roles as r
        where r.rolsuper
          and ledger.is_member(r.oid, 'fencepost_worker')
          and not exists (
              select from pg_catalog.pg_auth_members as m
              where m.member = r.oid and m.roleid = 'fencepost_worker'::regrole
          )
    ), 'a superuser is a member of what it was granted and of nothing else';
end
$verify$;

rollback;
