-- Verify fencepost:foundation/schemas on pg

begin;
\ir ../_support/asserts_on.psql

do $verify$
declare
    c_groups  constant text[] := array[
        'fencepost_worker', 'fencepost_verifier', 'fencepost_reaper',
        'fencepost_sensor', 'fencepost_admin', 'fencepost_auditor', 'fencepost_collector'
    ];
    v_schema  pg_catalog.pg_namespace%rowtype;
    v_name    text;
    v_callers text[];
    v_group   text;
    v_found   text[];
begin
    foreach v_name in array array['ledger', 'kernel', 'audit'] loop
        select n.* into strict v_schema from pg_catalog.pg_namespace as n where n.nspname = v_name;
        v_callers := case v_name
            when 'kernel' then c_groups when 'audit' then array['fencepost_auditor'] else '{}'
        end;

        assert v_schema.nspowner = 'fencepost_owner'::regrole,
            format('schema %s belongs to fencepost_owner, not to whoever deployed it', v_name);
        v_found := array(
            select format('%s %s%s', coalesce(r.rolname, 'public'), lower(a.privilege_type),
                          case when a.is_grantable then ' with grant option' end)
            from aclexplode(coalesce(v_schema.nspacl, acldefault('n', v_schema.nspowner))) as a
            left join pg_catalog.pg_roles as r on r.oid = a.grantee
            order by 1
        );
        assert v_found = array(
            select format('%s usage', g.name) from unnest(v_callers) as g (name)
            union all
            select format('fencepost_owner %s', p.name)
            from unnest(array['create', 'usage']) as p (name)
            order by 1
        ), format('schema %s is used by its owner, %s and nobody else, found %s',
                  v_name, v_callers, v_found);
        foreach v_group in array c_groups loop
            assert has_schema_privilege(v_group, v_schema.oid, 'usage')
                = (v_group = any (v_callers)),
                format('%s %s schema %s', v_group,
                       case when v_group = any (v_callers) then 'uses' else 'does not use' end,
                       v_name);
            assert not has_schema_privilege(v_group, v_schema.oid, 'create'),
                format('%s adds nothing to schema %s', v_group, v_name);
        end loop;
        assert obj_description(v_schema.oid, 'pg_namespace') <> '',
            format('schema %s is documented', v_name);
    end loop;

    v_found := array(
        select format('%s %s %s', d.defaclobjtype, d.defaclnamespace, d.defaclacl)
        from pg_catalog.pg_default_acl as d
        where d.defaclrole = 'fencepost_owner'::regrole
        order by 1
    );
    assert v_found = array[
        'T 0 {fencepost_owner=U/fencepost_owner}', 'f 0 {fencepost_owner=X/fencepost_owner}'
    ], format('what fencepost_owner makes is its own by default, found %s', v_found);
end
$verify$;

-- What a new object is born with, tried rather than read.
create function kernel.probe() returns void language sql set search_path = '' as '';
create function ledger.probe() returns void language sql set search_path = '' as '';
create type kernel.probe as (probe text);
create table ledger.probe (probe text);
create view audit.probe as select 1 as probe;

do $verify$
declare
    v_who text;
begin
    foreach v_who in array array[
        'public', 'fencepost_worker', 'fencepost_verifier', 'fencepost_reaper',
        'fencepost_sensor', 'fencepost_admin', 'fencepost_auditor', 'fencepost_collector'
    ] loop
        assert not has_function_privilege(v_who, 'kernel.probe()', 'execute')
            and not has_function_privilege(v_who, 'ledger.probe()', 'execute'),
            format('a new function is closed to %s', v_who);
        assert not has_type_privilege(v_who, 'kernel.probe', 'usage'),
            format('a new type is closed to %s', v_who);
        assert not has_any_column_privilege(
            v_who, 'ledger.probe', 'select, insert, update, references')
            and not has_any_column_privilege(
                v_who, 'audit.probe', 'select, insert, update, references'),
            format('a new table and a new view are closed to %s', v_who);
    end loop;
end
$verify$;

rollback;
