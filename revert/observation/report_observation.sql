-- Revert fencepost:observation/report_observation from pg

begin;
set local role fencepost_owner;

drop function kernel.report_observation(text, text, bigint, uuid, boolean, text, text, bytea);

commit;
