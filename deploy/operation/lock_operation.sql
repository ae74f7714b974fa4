-- Deploy fencepost:operation/lock_operation to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.require_operation(p_class text, p_operation_key text)
    returns void
    language plpgsql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform ledger.require_class(p_class);
    perform ledger.require('p_operation_key', p_operation_key is not null);
    perform ledger.require_text('p_operation_key', p_operation_key, 512);
end
$fn$;

comment on function ledger.require_operation(text, text) is
$doc$Raises KN101, KN102 or KN103 unless the two that name an operation have their form.$doc$;

create or replace function ledger.operation_of(p_class text, p_operation_key text)
    returns ledger.operation
    language plpgsql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_operation ledger.operation;
begin
    select o.* into v_operation
    from ledger.operation as o
    where o.class = p_class and o.operation_key = p_operation_key;
    if not found then
        raise exception 'class % has no such operation', p_class
            using errcode = 'KN116',
                  detail  = 'It was never begun, or it ended long ago and was pruned.',
                  hint    = 'Take the key from what kernel.begin_operation returned.';
    end if;
    return v_operation;
end
$fn$;

comment on function ledger.operation_of(text, text) is
$doc$The operation as it stands, unlocked; raises KN116 unknown_operation.$doc$;

create or replace function ledger.lock_operation(
    p_class         text,
    p_operation_key text,
    p_token_sha256  bytea,
    p_states        text[]
)
    returns ledger.operation
    language plpgsql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_oid       constant oid := ledger.session_oid();
    v_operation ledger.operation;
begin
    -- Whose it is stands in the WHERE of the statement that locks, as with leases.
    select o.* into v_operation
    from ledger.operation as o
    where o.class = p_class
      and o.operation_key = p_operation_key
      and o.state = any (p_states)
      and o.principal = session_user
      and o.principal_oid = v_oid
      and o.token_sha256 = p_token_sha256
    for no key update;
    return v_operation;
end
$fn$;

comment on function ledger.lock_operation(text, text, bytea, text[]) is
$doc$Locks the operation that the session's principal owns with this token.

Returns the row, or a row of nulls where it is not so owned or in no such state.$doc$;

create or replace function ledger.is_repeated_operation(
    p_class          text,
    p_operation_key  text,
    p_token_sha256   bytea,
    p_content_sha256 bytea
)
    returns boolean
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    select exists (
        select
        from ledger.operation_event as e
        where e.class = p_class
          and e.operation_key = p_operation_key
          and e.by_principal = session_user
          and e.token_sha256 = p_token_sha256
          and e.content_sha256 = p_content_sha256
    );
$fn$;

comment on function ledger.is_repeated_operation(text, text, bytea, bytea) is
$doc$Whether this principal has made this very call with this token before: the history knows,
however far the operation has moved since.$doc$;

create or replace function ledger.refuse_operation(
    p_function      text,
    p_class         text,
    p_operation_key text,
    p_token_sha256  bytea
)
    returns kernel.operation
    language plpgsql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_operation ledger.operation := ledger.operation_of(p_class, p_operation_key);
    v_outcome   text;
    v_message   text;
begin
    if v_operation.principal = session_user
        and v_operation.principal_oid = ledger.session_oid()
        and v_operation.token_sha256 = p_token_sha256
    then
        v_outcome := case v_operation.state
            when 'pending' then 'illegal'
            when 'unknown' then 'illegal'
            else 'stale'
        end;
        v_message := format('%s is not done to an operation that is %s',
                            p_function, v_operation.state);
    elsif exists (
        select
        from ledger.operation_event as e
        where e.class = p_class
          and e.operation_key = p_operation_key
          and e.by_principal = session_user
          and e.token_sha256 = p_token_sha256
    ) then
        v_outcome := 'stale';
        v_message := 'another has taken the operation over';
    else
        v_outcome := 'not_holder';
        v_message := 'another principal or token owns the operation';
    end if;
    return ledger.as_operation(ledger.refuse(
        p_function, v_outcome, p_class, v_message, v_operation.campaign_id, v_operation.generation
    ));
end
$fn$;

comment on function ledger.refuse_operation(text, text, text, bytea) is
$doc$Says why a call could not lock its operation, and records the refusal.

Answers
    stale where it was the caller's and has been taken over or concluded in another way; illegal
    where it is the caller's, but in a state for which there is no such call; else not_holder

Errors
    KN116 unknown_operation$doc$;

create or replace function ledger.does_operations(p_class text)
    returns boolean
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    select ledger.is_enrolled(p_class, 'worker') or ledger.is_enrolled(p_class, 'verifier');
$fn$;

comment on function ledger.does_operations(text) is
$doc$Whether the session's principal is enrolled for a duty that does operations.$doc$;

commit;
