-- Deploy fencepost:log/check to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create type kernel.finding as (
    class       text,
    campaign_id bigint,
    subject     text,
    finding     text
);

comment on type kernel.finding is 'Something that check found wrong.';
comment on column kernel.finding.subject is 'campaign, event, checkpoint or tombstone.';

create or replace function kernel.check(p_class text)
    returns setof kernel.finding
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
    v_checkpoint ledger.checkpoint;
    v_previous   ledger.checkpoint;
    v_count      bigint;
    v_sha256     bytea;
begin
    perform ledger.require_class(p_class);
    perform ledger.known_class(p_class);

    -- Rebuilt from its events, each campaign is what its row says.
    return query
    select p_class, c.campaign_id, 'campaign'::text, format(
        'the row says %s, generation %s, %s events; the events say %s, generation %s, %s events',
        c.state, c.generation, c.event_count,
        coalesce(r.state, 'nothing'), coalesce(r.generation, 0), coalesce(r.event_count, 0)
    )
    from ledger.campaign as c
    left join (
        select e.campaign_id,
               (array_agg(e.to_state order by e.event_no desc))[1] as state,
               sum(t.generation_step) as generation,
               count(*) as event_count
        from ledger.campaign_event as e
        join ledger.transition as t
            on t.transition = e.transition
            and t.from_state = e.from_state
            and t.to_state = e.to_state
        where e.class = p_class
        group by e.campaign_id
    ) as r on r.campaign_id = c.campaign_id
    where c.class = p_class
      and (c.state, c.generation, c.event_count)
          is distinct from (r.state, r.generation, r.event_count);

    -- The events of each are numbered without gaps, and each begins where the one before ended.
    return query
    select p_class, s.campaign_id, 'event'::text, format(
        'event %s goes from %s, generation %s, after an event %s to %s, generation %s',
        s.event_no, s.from_state, s.generation, s.previous_no, s.previous_state,
        s.previous_generation
    )
    from (
        select e.campaign_id, e.event_no, e.from_state, e.generation, t.generation_step,
               coalesce(lag(e.event_no) over w, 0) as previous_no,
               coalesce(lag(e.to_state) over w, 'none') as previous_state,
               coalesce(lag(e.generation) over w, 0) as previous_generation
        from ledger.campaign_event as e
        join ledger.transition as t
            on t.transition = e.transition
            and t.from_state = e.from_state
            and t.to_state = e.to_state
        where e.class = p_class
        window w as (partition by e.campaign_id order by e.event_no)
    ) as s
    where s.event_no <> s.previous_no + 1
       or s.from_state <> s.previous_state
       or s.generation <> s.previous_generation + s.generation_step;

    return query
    select p_class, t.campaign_id, 'tombstone'::text, 'its digest is not that of its events'::text
    from ledger.tombstone as t
    where t.class = p_class
      and t.sha256 <> ledger.chain(t.event_digests);

    -- Each checkpoint is made again from the log.
    for v_checkpoint in
        select k.*
        from ledger.checkpoint as k
        where k.class = p_class
        order by k.checkpoint_no
    loop
        select d.event_count, d.sha256 into v_count, v_sha256
        from ledger.log_digest(
            p_class, coalesce(v_previous.upto_epoch, 0), coalesce(v_previous.upto_xid, '0'),
            v_checkpoint.upto_epoch, v_checkpoint.upto_xid, v_previous.sha256
        ) as d;
        if v_checkpoint.checkpoint_no <> coalesce(v_previous.checkpoint_no, 0) + 1
            or v_checkpoint.previous_sha256 is distinct from v_previous.sha256
            or v_checkpoint.event_count <> v_count
            or v_checkpoint.sha256 <> v_sha256
        then
            return next row(
                p_class, null, 'checkpoint',
                format('checkpoint %s of %s events does not come out again: now there are %s',
                       v_checkpoint.checkpoint_no, v_checkpoint.event_count, v_count)
            )::kernel.finding;
        end if;
        v_previous := v_checkpoint;
    end loop;
end
$fn$;

comment on function kernel.check(text) is
$doc$Rebuilds every campaign of a class from its events and compares; makes every checkpoint again.

Parameters
    p_class  the class

Returns one row per thing that is wrong; none where all is well. Compare the newest checkpoint's
digest with the one that was kept outside, too: whoever rewrites all of the log can rewrite its
checkpoints.

Errors
    KN101, KN102, KN106$doc$;

grant execute on function kernel.check(text) to fencepost_auditor;

commit;
