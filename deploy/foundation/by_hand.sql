-- Deploy fencepost:foundation/by_hand to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.tg__not_by_hand()
    returns trigger
    language plpgsql
    volatile
    security definer
    set search_path = pg_catalog, pg_temp
    set client_min_messages = warning
    set timezone = 'UTC'
    set datestyle = 'ISO, MDY'
    set intervalstyle = 'postgres'
    set bytea_output = 'hex'
    set standard_conforming_strings = on
    set lock_timeout = '5s'
as $fn$
begin
    raise exception '% of ledger.% by hand is refused', tg_op, tg_table_name
        using errcode = 'KN901',
              detail  = format('Role %s writes it as itself, after SET ROLE or as a replica, not '
                               'through a function of the kernel.', session_user),
              hint    = 'Reset the role, and call the kernel function that does what you want.';
end
$fn$;

comment on function ledger.tg__not_by_hand() is
$doc$Refuses whatever it is fired for, to the owner and to superusers too.

Its triggers fire for rows written by who is not fencepost_owner, or became it by set session
authorization, or set any role: the setting keeps the name of one that was renamed since. They fire
where a subscription is applied, which is done as the owner from 16 on, and for a TRUNCATE whoever's
it is. What is left is what runs in a function of the owner's with the owner's rights, and there are
none but the kernel's. For each row, since no trigger for each statement fires where a parent of the
table is written or a subscription is applied; after the row was changed, so that a trigger with more
to say of it says it first.

Errors
    KN901 move_refused$doc$;

commit;
