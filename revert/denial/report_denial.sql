-- Revert fencepost:denial/report_denial from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.report_denial(
    text, bigint, timestamptz, text, text, text, text, text, text
);
drop function ledger.is_client(text);

commit;
