-- Deploy fencepost:foundation/enter to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.enter()
    returns void
    language plpgsql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception 'the kernel is called under READ COMMITTED only'
            using errcode = 'KN111',
                  detail  = format('This transaction is %s.',
                                   upper(current_setting('transaction_isolation'))),
                  hint    = 'Begin it with ISOLATION LEVEL READ COMMITTED.';
    end if;
    if current_setting('transaction_read_only')::boolean then
        raise exception 'the kernel is called in a read-write transaction only'
            using errcode = 'KN112',
                  detail  = 'Every call may have to record a refusal.',
                  hint    = 'Begin it READ WRITE, on the primary.';
    end if;

    -- No "ok" for a row that a crash would lose; a stronger setting is left alone.
    if current_setting('synchronous_commit') in ('off', 'local', 'remote_write') then
        perform set_config('synchronous_commit', 'on', true);
    end if;
end
$fn$;

comment on function ledger.enter() is
$doc$What every kernel function does first: isolation, writability, durability.

Errors
    KN111 wrong_isolation, KN112 read_only

Raises synchronous_commit to "on" for the transaction where it is weaker.$doc$;

commit;
