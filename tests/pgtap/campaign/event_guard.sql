-- ledger.campaign_event is what happened to campaigns: each move once, and nothing by hand.
\ir ../_support/fixture.psql
select plan(80);

-- == what is logged ===============================================================================

select testing.promoting();
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', $$ select * from kernel.reap(p_class => 'ship') $$);
select testing.must('verifier_2', format(
    'select * from kernel.claim_promotion(p_class => %L, p_token => %L, p_label => %L)',
    'ship', testing.token('verifier_2'), 'second'
));
select testing.clock_passes('20 minutes');
select testing.must('verifier_2', format(
    'select * from kernel.outdate(p_class => %L, p_campaign_id => %L, p_generation => 4, '
    'p_token => %L, p_reason => %L)', 'ship', testing.id('parser', 'ship'),
    testing.token('verifier_2'), 'the branch has moved'
));
select testing.must('admin_1', format(
    'select * from kernel.cancel(p_class => %L, p_campaign_id => %L, p_generation => 4)',
    'ship', testing.id('parser', 'ship')
));
select results_eq(
    $$ select event_no, transition, from_state, to_state, generation, by_principal, holder, is_late
       from ledger.campaign_event
       where class = 'ship' and campaign_id = testing.id('parser', 'ship')
       order by event_no $$,
    $$ values
       (1::bigint, 'open', 'none', 'ready', 0::bigint, 'sensor_1'::name, null::name, false),
       (2, 'claim', 'ready', 'leased', 1, 'worker_1', 'worker_1', false),
       (3, 'submit', 'leased', 'attempted', 1, 'worker_1', 'worker_1', false),
       (4, 'claim_verification', 'attempted', 'verifying', 2, 'verifier_1', 'verifier_1', false),
       (5, 'accept', 'verifying', 'promoting', 2, 'verifier_1', 'verifier_1', false),
       (6, 'lose_promotion', 'promoting', 'accepted', 3, 'reaper_1', 'verifier_1', false),
       (7, 'claim_promotion', 'accepted', 'promoting', 4, 'verifier_2', 'verifier_2', false),
       (8, 'outdate', 'promoting', 'ready', 4, 'verifier_2', 'verifier_2', true),
       (9, 'cancel', 'ready', 'cancelled', 5, 'admin_1', null, false) $$,
    'ledger.campaign_event tells a life: who moved it, who held it, and what came late'
);
select is_empty(
    $$ select from ledger.campaign_event where xid <> pg_current_xact_id() or epoch <> 0 $$,
    'ledger.campaign_event names the transaction of the move, and the class''s epoch'
);
select is(
    (select array_agg(at order by event_no)
     from ledger.campaign_event
     where class = 'ship' and campaign_id = testing.id('parser', 'ship')),
    array['2026-09-01 03:00+00', '2026-09-01 03:00+00', '2026-09-01 03:00+00',
          '2026-09-01 03:00+00', '2026-09-01 03:00+00', '2026-09-01 03:15+00',
          '2026-09-01 03:15+00', '2026-09-01 03:35+00', '2026-09-01 03:35+00']::timestamptz[],
    'ledger.campaign_event names the time of the kernel''s clock'
);
select is_empty(
    $$ select c.class, c.campaign_id
       from ledger.campaign as c
       join lateral (
           select e.* from ledger.campaign_event as e
           where e.class = c.class and e.campaign_id = c.campaign_id
           order by e.event_no desc limit 1
       ) as e on true
       where row(c.state, c.generation, c.event_count, c.next_attempt_at, c.last_transition)
             is distinct from
             row(e.to_state, e.generation, e.event_no, e.next_attempt_at, e.transition) $$,
    'ledger.campaign_event ends with the campaign as it stands'
);
select is_empty(
    $$ select from (
           select e.from_state, lag(e.to_state, 1, 'none') over w as came_from, e.event_no,
                  row_number() over w as no
           from ledger.campaign_event as e
           window w as (partition by e.class, e.campaign_id order by e.event_no)
       ) as s
       where s.from_state <> s.came_from or s.event_no <> s.no $$,
    'ledger.campaign_event leaves no gap, and each move begins where the last one ended'
);

-- == nothing by hand ==============================================================================

select testing.leased();
create function testing.by_hand(p_who text) returns setof text language plpgsql as $fn$
declare
    v_digest text := testing.ledger_digest(true);
    -- What the next move of this campaign would log, to the letter; and what the last one did.
    v_event constant text :=
        'insert into ledger.campaign_event (class, campaign_id, event_no, transition, from_state, '
        'to_state, generation, by_principal, is_late, next_attempt_at, at, epoch, xid) '
        'select class, campaign_id, event_no + %s, %L, %L, %L, generation, by_principal, false, '
        'next_attempt_at, at, epoch, xid from ledger.campaign_event '
        'where class = ''fix'' and campaign_id = testing.id() and event_no = 2';
begin
    return query select testing.raises(
        format(v_event, e.further, e.transition, e.from_state, e.to_state), 'KN901',
        'an event is written by its move only',
        format('ledger.campaign_event takes no %s from %s', e.what, p_who)
    )
    from (values
        (1, 'submit', 'leased', 'attempted', 'next event'),
        (0, 'claim', 'ready', 'leased', 'second event of a number'),
        (7, 'submit', 'leased', 'attempted', 'event with a gap before it'),
        (1, 'skip', 'leased', 'verified', 'event of a move that there is not')
    ) as e (further, transition, from_state, to_state, what);
    return query select testing.raises(
        format('update ledger.campaign_event set %s', c.change), 'KN902',
        'UPDATE of ledger.campaign_event is refused',
        format('ledger.campaign_event keeps its %s against %s', split_part(c.change, ' ', 1), p_who)
    )
    from (values
        ('class = ''x'''), ('campaign_id = 0'), ('event_no = event_no'), ('transition = ''park'''),
        ('from_state = ''ready'''), ('to_state = ''confirmed'''), ('generation = 9'),
        ('by_principal = ''worker_2'''), ('holder = null'), ('is_late = true'),
        ('next_attempt_at = now()'), ('at = now()'), ('epoch = 1'), ('xid = ''1'''),
        ('detail = null'), ('content_sha256 = null')
    ) as c (change);
    return next testing.raises(
        'delete from ledger.campaign_event where event_no = 9', 'KN902',
        'DELETE of ledger.campaign_event is refused',
        'ledger.campaign_event loses no row to ' || p_who
    );
    return next testing.raises(
        'truncate ledger.campaign_event cascade', 'KN902', null,
        'ledger.campaign_event is not truncated by ' || p_who
    );
    return next is(
        testing.ledger_digest(true), v_digest,
        'ledger.campaign_event and all else is as it was before ' || p_who
    );
end
$fn$;

select testing.by_hand('a superuser');
set local session authorization fencepost_owner;
select testing.by_hand('its owner');
reset session authorization;
set local session_replication_role = replica;
select testing.by_hand('a superuser while other triggers are off');
set local session_replication_role = origin;

-- From within a trigger of somebody's own the depth is right, but no campaign says the same.
create table testing.bait (event_no bigint, transition text, from_state text, to_state text);
create function testing.tg_bait() returns trigger language plpgsql as $fn$
begin
    insert into ledger.campaign_event
    select e.class, e.campaign_id, new.event_no, new.transition, new.from_state, new.to_state,
           e.generation, e.by_principal, e.holder, false, e.next_attempt_at, e.at, e.epoch, e.xid
    from ledger.campaign_event as e
    where e.class = 'fix' and e.campaign_id = testing.id() and e.event_no = 2;
    return null;
end
$fn$;
create trigger bait after insert on testing.bait for each row execute function testing.tg_bait();
select testing.raises(
    format('insert into testing.bait values (%s)', b.event), 'KN901',
    'an event is written by its move only',
    'ledger.campaign_event takes no event from another table''s trigger: ' || b.event
)
from (values
    ('3, ''submit'', ''leased'', ''attempted'''), ('3, ''claim'', ''ready'', ''leased'''),
    ('2, ''redrive'', ''ready'', ''leased''')
) as b (event);
select testing.raises(
    $$ insert into testing.bait values (2, 'claim', 'ready', 'leased') $$, '23505', null,
    'ledger.campaign_event takes no copy of the last event from there either'
);

-- The moves' own table has the last word.
select is(
    (select count(*)
     from pg_constraint
     where conrelid = 'ledger.campaign_event'::regclass and contype = 'f'
       and confrelid = 'ledger.transition'::regclass and convalidated),
    1::bigint, 'ledger.campaign_event refers to ledger.transition: no other move can be logged'
);

-- == callers have no way to it ====================================================================

set local session authorization auditor_1;
select testing.raises(
    'select from ledger.campaign_event', '42501', 'permission denied for schema ledger',
    'ledger.campaign_event is private'
);

select finish();
rollback;
