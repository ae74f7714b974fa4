-- Revert fencepost:foundation/require from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.require_campaign(text, bigint, bigint);
drop function ledger.require_evidence(text, bytea);
drop function ledger.require_object(text, jsonb);
drop function ledger.require_size(text, jsonb);
drop function ledger.require_text(text, text, integer);
drop function ledger.require_bytes(text, text, integer);
drop function ledger.require_class(text);
drop function ledger.is_blank(text);
drop function ledger.require(text, boolean);

commit;
