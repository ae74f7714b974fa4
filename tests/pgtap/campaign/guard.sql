-- ledger.campaign changes by legal moves of the session's own duty, whoever is at the keyboard.
\ir ../_support/fixture.psql
select plan(168);

-- One campaign in every state.
select testing.accepted('accepted');
select testing.confirmed('confirmed', 'ship');
select testing.verified('verified', 'ship');
select testing.lapsed('lapsed', 'ship');
select testing.cancelled('cancelled', 'ship');
select testing.parked('parked', 'ship');
select testing.promoting('promoting');
select testing.verifying('verifying', 'ship', 'verifier_2');
select testing.attempted('attempted', 'ship');
select testing.leased('leased', 'ship');
select testing.open('ready', 'ship');

create function testing.states() returns text[] language sql as $fn$
    select array['ready', 'leased', 'attempted', 'verifying', 'accepted', 'promoting', 'verified',
                 'parked', 'confirmed', 'cancelled', 'lapsed'];
$fn$;
select is(
    (select array_agg(testing.state(s.state, 'ship') order by s.no)
     from unnest(testing.states()) with ordinality as s (state, no)),
    testing.states(), 'ledger.campaign has one row in every state, to be tried by hand'
);

-- Tries every move by hand, as the session; returns what passed, or was refused in another way.
create function testing.move_by_hand(
    p_transition text, p_from text, p_to text, p_code text default 'KN901'
)
    returns text
    language plpgsql
as $fn$
declare
    v_code    text := 'none';
    v_message text;
begin
    begin
        update ledger.campaign as c
        set state           = p_to,
            last_transition = p_transition,
            generation      = c.generation
                + (p_transition ~ '^(claim|lose|park|redrive|cancel)')::integer
                + case when p_transition = 'new_epoch' then 1000 else 0 end,
            parked_for      = case when p_to = 'parked' then 'by hand' end,
            closed_at       = case when p_to in ('confirmed', 'cancelled', 'lapsed')
                                   then c.last_at end
        where c.class = 'ship' and c.campaign_id = testing.id(p_from, 'ship');
    exception
        when others then
            get stacked diagnostics v_code = returned_sqlstate, v_message = message_text;
    end;
    if v_code <> p_code then
        return format('%s from %s to %s: %s %s', p_transition, p_from, p_to, v_code, v_message);
    end if;
    return null;
end
$fn$;

create function testing.illegal_moves(p_from text, p_who text) returns text language sql as $fn$
    select testing.report(
        array_agg(testing.move_by_hand(t.name, p_from, s.to_state))
            || case when count(*) < 200 then format('only %s tried', count(*)) end,
        format('ledger.campaign moves from %s by none but a legal move, also for %s', p_from, p_who)
    )
    from (select distinct transition from ledger.transition union all select 'skip') as t (name)
    cross join unnest(testing.states()) as s (to_state)
    where s.to_state <> p_from
      and not exists (
          select from ledger.transition as l
          where l.transition = t.name and l.from_state = p_from and l.to_state = s.to_state
      );
$fn$;

create function testing.legal_moves(p_who text) returns text language sql as $fn$
    select testing.report(
        array_agg(testing.move_by_hand(t.transition, t.from_state, t.to_state))
            || case when count(*) <> 73 then format('%s tried', count(*)) end,
        format('ledger.campaign makes no move at all for %s', p_who)
    )
    from ledger.transition as t
    where t.from_state <> 'none';
$fn$;

select set_config('test.digest', testing.ledger_digest(true), true);

-- == superusers and the owner =====================================================================

select testing.legal_moves('a superuser');
select testing.illegal_moves(s.state, 'a superuser') from unnest(testing.states()) as s (state);
set local session authorization fencepost_owner;
select testing.legal_moves('its owner');
reset session authorization;
set local session_replication_role = replica;
select testing.legal_moves('a superuser while other triggers are off');
set local session_replication_role = origin;

-- A superuser that is a member of every group: now only the list of moves stands in the way.
create role keyboard login superuser;
grant fencepost_worker, fencepost_verifier, fencepost_reaper, fencepost_sensor, fencepost_admin
    to keyboard;
set local session authorization keyboard;
select testing.illegal_moves(s.state, 'a member of every group')
from unnest(testing.states()) as s (state);

-- Membership through another role does not count.
reset session authorization;
create role crew;
grant fencepost_admin to crew;
create role hand login superuser;
grant crew to hand;
set local session authorization hand;
select is(
    testing.move_by_hand('park', 'ready', 'parked'), null,
    'ledger.campaign is not moved by an indirect member of the group'
);
reset session authorization;
create role heir login superuser noinherit;
grant fencepost_admin to heir;
set local session authorization heir;
select is(
    testing.move_by_hand('park', 'ready', 'parked'), null,
    'ledger.campaign is not moved by a member that does not inherit'
);
reset session authorization;

-- == lease and generation =========================================================================

-- As a member of every group.
set local session authorization keyboard;
create function testing.change(p_target text, p_set text) returns text language sql as $fn$
    select format('update ledger.campaign set %s where class = %L and campaign_id = %s',
                  p_set, 'ship', testing.id(p_target, 'ship'));
$fn$;
select testing.raises(
    testing.change(m.target, m.change), 'KN901', m.message,
    format('ledger.campaign refuses from %s:%s', m.target,
           rtrim(regexp_replace(m.change, '\s+', ' ', 'g')))
)
from (values
    ('leased',
     $$ state = 'attempted', last_transition = 'submit', lease_principal = null $$,
     'the move submit is made by its holder'),
    ('leased',
     $$ state = 'ready', last_transition = 'release', lease_principal = null $$,
     'the move release is made by its holder'),
    ('promoting',
     $$ state = 'verified', last_transition = 'promote', lease_principal = null $$,
     'the move promote is made by its holder'),
    ('ready',
     $$ state = 'leased', last_transition = 'claim', generation = generation + 1,
        lease_principal = 'worker_1' $$,
     'the move claim is taken by its maker'),
    ('ready',
     $$ state = 'leased', last_transition = 'claim', lease_principal = 'keyboard' $$,
     'the move claim takes the generation from 0 to 1'),
    ('ready',
     $$ state = 'leased', last_transition = 'claim', generation = generation + 2,
        lease_principal = 'keyboard' $$,
     'the move claim takes the generation from 0 to 1'),
    ('ready',
     $$ state = 'parked', last_transition = 'park', parked_for = 'x' $$,
     'the move park takes the generation from 0 to 1'),
    ('leased',
     $$ state = 'ready', last_transition = 'lose', lease_principal = null $$,
     'the move lose takes the generation from 1 to 2'),
    ('leased',
     $$ state = 'ready', last_transition = 'lose', lease_principal = null,
        generation = generation - 1 $$,
     'the move lose takes the generation from 1 to 2'),
    ('attempted',
     $$ state = 'parked', last_transition = 'expire', parked_for = 'x',
        generation = generation + 1 $$,
     'the move expire takes the generation from 1 to 1'),
    ('verified',
     $$ state = 'confirmed', last_transition = 'confirm', closed_at = last_at,
        generation = generation - 1 $$,
     'the move confirm takes the generation from 2 to 2')
) as m (target, change, message);

-- What a lease consists of goes unchanged through an acceptance.
reset session authorization;
grant usage on schema ledger to verifier_2;
grant select, update on ledger.campaign to verifier_2;
set local session authorization verifier_2;
select testing.raises(
    testing.change('verifying',
        $$ state = 'promoting', last_transition = 'accept', $$ || l.change),
    'KN901', 'the move accept is made under one lease',
    'ledger.campaign refuses an acceptance with another lease: ' || l.change
)
from (values
    ('lease_token_sha256 = ''\x00'''), ('lease_expires_at = lease_expires_at + interval ''1 h'''),
    ('lease_granted_at = lease_granted_at + interval ''1 h'''), ('lease_principal_oid = 1'),
    ('lease_principal = ''verifier_1''')
) as l (change);
reset session authorization;

-- == what is frozen ===============================================================================

create function testing.frozen(p_who text) returns setof text language plpgsql as $fn$
begin
    return query select testing.raises(
        testing.change('ready', c.change || m.move), 'KN903',
        'what a campaign was opened with never changes',
        format('ledger.campaign keeps %s against %s%s', split_part(c.change, ' ', 1), p_who, m.when)
    )
    from (values
        ('class = ''fix'''), ('target = ''parked'''),
        ('opened_at = opened_at - interval ''1 s'''), ('opened_by = ''worker_1'''),
        ('opening_observation_no = 1000'), ('opening_token_sha256 = ''\x00'''),
        ('previous_campaign_id = campaign_id'), ('desired_state = ''{}'''),
        ('acceptance = ''{"command": ["true"]}'''), ('promotes = false'),
        ('separate_family = true'), ('needs_evidence = true')
    ) as c (change)
    cross join (values
        ('', ''),
        (', state = ''parked'', last_transition = ''park'', parked_for = ''x'', '
         'generation = generation + 1', ', also with a legal move')
    ) as m (move, "when");
end
$fn$;
set local session authorization keyboard;
select testing.frozen('a member of every group');
select testing.raises(
    testing.change('ready', 'campaign_id = default'), 'KN903', null,
    'ledger.campaign keeps its campaign_id'
);
reset session authorization;

-- == within a state ===============================================================================

-- Nothing but a renewal, and the acts that ledger.transition lists. p_last is the row's last move.
create function testing.within(p_target text, p_last text, p_who text)
    returns setof text
    language plpgsql
as $fn$
declare
    v_state text := testing.state(p_target, 'ship');
begin
    return query select testing.raises(
        testing.change(p_target, c.change), 'KN901',
        case
            when c.change ~ '^(state|lease_expires_at) ='
                or (c.change = 'attempt_count = 0' and v_state = 'ready')
                then 'a lease is renewed by its holder, to a later expiry'
            when c.change ~ '^last_transition'
                then format('no move park leads from %s to %s', v_state, v_state)
            else format('no move %s leads from %s to %s', p_last, v_state, v_state)
        end,
        format('ledger.campaign refuses to %s in state %s: %s', p_who, p_target, c.change)
    )
    from (values
        ('state = state'), ('generation = generation + 1'), ('generation = generation - 1'),
        ('attempt_count = 0'), ('failure_count = 7'), ('loss_count = 7'), ('release_count = 7'),
        ('verification_loss_count = 7'), ('promotion_loss_count = 7'), ('abstain_floor = 7'),
        ('next_attempt_at = ''2030-01-01'''), ('phase_since = ''2030-01-01'''),
        ('failure_reason = ''x'''), ('parked_for = ''x'''), ('evidence_uri = ''x'''),
        ('priority = 3'),
        ('closed_at = ''2030-01-01'''), ('event_count = 7'), ('last_transition = ''park'''),
        ('last_detail = ''{}'''), ('lease_expires_at = lease_expires_at - interval ''1 s'''),
        ('lease_label = ''x'', lease_expires_at = lease_expires_at + interval ''1 s'''),
        ('lease_token_sha256 = ''\x00'', lease_expires_at = lease_expires_at + interval ''1 s''')
    ) as c (change);
end
$fn$;
select testing.within('ready', 'open', 'a superuser');
select testing.raises(
    testing.change('leased', 'lease_expires_at = lease_expires_at + interval ''1 h'''), 'KN901',
    'a lease is renewed by its holder, to a later expiry',
    'ledger.campaign lets no superuser prolong another''s lease'
);
set local session authorization fencepost_owner;
select testing.raises(
    testing.change('leased', 'lease_expires_at = lease_expires_at + interval ''1 h'''), 'KN901',
    'a lease is renewed by its holder, to a later expiry',
    'ledger.campaign lets no owner prolong another''s lease'
);
reset session authorization;

-- An act within a state changes nothing but what it is for, whoever makes it.
set local session authorization keyboard;
select testing.raises(
    testing.change('leased', format('last_transition = %L, %s', a.act, c.change)),
    'KN901', c.message,
    format('ledger.campaign refuses to a member of every group within a state: %s with %s',
           a.act, c.change)
)
from (values ('set_priority', 0), ('allow_repeat', 0), ('new_epoch', 1000)) as a (act, step)
cross join lateral (values
    ('generation = generation + 1',
     format('the move %s takes the generation from 1 to %s', a.act, 1 + a.step)),
    (format('generation = generation + %s, event_count = 7', a.step),
     format('the move %s changes something else', a.act)),
    (format('generation = generation + %s, failure_count = 7', a.step),
     format('the move %s changes something else', a.act)),
    (format('generation = generation + %s, next_attempt_at = ''2030-01-01''', a.step),
     format('the move %s changes something else', a.act)),
    (format('generation = generation + %s, lease_principal = ''keyboard''', a.step),
     format('the move %s changes something else', a.act)),
    (format('generation = generation + %s, lease_expires_at = ''2030-01-01''', a.step),
     format('the move %s changes something else', a.act)),
    (format('generation = generation + %s, failure_reason = ''x''', a.step),
     format('the move %s changes something else', a.act))
) as c (change, message)
union all
select testing.raises(
    testing.change('ready', format('%s, priority = 3', m.change)), 'KN901',
    format('the move %s changes something else', m.move),
    format('ledger.campaign keeps its priority in a move: %s', m.move)
)
from (values
    ('allow_repeat', 'last_transition = ''allow_repeat'''),
    ('new_epoch', 'last_transition = ''new_epoch'', generation = generation + 1000'),
    ('park', 'state = ''parked'', last_transition = ''park'', parked_for = ''x'', '
             'generation = generation + 1')
) as m (move, change);
reset session authorization;

grant usage on schema ledger to worker_1;
grant select, update on ledger.campaign to worker_1;
set local session authorization worker_1;
select testing.within('leased', 'claim', 'the holder itself');
select is(
    testing.ledger_digest(true), current_setting('test.digest'),
    'ledger.campaign has not changed up to here, nor has anything else'
);
select lives_ok(
    testing.change('leased', 'lease_expires_at = lease_expires_at + interval ''1 h'''),
    'ledger.campaign lets the holder move the expiry to a later time'
);
reset session authorization;
select is(
    (testing.event('leased', 'ship')).transition, 'claim',
    'ledger.campaign logs no event for a renewal'
);

-- == insertion, deletion ==========================================================================

select testing.target_in('new', 'ship');
create function testing.insertion(p_changes jsonb default '{}') returns text language sql as $fn$
    select format(
        'insert into ledger.campaign (class, target, state, generation, attempt_count, '
        'event_count, opened_at, opened_by, desired_state, acceptance, promotes, '
        'separate_family, needs_evidence, next_attempt_at, phase_since, closed_at, '
        'last_transition, last_at) '
        'select %L, %L, n ->> %L, (n ->> %L)::bigint, (n ->> %L)::integer, (n ->> %L)::bigint, '
        'now(), session_user, %L, %L, false, false, false, now(), now(), '
        '(n ->> %L)::timestamptz, n ->> %L, now() from (select %L::jsonb) as r (n)',
        'ship', 'new', 'state', 'generation', 'attempt_count', 'event_count', '{}', '{}',
        'closed_at', 'last_transition',
        jsonb_build_object('state', 'ready', 'generation', 0, 'attempt_count', 0, 'event_count', 0,
                           'last_transition', 'open') || p_changes
    );
$fn$;
select testing.raises(
    testing.insertion(), 'KN901', 'role postgres does not make the move open',
    'ledger.campaign is not opened by a superuser'
);
set local session authorization fencepost_owner;
select testing.raises(
    testing.insertion(), 'KN901', 'role fencepost_owner does not make the move open',
    'ledger.campaign is not opened by its owner'
);
set local session authorization keyboard;
select testing.raises(
    testing.insertion(i.changes), 'KN901', null,
    'ledger.campaign takes no new row with ' || (i.changes::text)
)
from (values
    (jsonb '{"generation": 1}'), ('{"attempt_count": 1}'), ('{"event_count": 1}'),
    ('{"state": "attempted"}'), ('{"state": "attempted", "last_transition": "submit"}'),
    ('{"state": "confirmed", "closed_at": "2026-01-01", "last_transition": "confirm"}'),
    ('{"state": "parked", "last_transition": "park"}'), ('{"last_transition": "redrive"}')
) as i (changes);
reset session authorization;

create function testing.removal(p_who text) returns setof text language plpgsql as $fn$
begin
    return next testing.raises(
        'delete from ledger.campaign', 'KN901', 'DELETE of a campaign is refused',
        'ledger.campaign loses no row to ' || p_who
    );
    return next testing.raises(
        'truncate ledger.campaign cascade', 'KN902', null,
        'ledger.campaign is not truncated by ' || p_who
    );
end
$fn$;
select testing.removal('a superuser');
set local session authorization fencepost_owner;
select testing.removal('its owner');
reset session authorization;
set local session_replication_role = replica;
select testing.removal('a superuser while other triggers are off');
set local session_replication_role = origin;

-- == a legal move by hand is logged ===============================================================

set local session authorization keyboard;
savepoint before_the_move;
select lives_ok(
    testing.change('ready', $$ state = 'parked', last_transition = 'park', parked_for = 'by hand',
                               generation = generation + 1 $$),
    'ledger.campaign lets a member of the admins park by hand'
);
select row_eq(
    $$ select e.event_no, e.transition, e.from_state, e.to_state, e.generation, e.by_principal
       from testing.event('ready', 'ship') as e $$,
    row(2::bigint, 'park'::text, 'ready'::text, 'parked'::text, 1::bigint, 'keyboard'::name),
    'ledger.campaign logs what was moved by hand, with who did it'
);
rollback to savepoint before_the_move;
select row_eq(
    $$ select testing.state('ready', 'ship'), (testing.event('ready', 'ship')).event_no $$,
    row('ready'::text, 1::bigint),
    'ledger.campaign and its log roll back together'
);
reset session authorization;
alter table ledger.campaign_event
    add constraint campaign_event_takes_no_park check (transition <> 'park') not valid;
set local session authorization keyboard;
select testing.raises(
    testing.change('ready', $$ state = 'parked', last_transition = 'park', parked_for = 'by hand',
                               generation = generation + 1 $$),
    '23514', null, 'ledger.campaign does not move where its event cannot be written'
);
select row_eq(
    $$ select testing.state('ready', 'ship'), (testing.event('ready', 'ship')).event_no $$,
    row('ready'::text, 1::bigint), 'ledger.campaign stays then where it was'
);
reset session authorization;
alter table ledger.campaign_event drop constraint campaign_event_takes_no_park;

-- == callers have no way to it ====================================================================

set local session authorization worker_2;
select testing.raises(
    $$ update ledger.campaign set state = 'confirmed' $$, '42501',
    'permission denied for schema ledger', 'ledger.campaign is closed to workers'
);
set local session authorization admin_1;
select testing.raises(
    $$ update ledger.campaign set state = 'confirmed' $$, '42501',
    'permission denied for schema ledger', 'ledger.campaign is closed to admins'
);
set local session authorization auditor_1;
select testing.raises(
    $$ select from ledger.campaign $$, '42501',
    'permission denied for schema ledger', 'ledger.campaign is closed to auditors'
);

reset session authorization;
select finish();
rollback;
