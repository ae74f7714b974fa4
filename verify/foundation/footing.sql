-- Verify fencepost:foundation/footing on pg

begin;

\set relation ledger.footing
select $list$
    is_footing    boolean not null default true
    footing       text    not null
    database_lost text[]  not null
    schema_lost   text[]  not null
    admitted      text[]  not null
$list$ as columns, $list$
    footing_is_known
    footing_is_one_row
    footing_pk
    footing_takes_nothing_when_shared
$list$ as constraints, '' as indexes
\gset
\ir ../_support/assert_table.psql

\set relation ledger.footing
select $list$
    footing_10_not_by_hand after any write by hand: tg__not_by_hand
    footing_20_no_truncate before truncate, each statement: tg__not_by_hand
$list$ as triggers \gset
\ir ../_support/assert_triggers.psql

do $verify$
declare
    c_database  constant text   := current_database();
    c_groups    constant text[] := array[
        'fencepost_worker', 'fencepost_verifier', 'fencepost_reaper',
        'fencepost_sensor', 'fencepost_admin', 'fencepost_auditor', 'fencepost_collector'
    ];
    v_footing   ledger.footing%rowtype;
    v_found     text[];
    v_group     text;
    v_privilege text;
begin
    assert (select count(*) from ledger.footing) = 1, 'a ledger has one footing';
    select f.* into strict v_footing from ledger.footing as f;

    foreach v_group in array c_groups loop
        assert has_database_privilege(v_group, c_database, 'connect'),
            format('%s may connect to this database', v_group);
    end loop;
    v_found := array(
        select format('%s %s%s', r.rolname, lower(a.privilege_type),
                      case when a.is_grantable then ' with grant option' end)
        from pg_catalog.pg_database as d
        cross join aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) as a
        join pg_catalog.pg_roles as r on r.oid = a.grantee
        where d.datname = c_database and r.rolname = any (c_groups)
          and (a.is_grantable or a.privilege_type <> 'CONNECT')
    );
    assert v_found = '{}',
        format('the groups may connect to this database, and no more; found %s', v_found);

    if v_footing.footing = 'dedicated' then
        v_found := array(
            select format('%s %s', coalesce(r.rolname, 'public'), lower(a.privilege_type))
            from pg_catalog.pg_database as d
            cross join aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) as a
            left join pg_catalog.pg_roles as r on r.oid = a.grantee
            where d.datname = c_database and a.grantee <> d.datdba
              and (a.grantee = 0 or a.privilege_type <> 'CONNECT')
            order by 1
        );
        assert v_found = '{}', format(
            'a dedicated database is closed to public, and only its owner makes objects; found %s',
            v_found);

        if to_regnamespace('public') is not null then
            foreach v_group in array array['public'] || c_groups loop
                foreach v_privilege in array array['usage', 'create'] loop
                    assert not has_schema_privilege(v_group, 'public', v_privilege),
                        format('%s has no %s on schema public of a dedicated database',
                               v_group, v_privilege);
                end loop;
            end loop;
        end if;
    end if;
end
$verify$;

rollback;
