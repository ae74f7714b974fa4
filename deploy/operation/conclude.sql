-- Deploy fencepost:operation/conclude to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.shows(p_operation ledger.operation, p_read_back jsonb)
    returns boolean
    language sql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
    select p_operation.expected -> 'after' is null
        or coalesce(p_read_back @> (p_operation.expected -> 'after'), false);
$fn$;

comment on function ledger.shows(ledger.operation, jsonb) is
$doc$Whether what was read back contains all that the operation was to bring about: "after" of what
was expected; true where nothing was.$doc$;

create or replace function ledger.conclude(
    p_function        text,
    p_class           text,
    p_operation_key   text,
    p_operation_token uuid,
    p_said            ledger.operation
)
    returns kernel.operation
    language plpgsql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_token     bytea;
    v_content   bytea;
    v_operation ledger.operation;
    v_now       timestamptz;
begin
    if not ledger.does_operations(p_class) then
        return ledger.as_operation(ledger.forbid(p_function, p_class));
    end if;
    perform ledger.known_class(p_class);

    v_token   := ledger.token_digest(p_operation_token);
    v_content := ledger.digest(jsonb_build_array(
        p_said.last_event, p_said.result, p_said.result_text, p_said.read_back,
        p_said.diagnostic, p_said.reason
    ));
    -- Its own lock and no other: the truth about an effect needs no campaign in any state.
    v_operation := ledger.lock_operation(
        p_class, p_operation_key, v_token,
        case when p_said.state = 'completed' then '{pending,unknown}' else '{pending}' end::text[]
    );
    if v_operation.class is null then
        v_operation := ledger.operation_of(p_class, p_operation_key);
        if ledger.is_repeated_operation(p_class, p_operation_key, v_token, v_content) then
            return ledger.done_with(v_operation, false, true);
        end if;
        return ledger.refuse_operation(p_function, p_class, p_operation_key, v_token);
    end if;
    -- An unknown one keeps its token: what it said before is a repeat, not a new word.
    if ledger.is_repeated_operation(p_class, p_operation_key, v_token, v_content) then
        return ledger.done_with(v_operation, false, true);
    end if;

    if p_said.state in ('completed', 'unknown')
        and v_operation.campaign_id is not null
        and v_operation.started_at is null
    then
        return ledger.as_operation(ledger.refuse(
            p_function, 'illegal', p_class,
            'it was never started and cannot have happened: release it',
            v_operation.campaign_id, v_operation.generation
        ));
    end if;
    if p_said.state = 'completed' and not ledger.shows(v_operation, p_said.read_back) then
        return ledger.as_operation(ledger.refuse(
            p_function, 'no_evidence', p_class,
            'what was read back does not show what was to be brought about',
            v_operation.campaign_id, v_operation.generation
        ));
    end if;

    v_now := ledger.clock();
    update ledger.operation as o
    set state               = p_said.state,
        revision            = o.revision + 1,
        lease_expires_at    = null,
        result              = p_said.result,
        result_text         = p_said.result_text,
        read_back           = p_said.read_back,
        diagnostic          = coalesce(p_said.diagnostic, o.diagnostic),
        reason              = p_said.reason,
        updated_at          = v_now,
        last_event          = p_said.last_event,
        last_content_sha256 = v_content
    where o.class = p_class and o.operation_key = p_operation_key
    returning o.* into v_operation;
    return ledger.done_with(v_operation, true);
end
$fn$;

comment on function ledger.conclude(text, text, text, uuid, ledger.operation) is
$doc$What complete_operation, fail_operation and mark_operation_unknown have in common: the owner
says how it ended.

Parameters
    p_function         the function called, without its schema
    p_class, p_operation_key, p_operation_token   as the caller named them
    p_said             state, last_event, result, result_text, read_back, diagnostic and reason are
                       read

Neither the age of a lease nor the campaign's state is a hindrance while nobody else has taken the
operation.

Writes
    ledger.operation, ledger.operation_event$doc$;

commit;
