-- Revert fencepost_superuser:diet/activity from pg

begin;
set local search_path = pg_catalog, pg_temp;

do $do$
begin
    perform fencepost_superuser.restore('diet/activity');
end
$do$;

commit;
