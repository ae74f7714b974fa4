-- Revert fencepost:people/resume from pg

begin;
set local role fencepost_owner;

drop function kernel.resume(text, text);

commit;
