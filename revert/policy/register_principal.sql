-- Revert fencepost:policy/register_principal from pg

begin;
set local role fencepost_owner;

drop function kernel.register_principal(text, text);

commit;
