-- Revert fencepost:foundation/digest from pg

begin;
set local role fencepost_owner;

drop function ledger.token_digest(uuid);
drop function ledger.digest(jsonb);

commit;
