-- Verify fencepost:foundation/roles on pg

begin;
\ir ../_support/asserts_on.psql

do $verify$
declare
    c_groups constant text[] := array[
        'fencepost_worker', 'fencepost_verifier', 'fencepost_reaper',
        'fencepost_sensor', 'fencepost_admin', 'fencepost_auditor', 'fencepost_collector'
    ];
    v_role   text;
begin
    foreach v_role in array c_groups || array['fencepost_owner'] loop
        assert exists (
            select from pg_catalog.pg_roles as r where r.rolname = v_role
        ), format('there is a role %s', v_role);
        assert not exists (
            select from pg_catalog.pg_roles as r
            where r.rolname = v_role
              and (r.rolcanlogin or r.rolsuper or r.rolcreaterole or r.rolcreatedb
                   or r.rolreplication or r.rolbypassrls)
        ), format('%s is a group: it does not log in, and has no attribute', v_role);
        assert not exists (
            select from pg_catalog.pg_auth_members as m where m.member = to_regrole(v_role)
        ), format('%s is a member of nothing', v_role);
        assert not exists (
            select from pg_catalog.pg_db_role_setting as s where s.setrole = to_regrole(v_role)
        ), format('%s has no settings', v_role);
    end loop;
end
$verify$;

rollback;
