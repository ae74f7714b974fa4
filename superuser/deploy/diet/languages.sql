-- Deploy fencepost_superuser:diet/languages to pg
--
-- Who may not use a language writes no DO and no function: no loop in the server, and no line in
-- its log that looks like the kernel's. To call a function takes no such right.

begin;
set local search_path = pg_catalog, pg_temp;

do $do$
declare
    c_change constant text := 'diet/languages';
    v_language record;
    v_role     text;
begin
    for v_language in
        select format('language %I', l.lanname) as object,
               coalesce(l.lanacl, acldefault('l', l.lanowner)) as acl
        from pg_catalog.pg_language as l
        where l.lanpltrusted
        order by 1
    loop
        perform fencepost_superuser.take(c_change, 'usage', v_language.object, v_language.acl);
        -- Migrations: the deployer writes DO as himself, and functions as the owner.
        foreach v_role in array array['fencepost_owner', 'pg_database_owner'] loop
            perform fencepost_superuser.give(c_change, 'usage', v_language.object, v_language.acl,
                                             v_role);
        end loop;
    end loop;
end
$do$;

commit;
