-- Revert fencepost:recovery/prune_operations from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.prune_operations(text, integer, interval);
drop type kernel.pruning;

commit;
