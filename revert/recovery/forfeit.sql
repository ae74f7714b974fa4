-- Revert fencepost:recovery/forfeit from pg

begin;
set local role fencepost_owner;

drop function ledger.forfeit(ledger.campaign, timestamptz);

commit;
