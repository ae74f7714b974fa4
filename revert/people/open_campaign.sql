-- Revert fencepost:people/open_campaign from pg

begin;
set local role fencepost_owner;

drop function kernel.open_campaign(text, text, uuid, text);

commit;
