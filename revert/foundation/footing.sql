-- Revert fencepost:foundation/footing from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

-- Only what the deployment took is given back, and what it gave is taken.
do $do$
declare
    c_database constant text := current_database();
    v_footing  ledger.footing%rowtype;
    v_what     text;
begin
    select f.* into strict v_footing from ledger.footing as f;
    reset role;

    -- To who may not, GRANT and REVOKE may say no more than a warning.
    if exists (
        select from pg_catalog.pg_database as d
        where d.datname = c_database and not pg_has_role(current_user, d.datdba, 'usage')
          and v_footing.database_lost || v_footing.admitted <> '{}'
    ) or exists (
        select from pg_catalog.pg_namespace as n
        where n.nspname = 'public' and not pg_has_role(current_user, n.nspowner, 'usage')
          and v_footing.schema_lost <> '{}'
    ) then
        raise exception 'database "%" cannot be given back as it was found', c_database
            using errcode = 'insufficient_privilege',
                  hint    = 'Revert as who owns the database and its schema public.';
    end if;

    foreach v_what in array v_footing.admitted loop
        execute format('revoke connect on database %I from %I', c_database, v_what);
    end loop;
    foreach v_what in array v_footing.database_lost loop
        execute format('grant %s on database %I to public', v_what, c_database);
    end loop;
    foreach v_what in array v_footing.schema_lost loop
        execute format('grant %s on schema public to public', v_what);
    end loop;
end
$do$;

set local role fencepost_owner;
drop table ledger.footing;

commit;
