-- Deploy fencepost:policy/log_config to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.log_config(
    p_class        text,
    p_action       text,
    p_subject      text,
    p_before       jsonb,
    p_after        jsonb,
    p_token_sha256 bytea default null
)
    returns void
    language plpgsql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_now constant timestamptz := ledger.clock();
begin
    insert into ledger.config_event
        (class, action, subject, by_principal, at, before, after, token_sha256)
    values
        (p_class, p_action, p_subject, session_user, v_now, p_before, p_after, p_token_sha256);
end
$fn$;

comment on function ledger.log_config(text, text, text, jsonb, jsonb, bytea) is
$doc$Records who changed what of the configuration, from and to what.

Parameters
    p_class         the class concerned; empty for a principal
    p_action        the kernel function, without its schema
    p_subject       the class, target or principal that was changed
    p_before        the row as it was; null where it is new
    p_after         the row as it is; null where it is gone
    p_token_sha256  of the token by which a repeat is recognised; null where the row itself tells

Writes
    ledger.config_event$doc$;

commit;
