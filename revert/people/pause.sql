-- Revert fencepost:people/pause from pg

begin;
set local role fencepost_owner;

drop function kernel.pause(text, text);
drop function ledger.set_paused(text, text, boolean, text);

commit;
