-- Deploy fencepost:foundation/digest to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.digest(p_content jsonb)
    returns bytea
    language sql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
    select pg_catalog.sha256(pg_catalog.convert_to(p_content::text, 'UTF8'));
$fn$;

comment on function ledger.digest(jsonb) is
$doc$The SHA-256 (32 bytes) of what a call said; a repeat is recognised by it.

jsonb has one text per value (keys sorted, no white space of its own), so equal content has
equal digests.$doc$;

create or replace function ledger.token_digest(p_token uuid)
    returns bytea
    language sql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
    select pg_catalog.sha256(pg_catalog.uuid_send(p_token));
$fn$;

comment on function ledger.token_digest(uuid) is
$doc$The SHA-256 (32 bytes) of a client's token. The ledger keeps this and never the token.$doc$;

commit;
