-- Revert fencepost_superuser:watchdog/evict from pg
--
-- The role stays: another database may use it.

begin;
set local search_path = pg_catalog, pg_temp;

drop function watchdog.evict(interval);
drop type watchdog.eviction;
drop schema watchdog;

commit;
