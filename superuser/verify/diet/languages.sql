-- Verify fencepost_superuser:diet/languages on pg

begin;
\ir ../../../verify/_support/asserts_on.psql
reset role;

do $verify$
declare
    v_found text[];
begin
    v_found := array(
        select format('%s by %s%s', l.lanname,
                      case a.grantee when 0 then 'public' else a.grantee::regrole::text end,
                      case when a.is_grantable then ' with grant option' end)
        from pg_catalog.pg_language as l
        cross join aclexplode(coalesce(l.lanacl, acldefault('l', l.lanowner))) as a
        where l.lanpltrusted and a.grantee <> l.lanowner
        order by 1
    );
    assert v_found = array(
        select format('%s by %s', l.lanname, r.name)
        from pg_catalog.pg_language as l
        cross join unnest(array['fencepost_owner', 'pg_database_owner']) as r (name)
        where l.lanpltrusted
        order by 1
    ), format('only migrations write functions, found %s', v_found);
end
$verify$;

rollback;
