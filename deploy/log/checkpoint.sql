-- Deploy fencepost:log/checkpoint to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.checkpoint(p_class text)
    returns kernel.checkpoint
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
    v_class   ledger.class;
    v_last    ledger.checkpoint;
    v_new     ledger.checkpoint;
    v_upto    xid8;
    v_refused kernel.receipt;
    v_answer  kernel.checkpoint;
begin
    perform ledger.enter();
    perform ledger.require_class(p_class);
    if not (ledger.session_is('auditor') or ledger.session_is('reaper')) then
        v_refused := ledger.forbid('checkpoint', p_class);
        v_answer.outcome   := v_refused.outcome;
        v_answer.duplicate := v_refused.duplicate;
        v_answer.moved     := v_refused.moved;
        v_answer.class     := v_refused.class;
        v_answer.message   := v_refused.message;
        return v_answer;
    end if;

    -- One at a time in a class; the lock does not conflict with the claims' own.
    perform ledger.known_class(p_class);
    select c.* into v_class from ledger.class as c where c.class = p_class for no key update;

    -- Below the oldest transaction that is still under way nothing can be added any more.
    v_upto := pg_snapshot_xmin(pg_current_snapshot());
    select k.* into v_last
    from ledger.checkpoint as k
    where k.class = p_class
    order by k.checkpoint_no desc
    limit 1;

    if v_last.upto_epoch = v_class.epoch and v_last.upto_xid > v_upto then
        v_upto := v_last.upto_xid;    -- a server that counts anew and has no new epoch yet
    end if;

    v_new := ledger.log_digest(
        p_class, coalesce(v_last.upto_epoch, 0), coalesce(v_last.upto_xid, '0'),
        v_class.epoch, v_upto
    );
    v_new.checkpoint_no   := coalesce(v_last.checkpoint_no, 0) + 1;
    v_new.made_at         := ledger.clock();
    v_new.made_by         := session_user;
    v_new.previous_sha256 := v_last.sha256;
    v_new.sha256          := ledger.checkpoint_digest(v_new);
    insert into ledger.checkpoint select v_new.*;

    v_answer.outcome       := 'ok';
    v_answer.duplicate     := false;
    v_answer.moved         := false;
    v_answer.class         := p_class;
    v_answer.checkpoint_no := v_new.checkpoint_no;
    v_answer.event_count   := v_new.event_count;
    v_answer.sha256        := v_new.sha256;
    return v_answer;
end
$fn$;

comment on function kernel.checkpoint(text) is
$doc$Digests what has been logged in a class since the last checkpoint, chained to that one.

Parameters
    p_class  the class

Keep number and digest outside of this server: whoever changes the log later, and be it as a
superuser, cannot make kernel.check find the same digest again. Call it in a transaction of its own;
events of transactions that are still under way come into the next one.

Answers
    ok, forbidden

Errors
    KN101, KN102, KN106, KN111, KN112

Writes
    ledger.checkpoint$doc$;

grant execute on function kernel.checkpoint(text) to fencepost_auditor, fencepost_reaper;

commit;
