-- Revert fencepost:lease/claim from pg

begin;
set local role fencepost_owner;

drop function kernel.claim(text, uuid, text, interval);

commit;
