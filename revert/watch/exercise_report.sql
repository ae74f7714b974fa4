-- Revert fencepost:watch/exercise_report from pg

begin;
set local role fencepost_owner;

drop function kernel.exercise_report(text, interval);
drop function ledger.exercise(text, timestamptz, timestamptz);
drop type kernel.exercise;

commit;
