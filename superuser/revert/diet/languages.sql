-- Revert fencepost_superuser:diet/languages from pg

begin;
set local search_path = pg_catalog, pg_temp;

do $do$
begin
    perform fencepost_superuser.restore('diet/languages');
end
$do$;

commit;
