-- Deploy fencepost_superuser:guard/client_ddl to pg
--
-- A third lock, behind the pinned search_path and the closed database. Commands on what belongs to
-- the whole server, such as roles, do not fire it.

begin;
set local search_path = pg_catalog, pg_temp;

create function fencepost_superuser.tg__refuse_client_ddl()
    returns event_trigger
    language plpgsql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
begin
    -- session_user: who has set another role is still who logged in. From 16 on a membership says
    -- whether it lets become; before, all do.
    if exists (
        select from pg_catalog.pg_roles as r
        where r.rolname = session_user
          and (r.rolsuper or pg_has_role(
              r.oid, 'fencepost_owner',
              case when current_setting('server_version_num')::integer < 160000 then 'member'
                   else 'set' end
          ))
    ) then
        return;
    end if;

    raise exception '% is not for %', tg_tag, session_user
        using errcode = 'insufficient_privilege',
              detail  = 'Only who may become fencepost_owner changes what is in this database.',
              hint    = 'Deploy as the deployer; clients call the functions of schema kernel.';
end
$fn$;

comment on function fencepost_superuser.tg__refuse_client_ddl() is
$doc$Refuses every command that defines something, unless the session is a superuser's or that of a
role which may become fencepost_owner.

Errors
    42501 insufficient_privilege$doc$;

revoke execute on function fencepost_superuser.tg__refuse_client_ddl() from public;

-- The linter knows no event triggers.
create event trigger fencepost_client_ddl on ddl_command_start  -- noqa: PRS
execute function fencepost_superuser.tg__refuse_client_ddl();
alter event trigger fencepost_client_ddl enable always;

comment on event trigger fencepost_client_ddl is 'Clients of the ledger define nothing here.';

commit;
