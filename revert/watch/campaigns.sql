-- Revert fencepost:watch/campaigns from pg

begin;
set local role fencepost_owner;

drop view audit.campaigns;

commit;
