-- Verify fencepost_superuser:diet/functions on pg

begin;
\ir ../../../verify/_support/asserts_on.psql
reset role;

-- Each with who needs it.
create temporary view dieted as
select p.oid, p.oid::regprocedure::text as object, p.proowner as owner,
       coalesce(p.proacl, acldefault('f', p.proowner)) as acl,
       case when p.proname like '%advisory%' then 'pg_database_owner'
            when p.proname like '%backend' then 'pg_signal_backend' end as needed_by
from pg_catalog.pg_proc as p
where p.pronamespace = 'pg_catalog'::regnamespace
  and (p.proname like 'lo\_%' or p.proname in ('loread', 'lowrite', 'pg_logical_emit_message',
                                               'pg_terminate_backend', 'pg_cancel_backend')
       or p.proname ~ '^pg_(try_)?advisory_');

do $verify$
declare
    v_found text[];
begin
    v_found := array(
        select format('%s by %s', d.object,
                      case a.grantee when 0 then 'public' else a.grantee::regrole::text end)
        from dieted as d
        cross join aclexplode(d.acl) as a
        where a.grantee <> d.owner
          and (a.is_grantable or a.grantee = 0
               or a.grantee::regrole::text is distinct from d.needed_by)
        order by 1
    );
    assert v_found = '{}', format('only who needs them calls these, found %s', v_found);

    v_found := array(
        select d.object from dieted as d
        where d.needed_by is not null and not has_function_privilege(d.needed_by, d.oid, 'execute')
        order by 1
    );
    assert v_found = '{}', format('who needs these calls them, found %s', v_found);
    assert (select count(*) from dieted) > 40, 'they are all there';
end
$verify$;

rollback;
