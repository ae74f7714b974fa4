-- Revert fencepost:log/bury from pg

begin;
set local role fencepost_owner;

drop function ledger.bury(ledger.campaign, timestamptz);

commit;
