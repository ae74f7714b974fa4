-- Verify fencepost_superuser:guard/client_ddl on pg

begin;
\ir ../../../verify/_support/asserts_on.psql
reset role;

do $verify$
declare
    v_proc    pg_catalog.pg_proc;
    v_trigger pg_catalog.pg_event_trigger;
begin
    select p.* into strict v_proc from pg_catalog.pg_proc as p
    where p.oid = 'fencepost_superuser.tg__refuse_client_ddl()'::regprocedure;
    assert (select r.rolsuper from pg_catalog.pg_roles as r where r.oid = v_proc.proowner),
        'the guard belongs to a superuser';
    assert not v_proc.prosecdef, 'the guard runs with nobody else''s rights';
    assert v_proc.proconfig = array['search_path=pg_catalog, pg_temp'],
        format('the guard pins search_path, found %s', v_proc.proconfig);
    assert not exists (
        select from aclexplode(coalesce(v_proc.proacl, acldefault('f', v_proc.proowner))) as a
        where a.grantee <> v_proc.proowner
    ), 'nobody calls the guard';
    assert obj_description(v_proc.oid, 'pg_proc') <> '', 'the guard is documented';

    select t.* into strict v_trigger from pg_catalog.pg_event_trigger as t
    where t.evtname = 'fencepost_client_ddl';
    assert v_trigger.evtevent = 'ddl_command_start' and v_trigger.evttags is null,
        'the guard fires before every command that defines something';
    assert v_trigger.evtenabled = 'A', 'the guard fires always';
    assert v_trigger.evtfoid = v_proc.oid, 'the trigger calls the guard';
    assert v_trigger.evtowner = v_proc.proowner, 'the trigger belongs to who owns the guard';
    assert obj_description(v_trigger.oid, 'pg_event_trigger') <> '', 'the trigger is documented';
end
$verify$;

rollback;
