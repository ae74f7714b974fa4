-- Revert fencepost:people/dismiss from pg

begin;
set local role fencepost_owner;

drop function kernel.dismiss(text, text, text);

commit;
