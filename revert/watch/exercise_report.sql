-- Revert fencepost:watch/exercise_report from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.exercise_report(text, interval);
drop function ledger.exercise(text, timestamptz, timestamptz);
drop type kernel.exercise;

commit;
