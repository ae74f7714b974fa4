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
comment on column kernel.finding.campaign_id is 'Null where it concerns a checkpoint.';
comment on column kernel.finding.subject is
    'campaign, event, attempt, bundle, verdict, operation, tombstone or checkpoint.';

create or replace function ledger.check_campaigns(p_class text)
    returns setof kernel.finding
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    -- Rebuilt from its events, each campaign is what its row says. Of losses no event says whether
    -- they were counted.
    with restored as (
        select e.campaign_id,
               max(e.event_no) filter (where e.detail -> 'budgets' ? 'attempt') as attempt_no,
               max(e.event_no) filter (where e.detail -> 'budgets' ? 'release') as release_no
        from ledger.campaign_event as e
        where e.class = p_class and e.transition = 'redrive'
        group by e.campaign_id
    ),
    replayed as (
        select e.campaign_id,
               max(x.attempt_no) as attempts_restored_no,
               max(x.release_no) as releases_restored_no,
               count(*) filter (where e.transition in ('fail', 'reject', 'contradict')
                                and e.event_no > coalesce(x.attempt_no, 0)) as failure_count,
               count(*) filter (where e.transition = 'release'
                                and e.event_no > coalesce(x.release_no, 0)) as release_count,
               count(*) as event_count,
               sum(t.generation_step) as generation,
               count(*) filter (where e.transition = 'claim') as attempt_count,
               max(e.event_no) as last_no,
               max(e.event_no) filter (where e.from_state <> e.to_state) as moved_no,
               max(e.event_no) filter (where e.transition = 'set_priority') as priority_no
        from ledger.campaign_event as e
        left join ledger.transition as t
            on t.transition = e.transition
            and t.from_state = e.from_state
            and t.to_state = e.to_state
        left join restored as x on x.campaign_id = e.campaign_id
        where e.class = p_class
        group by e.campaign_id
    ),
    row_of as (
        select c.* from ledger.campaign as c where c.class = p_class
    ),
    compared as (
        select coalesce(c.campaign_id, r.campaign_id) as campaign_id,
               case
                   when c.campaign_id is null then array['its row, which is gone']
                   when r.campaign_id is null then array['its events, which are gone']
                   else array_remove(array[
                       case when c.state <> last.to_state then 'state' end,
                       case when c.generation is distinct from r.generation
                           then 'generation' end,
                       case when c.event_count <> r.event_count then 'event_count' end,
                       case when c.attempt_count <> r.attempt_count then 'attempt_count' end,
                       case when c.failure_count <> r.failure_count + case
                               when r.attempts_restored_no is null
                                   then coalesce(inherited.failure_count, 0)
                               else 0
                           end then 'failure_count' end,
                       case when c.release_count <> r.release_count + case
                               when r.releases_restored_no is null
                                   then coalesce(inherited.release_count, 0)
                               else 0
                           end then 'release_count' end,
                       case when c.priority
                               is distinct from coalesce((given.detail ->> 'priority')::integer, 0)
                           then 'priority' end,
                       case when c.next_attempt_at <> last.next_attempt_at
                           then 'next_attempt_at' end,
                       case when c.opened_at <> first.at then 'opened_at' end,
                       case when ledger.opening_digest(c::ledger.campaign)
                               is distinct from first.content_sha256
                           then 'what it was opened with' end,
                       case when c.closed_at is distinct from case
                               when moved.to_state in ('confirmed', 'cancelled', 'lapsed')
                                   then moved.at
                           end then 'closed_at' end,
                       case when c.lease_principal is distinct from case
                               when last.to_state in ('leased', 'verifying', 'promoting')
                                   then last.holder
                           end then 'lease_principal' end,
                       case when c.parked_for is distinct from case
                               when moved.to_state = 'parked' then moved.detail ->> 'parked_for'
                           end then 'parked_for' end,
                       case when row(c.last_transition, c.last_at, c.last_detail,
                                     c.last_content_sha256)
                               is distinct from
                                 row(last.transition, last.at, last.detail, last.content_sha256)
                           then 'last move' end
                   ], null)
               end as differing
        from row_of as c
        full join replayed as r on r.campaign_id = c.campaign_id
        left join ledger.campaign as inherited
            on inherited.class = p_class and inherited.campaign_id = c.previous_campaign_id
        left join ledger.campaign_event as first
            on first.class = p_class and first.campaign_id = r.campaign_id and first.event_no = 1
        left join ledger.campaign_event as last
            on last.class = p_class
            and last.campaign_id = r.campaign_id
            and last.event_no = r.last_no
        left join ledger.campaign_event as moved
            on moved.class = p_class
            and moved.campaign_id = r.campaign_id
            and moved.event_no = r.moved_no
        left join ledger.campaign_event as given
            on given.class = p_class
            and given.campaign_id = r.campaign_id
            and given.event_no = r.priority_no
    )
    select p_class, d.campaign_id, 'campaign',
           'row and events differ in ' || array_to_string(d.differing, ', ')
    from compared as d
    where cardinality(d.differing) > 0
    order by d.campaign_id;
$fn$;

comment on function ledger.check_campaigns(text) is
$doc$One row per campaign of a class whose row is not what its events make of it.$doc$;

create or replace function ledger.check_events(p_class text)
    returns setof kernel.finding
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    -- Numbered without gaps, each a legal move that begins where the one before ended.
    select p_class, s.campaign_id, 'event', format(
        'event %s is %s from %s to %s, generation %s; before it is event %s to %s, generation %s',
        s.event_no, s.transition, s.from_state, s.to_state, s.generation, s.previous_no,
        s.previous_state, s.previous_generation
    )
    from (
        select e.campaign_id, e.event_no, e.transition, e.from_state, e.to_state, e.generation,
               t.generation_step,
               coalesce(lag(e.event_no) over w, 0) as previous_no,
               coalesce(lag(e.to_state) over w, 'none') as previous_state,
               coalesce(lag(e.generation) over w, 0) as previous_generation
        from ledger.campaign_event as e
        left join ledger.transition as t
            on t.transition = e.transition
            and t.from_state = e.from_state
            and t.to_state = e.to_state
        where e.class = p_class
        window w as (partition by e.campaign_id order by e.event_no)
    ) as s
    where s.event_no <> s.previous_no + 1
       or s.from_state <> s.previous_state
       or s.generation is distinct from s.previous_generation + s.generation_step
    order by s.campaign_id, s.event_no;
$fn$;

comment on function ledger.check_events(text) is
$doc$One row per event of a class that does not follow from the one before.$doc$;

create or replace function ledger.check_attempts(p_class text)
    returns setof kernel.finding
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    -- What the calls said is digested in the log: the rows that keep it must digest to the same.
    select p_class, a.campaign_id, 'attempt',
           format('attempt %s is not what its claim and its events say', a.attempt_no)
    from ledger.attempt as a
    where a.class = p_class
      and (not exists (
               select
               from ledger.campaign_event as e
               where e.class = p_class
                 and e.campaign_id = a.campaign_id
                 and e.transition = 'claim'
                 and e.generation = a.generation
                 and e.by_principal = a.principal
                 and e.at = a.begun_at
           )
           or (a.submitted_at is not null and not exists (
               select
               from ledger.campaign_event as e
               where e.class = p_class
                 and e.campaign_id = a.campaign_id
                 and e.transition = 'submit'
                 and e.at = a.submitted_at
                 and e.content_sha256 = a.submitted_sha256
                 and e.content_sha256 = ledger.digest(jsonb_build_array(
                     'submit', a.fingerprint, a.approach, a.result, a.evidence_uri,
                     encode(a.evidence_sha256, 'hex')
                 ))
           ))
           or (a.ending in ('failed', 'released') and not exists (
               select
               from ledger.campaign_event as e
               where e.class = p_class
                 and e.campaign_id = a.campaign_id
                 and e.transition = case a.ending when 'failed' then 'fail' else 'release' end
                 and e.at = a.ended_at
                 and e.content_sha256 = a.ended_sha256
                 and e.content_sha256 = ledger.digest(case a.ending
                     when 'failed'
                         then jsonb_build_array('fail', a.reason, a.approach, a.fingerprint)
                     else jsonb_build_array('release', a.reason)
                 end)
           )))
    union all
    select p_class, e.campaign_id, 'attempt', format('attempt %s is gone', e.detail ->> 'attempt')
    from ledger.campaign_event as e
    where e.class = p_class
      and e.transition = 'claim'
      and not exists (
          select
          from ledger.attempt as a
          where a.class = p_class
            and a.campaign_id = e.campaign_id
            and a.generation = e.generation
      )
    union all
    select p_class, b.campaign_id, 'bundle',
           format('the bundle of attempt %s does not have its digest', b.attempt_no)
    from ledger.bundle as b
    where b.class = p_class and b.sha256 <> ledger.digest(b.content)
    union all
    select p_class, v.campaign_id, 'verdict',
           format('the verdict under generation %s is not what its event says', v.generation)
    from ledger.verdict as v
    left join ledger.bundle as b
        on b.class = p_class and b.campaign_id = v.campaign_id and b.attempt_no = v.attempt_no
    where v.class = p_class
      and not exists (
          select
          from ledger.campaign_event as e
          where e.class = p_class
            and e.campaign_id = v.campaign_id
            and e.generation = v.generation
            and e.transition = case v.verdict
                when 'accepted' then 'accept'
                when 'rejected' then 'reject'
                else 'abstain'
            end
            and e.by_principal = v.principal
            and e.at = v.judged_at
            and e.content_sha256 = v.content_sha256
            -- An abstention may have named any bundle, or none.
            and (v.verdict = 'unverifiable'
                 or e.content_sha256 = ledger.digest(jsonb_build_array(
                     'judge', v.verdict, encode(b.sha256, 'hex'), v.fingerprint, v.command,
                     v.exit_code, v.reason, v.evidence_uri, encode(v.evidence_sha256, 'hex')
                 )))
      )
    union all
    select p_class, e.campaign_id, 'verdict',
           format('the verdict under generation %s is gone', e.generation)
    from ledger.campaign_event as e
    where e.class = p_class
      and e.transition in ('accept', 'reject', 'abstain')
      and not exists (
          select
          from ledger.verdict as v
          where v.class = p_class
            and v.campaign_id = e.campaign_id
            and v.generation = e.generation
      );
$fn$;

comment on function ledger.check_attempts(text) is
$doc$One row per attempt, bundle or verdict of a class that is not what the log says of it.$doc$;

create or replace function ledger.check_operations(p_class text)
    returns setof kernel.finding
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    -- An operation's history goes with it: what is there begins with number 1.
    with steps as (
        select e.operation_key, e.event_no, e.from_state, e.to_state, e.incarnation, e.revision,
               e.campaign_id,
               coalesce(lag(e.event_no) over w, 0) as previous_no,
               coalesce(lag(e.to_state) over w, 'none') as previous_state,
               case
                   when e.event = 'begin' then 1
                   else lag(e.revision) over w + 1
               end as next_revision,
               lead(e.event_no) over w is null as is_last
        from ledger.operation_event as e
        where e.class = p_class
        window w as (partition by e.operation_key order by e.event_no)
    ),
    row_of as (
        select o.operation_key, o.campaign_id, o.state, o.incarnation, o.revision, o.event_count
        from ledger.operation as o
        where o.class = p_class
    )
    select p_class, s.campaign_id, 'operation', format(
        'event %s of operation %s is to %s, revision %s; before it is event %s to %s',
        s.event_no, s.operation_key, s.to_state, s.revision, s.previous_no, s.previous_state
    )
    from steps as s
    where s.event_no <> s.previous_no + 1
       or s.from_state <> s.previous_state
       or s.revision is distinct from s.next_revision
    union all
    select p_class, coalesce(o.campaign_id, s.campaign_id), 'operation',
           format('operation %s is not what its events make of it',
                  coalesce(o.operation_key, s.operation_key))
    from row_of as o
    full join (select x.* from steps as x where x.is_last) as s
        on s.operation_key = o.operation_key
    where row(o.state, o.incarnation, o.revision, o.event_count)
        is distinct from row(s.to_state, s.incarnation, s.revision, s.event_no);
$fn$;

comment on function ledger.check_operations(text) is
$doc$One row per external operation of a class that is not what its history makes of it.$doc$;

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
    v_again      ledger.checkpoint;
begin
    perform ledger.require_class(p_class);
    perform ledger.known_class(p_class);

    return query select f.* from ledger.check_campaigns(p_class) as f;
    return query select f.* from ledger.check_events(p_class) as f;
    return query select f.* from ledger.check_attempts(p_class) as f;
    return query select f.* from ledger.check_operations(p_class) as f;

    return query
    select p_class, t.campaign_id, 'tombstone'::text, 'it does not have its digest'::text
    from ledger.tombstone as t
    where t.class = p_class and t.sha256 <> ledger.tombstone_digest(t);

    -- Each checkpoint is made again from the log.
    for v_checkpoint in
        select k.*
        from ledger.checkpoint as k
        where k.class = p_class
        order by k.checkpoint_no
    loop
        v_again := ledger.log_digest(
            p_class, coalesce(v_previous.upto_epoch, 0), coalesce(v_previous.upto_xid, '0'),
            v_checkpoint.upto_epoch, v_checkpoint.upto_xid
        );
        if v_checkpoint.checkpoint_no <> coalesce(v_previous.checkpoint_no, 0) + 1
            or v_checkpoint.previous_sha256 is distinct from v_previous.sha256
            or v_checkpoint.event_count <> v_again.event_count
            or v_checkpoint.events_sha256 <> v_again.events_sha256
            or v_checkpoint.sha256 <> ledger.checkpoint_digest(v_checkpoint)
        then
            return next row(
                p_class, null, 'checkpoint',
                format('checkpoint %s of %s events does not come out again: now there are %s',
                       v_checkpoint.checkpoint_no, v_checkpoint.event_count,
                       v_again.event_count)
            )::kernel.finding;
        end if;
        v_previous := v_checkpoint;
    end loop;
end
$fn$;

comment on function kernel.check(text) is
$doc$Rebuilds every campaign and external operation of a class from its events and compares; digests
what was submitted and judged, and compares with the log; makes every checkpoint again.

Parameters
    p_class  the class

Returns one row per thing that is wrong; none where all is well. What was changed before it came
into a checkpoint, and consistently, is not found; nor is a log that was rewritten with all of its
checkpoints: compare the newest digest with the one that was kept outside.

Errors
    KN101, KN102, KN106$doc$;

grant execute on function kernel.check(text) to fencepost_auditor;

commit;
