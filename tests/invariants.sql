-- What is true of every ledger at any time, whoever did what in which order: one query per sentence,
-- each returning the rows that break it. The sentence stands before its query. For a superuser:
-- `psql -f tests/invariants.sql` shows nothing but empty results. The tests run it after every test
-- that had a database of its own.

-- At most one campaign of a target is open.
select c.class, c.target, array_agg(c.campaign_id order by c.campaign_id) as open
from ledger.campaign as c
where c.state not in ('confirmed', 'cancelled', 'lapsed')
group by c.class, c.target
having count(*) > 1;

-- A lease is whole while it is held, and absent otherwise; it ends after it began.
select c.class, c.campaign_id, c.state, c.lease_principal, c.lease_granted_at, c.lease_expires_at
from ledger.campaign as c
where (c.state in ('leased', 'verifying', 'promoting')
       and (num_nulls(c.lease_principal, c.lease_principal_oid, c.lease_token_sha256,
                      c.lease_granted_at, c.lease_expires_at, c.lease_xid) > 0
            or c.lease_expires_at <= c.lease_granted_at))
   or (c.state not in ('leased', 'verifying', 'promoting')
       and num_nonnulls(c.lease_principal, c.lease_principal_oid, c.lease_token_sha256,
                        c.lease_label, c.lease_granted_at, c.lease_expires_at, c.lease_xid) > 0);

-- No token is held twice in a class.
select c.class, c.lease_token_sha256, count(*)
from ledger.campaign as c
where c.lease_token_sha256 is not null
group by c.class, c.lease_token_sha256
having count(*) > 1;

-- Whoever holds a lease is enrolled for its duty: dismissal ended the others.
select c.class, c.campaign_id, c.state, c.lease_principal
from ledger.campaign as c
where c.lease_principal is not null
  and not exists (
      select
      from ledger.enrolment as e
      where e.class = c.class
        and e.principal = c.lease_principal
        and e.duty = case when c.state = 'leased' then 'worker' else 'verifier' end
  );

-- Events are numbered from 1 without gaps, up to the row's own count.
select c.class, c.campaign_id, c.event_count, e.first_no, e.last_no, e.count
from ledger.campaign as c
left join (
    select e.class, e.campaign_id, min(e.event_no) as first_no, max(e.event_no) as last_no,
           count(*) as count
    from ledger.campaign_event as e
    group by e.class, e.campaign_id
) as e on e.class = c.class and e.campaign_id = c.campaign_id
where (1, c.event_count, c.event_count) is distinct from (e.first_no, e.last_no, e.count);

-- Each event begins where the one before ended, in a generation as much higher as its move says.
select s.class, s.campaign_id, s.event_no, s.transition, s.from_state, s.previous_state,
       s.generation, s.previous_generation
from (
    select e.class, e.campaign_id, e.event_no, e.transition, e.from_state, e.generation, e.epoch,
           e.at, t.generation_step,
           lag(e.to_state, 1, 'none') over w as previous_state,
           lag(e.generation, 1, 0::bigint) over w as previous_generation,
           lag(e.epoch, 1, 0) over w as previous_epoch,
           lag(e.at, 1, e.at) over w as previous_at
    from ledger.campaign_event as e
    left join ledger.transition as t
        on t.transition = e.transition
        and t.from_state = e.from_state
        and t.to_state = e.to_state
    window w as (partition by e.class, e.campaign_id order by e.event_no)
) as s
where s.from_state <> s.previous_state
   or s.generation is distinct from s.previous_generation + s.generation_step
   or s.epoch < s.previous_epoch
   or s.at < s.previous_at;

-- The newest event says what the row says.
select c.class, c.campaign_id, c.state, c.generation, c.last_transition, e.to_state, e.generation,
       e.transition
from ledger.campaign as c
left join ledger.campaign_event as e
    on e.class = c.class and e.campaign_id = c.campaign_id and e.event_no = c.event_count
where (c.state, c.generation, c.last_transition, c.last_at, c.next_attempt_at)
      is distinct from (e.to_state, e.generation, e.transition, e.at, e.next_attempt_at);

-- No campaign has a lower generation than any of its events, attempts or verdicts.
select c.class, c.campaign_id, c.generation, seen.generation
from ledger.campaign as c
cross join lateral (
    select max(x.generation) as generation
    from (
        select e.generation from ledger.campaign_event as e
        where e.class = c.class and e.campaign_id = c.campaign_id
        union all
        select greatest(a.generation, a.promotion_generation) from ledger.attempt as a
        where a.class = c.class and a.campaign_id = c.campaign_id
        union all
        select v.generation from ledger.verdict as v
        where v.class = c.class and v.campaign_id = c.campaign_id
    ) as x
) as seen
where c.generation < seen.generation;

-- A closed campaign was closed by its last event, and by that one only.
select c.class, c.campaign_id, c.state, c.closed_at, e.event_no, e.transition
from ledger.campaign as c
left join ledger.campaign_event as e
    on e.class = c.class
    and e.campaign_id = c.campaign_id
    and e.to_state in ('confirmed', 'cancelled', 'lapsed')
where (c.state in ('confirmed', 'cancelled', 'lapsed')) <> (c.closed_at is not null)
   or (c.closed_at is not null) <> (e.event_no is not null)
   or e.event_no <> c.event_count
   or e.at <> c.closed_at;

-- What kernel.check looks for is not there either.
select f.*
from ledger.class as k
cross join lateral kernel.check(k.class) as f;

-- A class with N seats has at most N leases of that kind, and those that were there before it was
-- lowered, each in a seat that goes when it falls free.
select k.class, n.kind, n.seats, leases.count as leases, seats.surplus
from ledger.class as k
cross join lateral (
    values ('work', k.seats), ('verification', k.verification_limit)
) as n (kind, seats)
cross join lateral (
    select count(*) as count
    from ledger.campaign as c
    where c.class = k.class
      and c.lease_principal is not null
      and (c.state = 'leased') = (n.kind = 'work')
) as leases
cross join lateral (
    select count(*) filter (where s.is_surplus) as surplus
    from ledger.seat as s
    where s.class = k.class and s.kind = n.kind
) as seats
where leases.count > n.seats + seats.surplus;

-- A class has as many seats as its policy says; where there is no limit, none but those that go.
select k.class, n.kind, n.seats, seats.standing
from ledger.class as k
cross join lateral (
    values ('work', k.seats), ('verification', k.verification_limit)
) as n (kind, seats)
cross join lateral (
    select count(*) filter (where not s.is_surplus) as standing
    from ledger.seat as s
    where s.class = k.class and s.kind = n.kind
) as seats
where seats.standing <> coalesce(n.seats, 0);

-- Who sits in a seat holds a lease of that kind; where leases are limited, every holder sits.
select s.class, s.kind, s.seat_no, s.campaign_id, c.state
from ledger.seat as s
left join ledger.campaign as c on c.class = s.class and c.campaign_id = s.campaign_id
where s.campaign_id is not null
  and (c.state = any (case s.kind when 'work' then '{leased}'
                                  else '{verifying,promoting}' end::text[])) is not true
union all
select c.class, null, null, c.campaign_id, c.state
from ledger.campaign as c
join ledger.class as k on k.class = c.class
where c.lease_principal is not null
  and case when c.state = 'leased' then k.seats else k.verification_limit end is not null
  and not exists (
      select from ledger.seat as s where s.class = c.class and s.campaign_id = c.campaign_id
  );

-- A campaign's attempts are numbered from 1 without gaps, up to the row's own count, each made by one
-- claim and under its generation.
select c.class, c.campaign_id, c.attempt_count, a.numbers, e.generations, a.generations
from ledger.campaign as c
cross join lateral (
    select coalesce(array_agg(a.attempt_no order by a.attempt_no), '{}') as numbers,
           coalesce(array_agg(a.generation order by a.attempt_no), '{}') as generations
    from ledger.attempt as a
    where a.class = c.class and a.campaign_id = c.campaign_id
) as a
cross join lateral (
    select coalesce(array_agg(e.generation order by e.event_no), '{}') as generations
    from ledger.campaign_event as e
    where e.class = c.class and e.campaign_id = c.campaign_id and e.transition = 'claim'
) as e
where a.numbers <> array(select generate_series(1, c.attempt_count))
   or a.generations <> e.generations;

-- Only a campaign's newest attempt lives, in just those states that have one: unsubmitted while it is
-- leased, submitted from there to the end.
select c.class, c.campaign_id, c.state, c.attempt_count, live.numbers, live.is_submitted
from ledger.campaign as c
cross join lateral (
    select coalesce(array_agg(a.attempt_no), '{}') as numbers,
           bool_and(a.submitted_at is not null) as is_submitted
    from ledger.attempt as a
    where a.class = c.class and a.campaign_id = c.campaign_id and a.ended_at is null
) as live
where live.numbers not in ('{}', array[c.attempt_count])
   or case
          when c.state in ('ready', 'confirmed', 'cancelled', 'lapsed') then live.numbers <> '{}'
          when c.state = 'leased' then live.is_submitted is distinct from false
          when c.state = 'parked' then live.is_submitted is false
          else live.is_submitted is not true
      end;

-- Each attempt ended once, in the way of the one move that ended it.
select c.class, c.campaign_id, w.ending, w.transition, attempts.count as attempts,
       events.count as events
from ledger.campaign as c
cross join (
    values ('failed', 'fail'), ('released', 'release'), ('lost', 'lose'), ('rejected', 'reject'),
           ('outdated', 'outdate'), ('contradicted', 'contradict'), ('confirmed', 'confirm')
) as w (ending, transition)
cross join lateral (
    select count(*) as count
    from ledger.attempt as a
    where a.class = c.class and a.campaign_id = c.campaign_id and a.ending = w.ending
) as attempts
cross join lateral (
    select count(*) as count
    from ledger.campaign_event as e
    where e.class = c.class and e.campaign_id = c.campaign_id and e.transition = w.transition
) as events
where attempts.count <> events.count;

-- An attempt is withdrawn by nobody but an admin, who parked or cancelled its campaign just then.
select a.class, a.campaign_id, a.attempt_no, a.ended_at
from ledger.attempt as a
where a.ending = 'withdrawn'
  and not exists (
      select
      from ledger.campaign_event as e
      where e.class = a.class
        and e.campaign_id = a.campaign_id
        and e.at = a.ended_at
        and (e.transition = 'cancel' or (e.transition = 'park' and e.from_state = 'leased'))
  );

-- Nobody judges a campaign that he worked on, be it before or after.
select v.class, v.campaign_id, v.attempt_no, v.principal, a.attempt_no as tried
from ledger.verdict as v
join ledger.attempt as a
    on a.class = v.class
    and a.campaign_id = v.campaign_id
    and (a.principal = v.principal or a.principal_oid = v.principal_oid)
where a.ending is distinct from 'released';

-- Where families are to be separate, a verdict is of another family than the attempt.
select v.class, v.campaign_id, v.attempt_no, v.family, a.family
from ledger.verdict as v
join ledger.attempt as a
    on a.class = v.class and a.campaign_id = v.campaign_id and a.attempt_no = v.attempt_no
join ledger.campaign as c on c.class = v.class and c.campaign_id = v.campaign_id
where c.separate_family
  and (v.family <> a.family) is not true;

-- A verdict is on a submitted attempt and its bundle, made after it was submitted; accepted, it passed
-- the command and names the attempt's own fingerprint.
select v.class, v.campaign_id, v.attempt_no, v.verdict
from ledger.verdict as v
left join ledger.attempt as a
    on a.class = v.class and a.campaign_id = v.campaign_id and a.attempt_no = v.attempt_no
left join ledger.bundle as b
    on b.class = v.class and b.campaign_id = v.campaign_id and b.attempt_no = v.attempt_no
where (a.submitted_at <= b.made_at and b.made_at <= v.judged_at) is not true
   or b.sha256 <> ledger.digest(b.content)
   or b.content -> 'result' is distinct from a.result
   or (v.verdict = 'accepted' and (v.exit_code = 0 and v.fingerprint = a.fingerprint) is not true);

-- Each verdict is one event, and each such event one verdict.
select c.class, c.campaign_id, verdicts.numbers, events.numbers
from ledger.campaign as c
cross join lateral (
    select coalesce(array_agg(v.generation order by v.generation), '{}') as numbers
    from ledger.verdict as v
    where v.class = c.class and v.campaign_id = c.campaign_id
) as verdicts
cross join lateral (
    select coalesce(array_agg(e.generation order by e.event_no), '{}') as numbers
    from ledger.campaign_event as e
    where e.class = c.class
      and e.campaign_id = c.campaign_id
      and e.transition in ('accept', 'reject', 'abstain')
) as events
where verdicts.numbers <> events.numbers;

-- What is past its verdict was accepted; what ended as rejected was rejected.
select c.class, c.campaign_id, c.state, c.attempt_count
from ledger.campaign as c
where c.state in ('accepted', 'promoting', 'verified', 'confirmed')
  and not exists (
      select
      from ledger.verdict as v
      where v.class = c.class
        and v.campaign_id = c.campaign_id
        and v.attempt_no = c.attempt_count
        and v.verdict = 'accepted'
  )
union all
select a.class, a.campaign_id, a.ending, a.attempt_no
from ledger.attempt as a
left join ledger.verdict as v
    on v.class = a.class
    and v.campaign_id = a.campaign_id
    and v.attempt_no = a.attempt_no
    and v.verdict <> 'unverifiable'
where a.ending is not null
  and case a.ending
          when 'rejected' then v.verdict is distinct from 'rejected'
          when 'withdrawn' then v.verdict is not distinct from 'rejected'
          when 'outdated' then v.verdict is distinct from 'accepted'
          when 'contradicted' then v.verdict is distinct from 'accepted'
          when 'confirmed' then v.verdict is distinct from 'accepted'
          else v.verdict is not null
      end;

-- Nothing is promoted before an accepted verdict, nor where nothing is to be promoted; what is to be
-- promoted is not verified before.
select a.class, a.campaign_id, a.attempt_no, a.promoted_at, v.judged_at
from ledger.attempt as a
join ledger.campaign as c on c.class = a.class and c.campaign_id = a.campaign_id
left join ledger.verdict as v
    on v.class = a.class
    and v.campaign_id = a.campaign_id
    and v.attempt_no = a.attempt_no
    and v.verdict = 'accepted'
where (a.promoted_at is not null and (c.promotes and v.judged_at <= a.promoted_at) is not true)
   or (c.promotes
       and a.promoted_at is null
       and a.attempt_no = c.attempt_count
       and c.state in ('verified', 'confirmed'));

-- Confirmed and contradicted is only by an observation in a scheduled slot, that began after the
-- campaign was verified and saw it so, by a sensor that took no part in the attempt.
select e.class, e.campaign_id, e.event_no, e.transition, o.observation_no, o.begun_at
from ledger.campaign_event as e
join ledger.campaign as c on c.class = e.class and c.campaign_id = e.campaign_id
join ledger.class as k on k.class = e.class
left join ledger.observation as o
    on o.class = e.class
    and o.target = c.target
    and o.observation_no = (e.detail ->> 'observation')::bigint
left join lateral (
    select max(p.at) as at
    from ledger.campaign_event as p
    where p.class = e.class
      and p.campaign_id = e.campaign_id
      and p.event_no < e.event_no
      and p.to_state = 'verified'
      and p.from_state <> 'verified'
) as verified on true
left join ledger.attempt as a
    on a.class = e.class
    and a.campaign_id = e.campaign_id
    and a.ended_at = e.at
    and a.ending in ('confirmed', 'contradicted')
where e.transition in ('confirm', 'contradict')
  and (o.observation_no is not null or e.at + k.retention > ledger.clock())
  and (o.slot_at is not null
       and o.is_green = (e.transition = 'confirm')
       and o.begun_at >= verified.at
       and o.seen_campaign_id = e.campaign_id
       and o.seen_state = 'verified'
       and o.seen_generation = e.generation
       and o.moved_campaign_id = e.campaign_id
       and o.principal = e.by_principal
       and o.principal <> a.principal
       and o.principal is distinct from a.promotion_principal
       and not exists (
           select
           from ledger.verdict as v
           where v.class = e.class
             and v.campaign_id = e.campaign_id
             and v.attempt_no = a.attempt_no
             and v.principal = o.principal
       )) is not true;

-- Lapsed is only what a scheduled green observation saw ready, with nothing ever submitted.
select e.class, e.campaign_id, e.event_no, o.observation_no
from ledger.campaign_event as e
join ledger.campaign as c on c.class = e.class and c.campaign_id = e.campaign_id
join ledger.class as k on k.class = e.class
left join ledger.observation as o
    on o.class = e.class
    and o.target = c.target
    and o.observation_no = (e.detail ->> 'observation')::bigint
where e.transition = 'lapse'
  and (o.observation_no is not null or e.at + k.retention > ledger.clock())
  and ((o.slot_at is not null
        and o.is_green
        and o.seen_campaign_id = e.campaign_id
        and o.seen_state = 'ready'
        and o.seen_generation = e.generation) is not true
       or exists (
           select
           from ledger.attempt as a
           where a.class = e.class
             and a.campaign_id = e.campaign_id
             and a.submitted_at is not null
       ));

-- A campaign that an observation opened was opened by a red one, which saw none open.
select c.class, c.campaign_id, c.opening_observation_no, o.is_green, o.seen_campaign_id
from ledger.campaign as c
left join ledger.observation as o
    on o.class = c.class and o.target = c.target and o.observation_no = c.opening_observation_no
where c.opening_observation_no is not null
  and (not o.is_green
       and o.seen_campaign_id is null
       and o.moved_campaign_id = c.campaign_id
       and o.begun_at <= c.opened_at) is not true;

-- Nothing is moved by an observation after a later-numbered one of the target was reported.
select o.class, o.target, o.observation_no, x.observation_no as later
from ledger.observation as o
join ledger.observation as x
    on x.class = o.class
    and x.target = o.target
    and x.observation_no > o.observation_no
    and x.reported_at < o.reported_at
where o.moved_campaign_id is not null;

-- A target's observations are numbered up to its own count, and a slot that was reported is past.
select t.class, t.target, t.observation_no, t.next_slot_at, o.observation_no, o.slot_at
from ledger.target as t
join ledger.observation as o on o.class = t.class and o.target = t.target
where o.observation_no > t.observation_no
   or (o.reported_at is not null and o.slot_at >= t.next_slot_at)
   or o.reported_at < o.begun_at;

-- A campaign inherits from an earlier one of its own target, which was closed when it opened.
select c.class, c.campaign_id, c.previous_campaign_id, p.target, p.closed_at, c.opened_at
from ledger.campaign as c
join ledger.campaign as p on p.class = c.class and p.campaign_id = c.previous_campaign_id
where c.target <> p.target
   or p.campaign_id >= c.campaign_id
   or (p.closed_at <= c.opened_at) is not true;

-- Failures are counted: as many as there were, with those inherited; less only after a redrive.
select c.class, c.campaign_id, c.failure_count, p.failure_count as inherited, events.failures
from ledger.campaign as c
left join ledger.campaign as p on p.class = c.class and p.campaign_id = c.previous_campaign_id
cross join lateral (
    select count(*) filter (where e.transition in ('fail', 'reject', 'contradict')) as failures,
           count(*) filter (where e.transition in ('lose', 'outdate')) as losses,
           count(*) filter (where e.transition = 'release') as releases,
           count(*) filter (where e.transition = 'lose_verification') as verification_losses,
           count(*) filter (where e.transition = 'lose_promotion') as promotion_losses,
           bool_or(e.transition = 'redrive') as is_redriven
    from ledger.campaign_event as e
    where e.class = c.class and e.campaign_id = c.campaign_id
) as events
where c.failure_count > coalesce(p.failure_count, 0) + events.failures
   or c.loss_count > coalesce(p.loss_count, 0) + events.losses
   or c.release_count > coalesce(p.release_count, 0) + events.releases
   or c.verification_loss_count
       > coalesce(p.verification_loss_count, 0) + events.verification_losses
   or c.promotion_loss_count > coalesce(p.promotion_loss_count, 0) + events.promotion_losses
   or (not events.is_redriven
       and (c.failure_count <> coalesce(p.failure_count, 0) + events.failures
            or c.release_count <> coalesce(p.release_count, 0) + events.releases));

-- An operation of a campaign is pending only under the lease that began it, and its holder's.
select o.class, o.operation_key, o.campaign_id, o.generation, c.generation as present, c.state
from ledger.operation as o
left join ledger.campaign as c on c.class = o.class and c.campaign_id = o.campaign_id
where o.campaign_id is not null
  and o.state = 'pending'
  and (c.generation = o.generation
       and c.attempt_count = o.attempt_no
       and c.lease_principal = o.principal
       and c.state = any (case o.duty when 'worker' then '{leased}'
                                      else '{verifying,promoting}' end::text[])) is not true;

-- What is verified, confirmed or lapsed has no operation that is open or unknown, nor has a class
-- that is retired.
select o.class, o.operation_key, o.state, c.state as campaign
from ledger.operation as o
join ledger.class as k on k.class = o.class
left join ledger.campaign as c on c.class = o.class and c.campaign_id = o.campaign_id
where o.state in ('pending', 'unknown')
  and (c.state in ('verified', 'confirmed', 'lapsed') or k.retired_at is not null);

-- At most one promotion to a place is under way.
select o.class, o.target, array_agg(o.operation_key) as under_way
from ledger.operation as o
where o.kind = 'promote' and o.state = 'pending' and o.started_at is not null
group by o.class, o.target
having count(*) > 1;

-- A promotion is a verifier's, of the result of its attempt; no other kind names its target's place.
select o.class, o.operation_key, o.duty, o.kind, o.target, o.expected
from ledger.operation as o
left join ledger.attempt as a
    on a.class = o.class and a.campaign_id = o.campaign_id and a.attempt_no = o.attempt_no
left join ledger.bundle as b
    on b.class = o.class and b.campaign_id = o.campaign_id and b.attempt_no = o.attempt_no
left join ledger.campaign as c on c.class = o.class and c.campaign_id = o.campaign_id
where case
          when o.kind = 'promote'
              then (o.duty = 'verifier'
                    and o.expected -> 'after' ->> 'commit' = a.result ->> 'commit'
                    and o.target = ledger.own_target(c.target, b.content -> 'location')
                   ) is not true
          when b.content is not null and o.duty = 'verifier'
              then o.target = ledger.own_target(c.target, b.content -> 'location')
      end;

-- What was promoted was moved by an operation of that attempt, which was started and completed.
select e.class, e.campaign_id, e.event_no, e.detail
from ledger.campaign_event as e
left join ledger.operation as o
    on o.class = e.class and o.operation_key = e.detail ->> 'operation'
where e.transition = 'promote'
  and (o.kind = 'promote'
       and o.state = 'completed'
       and o.started_at is not null
       and o.campaign_id = e.campaign_id
       and o.attempt_no = (e.detail ->> 'attempt')::integer) is not true;

-- What is completed shows what was expected of it; what is released was not started.
select o.class, o.operation_key, o.state, o.expected, o.read_back, o.started_at
from ledger.operation as o
where (o.state = 'completed'
       and o.expected -> 'after' is not null
       and (o.read_back @> (o.expected -> 'after')) is not true)
   or (o.state = 'released' and o.started_at is not null);

-- An operation's events are numbered from 1 without gaps, up to its own count; the last of them says
-- what it is.
select o.class, o.operation_key, o.event_count, x.first_no, x.last_no, x.count, o.state, e.to_state
from ledger.operation as o
cross join lateral (
    select min(s.event_no) as first_no, max(s.event_no) as last_no, count(*) as count
    from ledger.operation_event as s
    where s.class = o.class and s.operation_key = o.operation_key
) as x
left join ledger.operation_event as e
    on e.class = o.class and e.operation_key = o.operation_key and e.event_no = o.event_count
where (1, o.event_count, o.event_count) is distinct from (x.first_no, x.last_no, x.count)
   or (o.state, o.incarnation, o.revision, o.last_event, o.principal, o.token_sha256, o.updated_at)
      is distinct from (e.to_state, e.incarnation, e.revision, e.event, e.owner, e.token_sha256,
                        e.at);

-- Each of them begins where the one before ended: of the same incarnation and one revision further,
-- or, where it is begun anew, of another and the first.
select s.class, s.operation_key, s.event_no, s.event, s.from_state, s.previous_state, s.revision,
       s.previous_revision
from (
    select e.class, e.operation_key, e.event_no, e.event, e.from_state, e.revision, e.incarnation,
           lag(e.to_state, 1, 'none') over w as previous_state,
           lag(e.revision) over w as previous_revision,
           lag(e.incarnation) over w as previous_incarnation
    from ledger.operation_event as e
    window w as (partition by e.class, e.operation_key order by e.event_no)
) as s
where s.from_state <> s.previous_state
   or case
          when s.event = 'begin'
              then s.revision <> 1 or s.incarnation = s.previous_incarnation
          else (s.revision = s.previous_revision + 1
                and s.incarnation = s.previous_incarnation) is not true
      end;

-- No history outlives its operation.
select distinct e.class, e.operation_key
from ledger.operation_event as e
where not exists (
    select from ledger.operation as o
    where o.class = e.class and o.operation_key = e.operation_key
);

-- A refusal is never ok, and says why with an outcome of the catalogue.
select r.class, r.refusal_no, r.outcome
from ledger.refusal as r
left join ledger.answer as a on a.code = r.outcome
where r.outcome = 'ok'
   or a.kind is distinct from 'outcome'
   or r.suppressed < 0;

-- Of a campaign that was pruned its tombstone is all that is left.
select t.class, t.campaign_id, t.final_state
from ledger.tombstone as t
where t.final_state not in ('confirmed', 'cancelled', 'lapsed')
   or exists (
       select from ledger.campaign as c
       where c.class = t.class and c.campaign_id = t.campaign_id
   )
   or exists (
       select from ledger.campaign_event as e
       where e.class = t.class and e.campaign_id = t.campaign_id
   )
   or exists (
       select from ledger.attempt as a
       where a.class = t.class and a.campaign_id = t.campaign_id
   )
   or exists (
       select from ledger.operation as o
       where o.class = t.class and o.campaign_id = t.campaign_id
   );

-- Whatever an admin made of a class, target, enrolment or authority stands in the log of the
-- configuration.
select k.class, 'class' as subject, k.class as name
from ledger.class as k
where not exists (
    select from ledger.config_event as f
    where f.class = k.class and f.action = 'define_class'
)
union all
select t.class, 'target', t.target
from ledger.target as t
where not exists (
    select from ledger.config_event as f
    where f.class = t.class and f.action = 'define_target' and f.subject = t.target
)
union all
select e.class, e.duty, e.principal
from ledger.enrolment as e
where not exists (
    select from ledger.config_event as f
    where f.class = e.class and f.action = 'enrol' and f.subject = e.principal
)
union all
select a.class, 'authority', concat_ws(' ', a.duty, a.kind, a.target)
from ledger.authority as a
where not exists (
    select from ledger.config_event as f
    where f.class = a.class
      and f.action = 'authorise'
      and f.subject = concat_ws(' ', a.duty, a.kind, a.target)
);
