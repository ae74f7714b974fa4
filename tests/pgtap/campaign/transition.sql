-- ledger.transition holds the legal moves of the design, and nothing adds to them.
\ir ../_support/fixture.psql
select plan(19);

select results_eq(
    $$ select transition, from_state, string_agg(to_state, ', ' order by to_state), duties::text
       from ledger.transition
       where transition not in ('park', 'cancel', 'redrive') and lease <> 'stays'
       group by transition, from_state, duties
       order by transition collate "C", from_state collate "C" $$,
    $$ values
       ('abstain', 'verifying', 'attempted, parked', '{verifier}'),
       ('accept', 'verifying', 'promoting, verified', '{verifier}'),
       ('claim', 'ready', 'leased', '{worker}'),
       ('claim_promotion', 'accepted', 'promoting', '{verifier}'),
       ('claim_verification', 'attempted', 'verifying', '{verifier}'),
       ('confirm', 'verified', 'confirmed', '{sensor}'),
       ('contradict', 'verified', 'parked, ready', '{sensor}'),
       ('expire', 'accepted', 'parked', '{reaper}'),
       ('expire', 'attempted', 'parked', '{reaper}'),
       ('expire', 'ready', 'parked', '{reaper}'),
       ('fail', 'leased', 'parked, ready', '{worker}'),
       ('lapse', 'ready', 'lapsed', '{sensor}'),
       ('lose', 'leased', 'parked, ready', '{reaper,admin}'),
       ('lose_promotion', 'promoting', 'accepted, parked', '{reaper,admin}'),
       ('lose_verification', 'verifying', 'attempted, parked', '{reaper,admin}'),
       ('open', 'none', 'ready', '{sensor,admin}'),
       ('outdate', 'promoting', 'parked, ready', '{verifier}'),
       ('promote', 'promoting', 'verified', '{verifier}'),
       ('reject', 'verifying', 'parked, ready', '{verifier}'),
       ('release', 'leased', 'parked, ready', '{worker}'),
       ('submit', 'leased', 'attempted', '{worker}') $$,
    'ledger.transition lists the moves of workers, verifiers, sensors and reapers'
);
select results_eq(
    $$ select transition, string_agg(from_state, ' ' order by from_state collate "C"),
              string_agg(distinct to_state, ' ' order by to_state), min(duties::text)
       from ledger.transition where transition in ('park', 'cancel', 'redrive')
       group by transition order by transition collate "C" $$,
    $$ values
       ('cancel', 'accepted attempted leased parked promoting ready verified verifying',
        'cancelled', '{admin}'),
       ('park', 'accepted attempted leased promoting ready verified verifying', 'parked',
        '{admin}'),
       ('redrive', 'parked parked parked parked', 'accepted attempted ready verified',
        '{admin}') $$,
    'ledger.transition lets an admin park and cancel whatever is open, and redrive what is parked'
);
select is(
    (select count(*) from ledger.transition where from_state <> to_state), 50::bigint,
    'ledger.transition lists fifty moves in all'
);
select results_eq(
    $$ select transition, string_agg(from_state, ' ' order by from_state collate "C"),
              min(duties::text), min(lease), min(generation_step), max(generation_step)
       from ledger.transition where from_state = to_state or lease = 'stays'
       group by transition order by transition collate "C" $$,
    $$ values
       ('allow_repeat', 'accepted attempted leased parked promoting ready verified verifying',
        '{admin}', 'stays', 0, 0),
       ('new_epoch', 'accepted attempted leased parked promoting ready verified verifying',
        '{admin}', 'stays', 1000, 1000),
       ('set_priority', 'accepted attempted leased parked promoting ready verified verifying',
        '{admin}', 'stays', 0, 0) $$,
    'ledger.transition lists three acts within a state, each of an admin and in every open state'
);
select is_empty(
    $$ select from ledger.transition
       where from_state in ('confirmed', 'cancelled', 'lapsed') or to_state = 'none' $$,
    'ledger.transition leads out of no terminal state'
);
select is_empty(
    $$ select transition from ledger.transition
       where from_state <> to_state
         and generation_step <> (transition in ('claim', 'claim_verification', 'claim_promotion',
             'lose', 'lose_verification', 'lose_promotion', 'park', 'redrive',
             'cancel'))::integer $$,
    'ledger.transition raises the generation by one with every claim, loss, park, redrive, cancel'
);
select is_empty(
    $$ select t.transition, t.from_state, t.to_state, t.lease
       from ledger.transition as t
       where t.lease <> case
           when t.from_state = t.to_state then 'stays'
           when t.from_state not in ('leased', 'verifying', 'promoting')
               and t.to_state not in ('leased', 'verifying', 'promoting') then 'none'
           when t.from_state not in ('leased', 'verifying', 'promoting') then 'takes'
           when t.to_state in ('leased', 'verifying', 'promoting') then 'keeps'
           when 'worker' = any (t.duties) or 'verifier' = any (t.duties) then 'returns'
           else 'revokes'
       end $$,
    'ledger.transition lets only its holder return a lease, and others revoke it'
);

select is(
    (select array_agg(distinct to_state order by to_state) from ledger.transition
     where 'worker' = any (duties)),
    array['attempted', 'leased', 'parked', 'ready'],
    'ledger.transition lets no worker bring a campaign further than attempted'
);
select is(
    (select array_agg(distinct d.duty) from ledger.transition, unnest(duties) as d (duty)
     where to_state = 'confirmed'),
    array['sensor'], 'ledger.transition lets nobody but a sensor confirm'
);

create function testing.by_hand(p_who text) returns setof text language plpgsql as $fn$
begin
    return query select testing.raises(
        s.statement, 'KN902', null,
        format('ledger.transition is closed to %s: %s', p_who, s.statement)
    )
    from (values
        ('insert into ledger.transition select ''skip'', from_state, ''verified'', duties, lease, '
         'generation_step from ledger.transition where transition = ''submit'''),
        ('update ledger.transition set duties = ''{worker}'''),
        ('delete from ledger.transition'),
        ('truncate ledger.transition cascade')
    ) as s (statement);
end
$fn$;

select testing.by_hand('a superuser');
set local session authorization fencepost_owner;
select testing.by_hand('its owner');
reset session authorization;
set local session_replication_role = replica;
select testing.raises(
    'delete from ledger.transition', 'KN902', null,
    'ledger.transition is closed also while other triggers are off'
);
set local session_replication_role = origin;

set local session authorization admin_1;
select testing.raises(
    'select * from ledger.transition', '42501', null, 'ledger.transition is private'
);

reset session authorization;
select finish();
rollback;
