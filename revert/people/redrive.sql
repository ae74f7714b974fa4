-- Revert fencepost:people/redrive from pg

begin;
set local role fencepost_owner;

drop function kernel.redrive(text, bigint, bigint, text, text[]);

commit;
