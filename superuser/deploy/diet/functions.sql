-- Deploy fencepost_superuser:diet/functions to pg
--
-- What a client needs none of: storage and a drop box in large objects; locks that any role can
-- take on any key, and so many that the whole server stops; messages in the WAL; ending sessions of
-- the same role.

begin;
set local search_path = pg_catalog, pg_temp;

do $do$
declare
    c_change constant text := 'diet/functions';
    v_function record;
begin
    for v_function in
        select format('function pg_catalog.%I(%s)', p.proname,
                      pg_get_function_identity_arguments(p.oid)) as object,
               coalesce(p.proacl, acldefault('f', p.proowner)) as acl,
               case
                   -- sqitch locks its target so, as whom it connects: the database's owner.
                   when p.proname ~ '^pg_(try_)?advisory_' then 'pg_database_owner'
                   when p.proname ~ '^pg_(terminate|cancel)_backend$' then 'pg_signal_backend'
               end as needed_by
        from pg_catalog.pg_proc as p
        where p.pronamespace = 'pg_catalog'::regnamespace
          and p.proname ~ ('^(lo_.*|loread|lowrite|pg_(try_)?advisory_.*|pg_logical_emit_message'
                           || '|pg_(terminate|cancel)_backend)$')
        order by 1
    loop
        perform fencepost_superuser.take(c_change, 'execute', v_function.object, v_function.acl);
        if v_function.needed_by is not null then
            perform fencepost_superuser.give(c_change, 'execute', v_function.object,
                                             v_function.acl, v_function.needed_by);
        end if;
    end loop;
end
$do$;

commit;
