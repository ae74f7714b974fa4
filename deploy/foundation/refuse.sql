-- Deploy fencepost:foundation/refuse to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.refuse(
    p_function           text,
    p_outcome            text,
    p_class              text,
    p_message            text,
    p_campaign_id        bigint default null,
    p_named_generation   bigint default null,
    p_present_generation bigint default null,
    p_state              text   default null
)
    returns kernel.receipt
    language plpgsql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    c_per_minute constant integer := 60;    -- design, section 6: kernel constants
    v_now        constant timestamptz := ledger.clock();
    v_oldest     timestamptz;
    v_newest     bigint;
    v_receipt    kernel.receipt;
begin
    v_receipt.outcome     := p_outcome;
    v_receipt.duplicate   := false;
    v_receipt.moved       := false;
    v_receipt.class       := p_class;
    v_receipt.campaign_id := p_campaign_id;
    v_receipt.generation  := p_present_generation;
    v_receipt.state       := p_state;
    v_receipt.message     := p_message;

    select r.refused_at into v_oldest
    from ledger.refusal as r
    where r.principal = session_user
    order by r.refusal_no desc
    offset c_per_minute - 1
    limit 1;

    if v_oldest > v_now - interval '1 minute' then
        -- skip locked: a sibling that holds its own refusal open must not make this call wait.
        select r.refusal_no into v_newest
        from ledger.refusal as r
        where r.principal = session_user
        order by r.refusal_no desc
        limit 1
        for no key update skip locked;

        update ledger.refusal as r
        set suppressed = r.suppressed + 1
        where r.principal = session_user and r.refusal_no = v_newest;

        return v_receipt;
    end if;

    insert into ledger.refusal
        (class, principal, function, outcome, campaign_id, generation, message, refused_at)
    values
        (p_class, session_user, p_function, p_outcome, p_campaign_id, p_named_generation,
         p_message, v_now);

    -- The row goes with a caller's rollback; the line in the server's log stays.
    raise log 'fencepost refused %.%: % to %, campaign %, generation %',
        p_class, p_function, p_outcome, session_user, p_campaign_id, p_named_generation;

    return v_receipt;
end
$fn$;

comment on function ledger.refuse(text, text, text, text, bigint, bigint, bigint, text) is
$doc$Records that a call was not carried out and makes the receipt that says so.

Parameters
    p_function            the kernel function that was called, without its schema
    p_outcome             a code of ledger.answer, not ok
    p_class               the class that the caller named
    p_message             a sentence for people
    p_campaign_id         the campaign that the caller named; null to who must not learn of it
    p_named_generation    the generation that the caller named; recorded
    p_present_generation  the campaign's own; returned
    p_state               the campaign's state; returned

A principal's refusals beyond 60 in a minute write no row and no line: they are counted in
"suppressed" of its newest one.

Writes
    ledger.refusal (one row, or one count), the server's log$doc$;

commit;
