-- Deploy fencepost:operation/resolve_operation to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.resolve_operation(
    p_class         text,
    p_operation_key text,
    p_incarnation   uuid,
    p_revision      integer,
    p_state         text,
    p_reason        text  default null,
    p_result        jsonb default null,
    p_read_back     jsonb default null,
    p_result_text   text  default null,
    p_token         uuid  default null
)
    returns kernel.operation
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
declare
    v_content   bytea;
    v_operation ledger.operation;
    v_is_admin  boolean;
    v_is_right  boolean;
    v_outcome   text;
    v_message   text;
    v_now       timestamptz;
begin
    perform ledger.enter();
    perform ledger.require_operation(p_class, p_operation_key);
    perform ledger.require('p_incarnation', p_incarnation is not null);
    perform ledger.require('p_revision', p_revision is not null);
    perform ledger.require('p_state', p_state is not null);
    if p_state not in ('completed', 'failed', 'still_unknown') then
        raise exception 'an operation is not resolved as %', left(p_state, 63)
            using errcode = 'KN102',
                  detail  = 'A resolution ends an operation, or keeps it unknown.',
                  hint    = 'Say completed, failed or still_unknown.';
    end if;
    perform ledger.require_text('p_reason', p_reason, 4096);
    perform ledger.require('p_reason', p_state = 'completed' or p_reason is not null);
    perform ledger.require_size('p_result', p_result);
    perform ledger.require_size('p_read_back', p_read_back);
    perform ledger.require_bytes('p_result_text', p_result_text, 65536);
    v_is_admin := ledger.session_is('admin');
    if not (v_is_admin or ledger.does_operations(p_class)) then
        return ledger.as_operation(ledger.forbid('resolve_operation', p_class));
    end if;
    perform ledger.known_class(p_class);

    v_operation := ledger.operation_of(p_class, p_operation_key);
    v_content   := ledger.digest(jsonb_build_array(
        'resolve', p_incarnation, p_revision, p_state, p_reason, p_result, p_read_back,
        p_result_text
    ));
    perform
    from ledger.operation_event as e
    where e.class = p_class
      and e.operation_key = p_operation_key
      and e.incarnation = p_incarnation
      and e.by_principal = session_user
      and e.content_sha256 = v_content;
    if found then
        return ledger.done_with(v_operation, false, true);
    end if;

    -- Whose right it is: the holder of the campaign now, a verifier once it has ended, an admin.
    if v_operation.campaign_id is null then
        v_is_right := ledger.is_enrolled(p_class, v_operation.duty);
    else
        perform
        from ledger.campaign as c
        where c.class = p_class
          and c.campaign_id = v_operation.campaign_id
          and ((c.lease_principal = session_user
                and c.lease_principal_oid = ledger.session_oid()
                and c.lease_token_sha256 = ledger.token_digest(p_token))
               or (c.closed_at is not null and ledger.is_enrolled(p_class, 'verifier')))
        for no key update;
        v_is_right := found;
    end if;
    if not v_is_right and not (v_is_admin and p_reason is not null) then
        return ledger.as_operation(ledger.refuse(
            'resolve_operation', 'not_holder', p_class,
            case
                when v_is_admin then 'an admin gives a reason'
                when v_operation.campaign_id is null
                    then 'it is for a principal of the duty that began it'
                else 'it is for the holder of the campaign''s lease, with its token'
            end,
            v_operation.campaign_id, v_operation.generation
        ));
    end if;

    select o.* into v_operation
    from ledger.operation as o
    where o.class = p_class and o.operation_key = p_operation_key
    for no key update;
    if v_operation.state is distinct from 'unknown' then
        v_outcome := 'illegal';
        v_message := format('an operation that is %s is not resolved',
                            coalesce(v_operation.state, 'gone'));
    elsif row(v_operation.incarnation, v_operation.revision)
        is distinct from row(p_incarnation, p_revision)
    then
        v_outcome := 'stale';
        v_message := 'it has changed since it was read';
    elsif p_state = 'completed' and not ledger.shows(v_operation, p_read_back) then
        v_outcome := 'no_evidence';
        v_message := 'what was read back does not show what was to be brought about';
    elsif p_state = 'completed' and v_operation.campaign_id is null
        and num_nonnulls(p_result, p_result_text) = 0
    then
        v_outcome := 'no_evidence';
        v_message := 'what completes it is its result';
    end if;
    if v_outcome is not null then
        return ledger.as_operation(ledger.refuse(
            'resolve_operation', v_outcome, p_class, v_message, v_operation.campaign_id,
            v_operation.generation
        ));
    end if;

    v_now := ledger.clock();
    update ledger.operation as o
    set state               = case p_state when 'still_unknown' then 'unknown' else p_state end,
        revision            = o.revision + 1,
        result              = coalesce(p_result, o.result),
        result_text         = coalesce(p_result_text, o.result_text),
        read_back           = coalesce(p_read_back, o.read_back),
        reason              = coalesce(p_reason, o.reason),
        inquiry_count       = o.inquiry_count + (p_state = 'still_unknown')::integer,
        updated_at          = v_now,
        reconciled_by       = case
                                  when p_state = 'still_unknown' then o.reconciled_by
                                  else session_user
                              end,
        reconciled_at       = case
                                  when p_state = 'still_unknown' then o.reconciled_at
                                  else v_now
                              end,
        last_event          = case p_state when 'still_unknown' then 'inquire' else 'resolve' end,
        last_content_sha256 = v_content
    where o.class = p_class and o.operation_key = p_operation_key
    returning o.* into v_operation;
    return ledger.done_with(v_operation, p_state <> 'still_unknown');
end
$fn$;

comment on function kernel.resolve_operation(
    text, text, uuid, integer, text, text, jsonb, jsonb, text, uuid
) is
$doc$Records what a reconciler found out about an operation that is unknown, by reading its target.

Parameters
    p_class          the class
    p_operation_key  as it was listed
    p_incarnation, p_revision   the fence, as it was read before the target was looked at
    p_state          completed; failed, which is said only after making sure that no late effect can
                     land any more; or still_unknown, where the target gave no answer
    p_reason         up to 4096 bytes; failed, still_unknown and every admin need one
    p_result         up to 65536 bytes; without a campaign, completed needs it, or p_result_text
    p_read_back      what the target showed, up to 65536 bytes; for completed it must contain all of
                     "after" of what was expected
    p_result_text    the result byte for byte, up to 65536 bytes; or null
    p_token          the token of the campaign's lease, where its holder resolves; or null

It is for the holder of the campaign's lease, for a verifier of the class once the campaign has
ended, for an admin; without a campaign for every principal enrolled for the duty that began it.
Whichever is recorded first stands. After unknown_limit times still_unknown the campaign is parked.

Answers
    ok (duplicate: resolved before with this content), forbidden, not_holder, illegal (it is not
    unknown), stale (it has changed since), no_evidence (the read-back or the result)

Errors
    KN101, KN102, KN103, KN106, KN111, KN112, KN116 unknown_operation

Writes
    ledger.operation, ledger.operation_event$doc$;

grant execute on function kernel.resolve_operation(
    text, text, uuid, integer, text, text, jsonb, jsonb, text, uuid
) to fencepost_worker, fencepost_verifier, fencepost_admin;

commit;
