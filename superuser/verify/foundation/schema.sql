-- Verify fencepost_superuser:foundation/schema on pg

begin;
\ir ../../../verify/_support/asserts_on.psql
reset role;

do $verify$
declare
    v_schema   pg_catalog.pg_namespace;
    v_found    text[];
begin
    select n.* into strict v_schema
    from pg_catalog.pg_namespace as n where n.nspname = 'fencepost_superuser';
    assert (select r.rolsuper from pg_catalog.pg_roles as r where r.oid = v_schema.nspowner),
        'schema fencepost_superuser belongs to a superuser';
    assert obj_description(v_schema.oid, 'pg_namespace') <> '', 'the schema is documented';

    assert not exists (
        select from pg_catalog.pg_namespace as n
        join pg_catalog.pg_roles as r on r.oid = n.nspowner
        where n.nspname = 'sqitch_superuser' and not r.rolsuper
    ), 'the registry of this plan belongs to a superuser: run superuser/sqitch';

    v_found := array(
        select format('%s %s by %s', o.what, a.privilege_type, a.grantee::regrole)
        from (
            select 'schema', v_schema.nspacl, v_schema.nspowner
            union all
            select format('table %s', c.relname),
                   coalesce(c.relacl, acldefault('r', c.relowner)), c.relowner
            from pg_catalog.pg_class as c
            where c.relnamespace = v_schema.oid and c.relkind in ('r', 'v', 'S', 'm', 'p', 'f')
            union all
            select format('column %s.%s', c.relname, t.attname), t.attacl, c.relowner
            from pg_catalog.pg_class as c
            join pg_catalog.pg_attribute as t on t.attrelid = c.oid
            where c.relnamespace = v_schema.oid
            union all
            select format('function %s', p.proname),
                   coalesce(p.proacl, acldefault('f', p.proowner)), p.proowner
            from pg_catalog.pg_proc as p where p.pronamespace = v_schema.oid
        ) as o (what, acl, owner)
        cross join aclexplode(o.acl) as a
        where a.grantee <> o.owner
        order by 1
    );
    assert v_found = '{}', format('nobody but a superuser gets at any of it, found %s', v_found);

    v_found := array(
        select format('%s of %s', o.name, o.owner::regrole)
        from (
            select c.relname, c.relowner from pg_catalog.pg_class as c
            where c.relnamespace = v_schema.oid
            union all
            select p.proname, p.proowner from pg_catalog.pg_proc as p
            where p.pronamespace = v_schema.oid
        ) as o (name, owner)
        where o.owner <> v_schema.nspowner
        order by 1
    );
    assert v_found = '{}', format('all of it belongs to who owns the schema, found %s', v_found);

    v_found := array(
        select concat_ws(' ', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
                         case when a.attnotnull then 'not null' end, nullif(a.attidentity, ''))
        from pg_catalog.pg_class as c
        join pg_catalog.pg_attribute as a on a.attrelid = c.oid and a.attnum > 0
        where c.relnamespace = v_schema.oid and c.relkind in ('r', 'v', 'm', 'p', 'f')
        order by c.relname, a.attnum
    );
    assert v_found = array[
        'restoration restoration_id bigint not null a', 'restoration change text not null',
        'restoration statement text not null'
    ], format('it holds the one table restoration, found %s', v_found);
    assert not exists (
        select from pg_catalog.pg_trigger as t
        join pg_catalog.pg_class as c on c.oid = t.tgrelid where c.relnamespace = v_schema.oid
    ) and not exists (
        select from pg_catalog.pg_rewrite as w
        join pg_catalog.pg_class as c on c.oid = w.ev_class where c.relnamespace = v_schema.oid
    ), 'nothing intercepts its rows';

    v_found := array(
        select format('%s%s %s', p.oid::regprocedure, case when p.prosecdef then ' definer' end,
                      p.proconfig)
        from pg_catalog.pg_proc as p
        where p.pronamespace = v_schema.oid and p.prorettype <> 'event_trigger'::regtype
        order by 1
    );
    assert v_found = array[
        'fencepost_superuser.give(text,text,text,aclitem[],text) '
            '{"search_path=pg_catalog, pg_temp"}',
        'fencepost_superuser.restore(text) {"search_path=pg_catalog, pg_temp"}',
        'fencepost_superuser.take(text,text,text,aclitem[]) {"search_path=pg_catalog, pg_temp"}'
    ], format('it holds take, give and restore, found %s', v_found);
end
$verify$;

rollback;
