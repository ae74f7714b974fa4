-- ledger.operation_transition holds the legal moves of an operation, and nothing adds to them.
\ir ../_support/fixture.psql
select plan(16);

select results_eq(
    $$ select format('%s: %s to %s', t.event, t.from_state, t.to_state), t.duties::text,
              t.is_started
       from ledger.operation_transition as t
       order by t.event collate "C", t.from_state, t.to_state $$,
    $$ values
       ('abandon: pending to unknown', '{worker,verifier,reaper,admin}', null),
       ('ask_again: unknown to unknown', '{admin}', null),
       ('begin: none to pending', '{worker,verifier}', null),
       ('begin: released to pending', '{worker,verifier}', null),
       ('complete: pending to completed', '{worker,verifier}', null),
       ('complete: unknown to completed', '{worker,verifier}', null),
       ('expire: pending to unknown', '{worker,verifier,reaper}', true),
       ('fail: pending to failed', '{worker,verifier}', null),
       ('inquire: unknown to unknown', '{worker,verifier,admin}', null),
       ('mark_unknown: pending to unknown', '{worker,verifier}', null),
       ('release: pending to released', '{worker,verifier,reaper,admin}', false),
       ('resolve: unknown to completed', '{worker,verifier,admin}', null),
       ('resolve: unknown to failed', '{worker,verifier,admin}', null),
       ('start: pending to pending', '{worker,verifier}', false),
       ('take_over: pending to pending', '{worker,verifier}', false) $$,
    'ledger.operation_transition lists these'
);
select is_empty(
    $$ select from ledger.operation_transition where from_state in ('completed', 'failed') $$,
    'nothing leads out of completed and failed'
);
select is_empty(
    $$ select from ledger.operation_transition
       where from_state = 'unknown' and to_state in ('pending', 'released') $$,
    'D03: nothing leads from unknown to where it is done again'
);
create function testing.by_hand(p_who text) returns setof text language plpgsql as $fn$
begin
    return query select testing.raises(
        s.statement, 'KN902', null,
        format('ledger.operation_transition is closed to %s: %s', p_who, s.statement)
    )
    from (values
        ('insert into ledger.operation_transition values (''retry'', ''unknown'', ''pending'', '
         '''{worker}'')'),
        ('update ledger.operation_transition set duties = ''{worker}'''),
        ('delete from ledger.operation_transition'),
        ('truncate ledger.operation_transition cascade')
    ) as s (statement);
end
$fn$;
select testing.by_hand('a superuser');
set local session authorization fencepost_owner;
select testing.by_hand('its owner');
reset session authorization;
set local session_replication_role = replica;
select testing.by_hand('a superuser while other triggers are off');
set local session_replication_role = origin;
set local session authorization admin_1;
select testing.raises(
    'select * from ledger.operation_transition', '42501', null,
    'ledger.operation_transition is private'
);
reset session authorization;
select finish();
rollback;
