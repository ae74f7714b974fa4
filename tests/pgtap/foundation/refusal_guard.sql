-- ledger.refusal counts, and is pruned after its time; nothing else of it changes, by any hand.
\ir ../_support/fixture.psql
select plan(52);

-- Two refusals of worker_elsewhere in a class that keeps them for a day, and one in no class.
select testing.class('brief', '{"refusal_retention": "1 day"}');
select testing.act('worker_elsewhere', format(
    'select * from kernel.claim(p_class => %L, p_token => %L)', c.class, testing.token('x')
)) ->> 'outcome'
from (values ('brief'), ('brief'), ('nowhere')) as c (class);

create function testing.by_hand(p_who text) returns setof text language plpgsql as $fn$
begin
    return query select testing.raises(
        format('update ledger.refusal set %s where class = ''brief''', c.change), 'KN902',
        'UPDATE of a refusal is refused',
        format('ledger.refusal keeps its %s against %s', split_part(c.change, ' ', 1), p_who)
    )
    from (values
        ('class = ''fix'''), ('principal = ''worker_2'', suppressed = suppressed + 1'),
        ('function = ''fail'''), ('outcome = ''stale'''), ('campaign_id = 1'),
        ('generation = 1, suppressed = suppressed + 1'), ('message = ''nothing'''),
        ('refused_at = refused_at - interval ''1 s'''), ('suppressed = suppressed'),
        ('suppressed = suppressed + 2'), ('suppressed = suppressed + 1'),
        ('refusal_no = default, suppressed = suppressed + 1')
    ) as c (change);
    return next testing.raises(
        'delete from ledger.refusal', 'KN902', 'DELETE of a refusal is refused',
        'ledger.refusal loses no row to ' || p_who
    );
    return next testing.raises(
        'truncate ledger.refusal', 'KN902', null, 'ledger.refusal is not truncated by ' || p_who
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

-- == its principal counts, one by one ==============================================================

-- The kernel counts in a function of its owner; here the owner's privilege is lent, to a hand that
-- nothing else keeps off.
alter table ledger.refusal disable trigger refusal_30_not_by_hand;
grant usage on schema ledger to worker_elsewhere;
grant select, update on ledger.refusal to worker_elsewhere;
set local session authorization worker_elsewhere;
select lives_ok(
    $$ update ledger.refusal set suppressed = suppressed + 1 where class = 'nowhere' $$,
    'ledger.refusal lets its own principal''s further refusals be counted'
);
select testing.raises(
    $$ update ledger.refusal set suppressed = suppressed + 2 where class = 'nowhere' $$, 'KN902',
    null, 'ledger.refusal counts one at a time'
);
select testing.raises(
    $$ update ledger.refusal set suppressed = 0 where class = 'nowhere' $$, 'KN902', null,
    'ledger.refusal counts up'
);
select testing.raises(
    $$ update ledger.refusal set suppressed = suppressed + 1, message = 'x'
       where class = 'nowhere' $$, 'KN902', null, 'ledger.refusal changes in nothing beside'
);
reset session authorization;
revoke select, update on ledger.refusal from worker_elsewhere;
revoke usage on schema ledger from worker_elsewhere;

-- == an admin removes what is old ==================================================================

grant usage on schema ledger to admin_1, auditor_1;
grant select, delete on ledger.refusal to admin_1, auditor_1;
select testing.clock_passes('1 day - 1 second');
set local session authorization admin_1;
select testing.raises(
    $$ delete from ledger.refusal where class = 'brief' $$, 'KN902', null,
    'ledger.refusal keeps what is younger than the class''s refusal_retention'
);
reset session authorization;
select testing.clock_passes('1 second');
set local session authorization auditor_1;
select testing.raises(
    $$ delete from ledger.refusal where class = 'brief' $$, 'KN902', null,
    'ledger.refusal loses nothing to who is no admin'
);
set local session authorization admin_1;
select testing.raises(
    $$ delete from ledger.refusal where class = 'nowhere' $$, 'KN902', null,
    'ledger.refusal keeps what belongs to no class'
);
select lives_ok(
    $$ delete from ledger.refusal where class = 'brief' $$,
    'ledger.refusal lets go what is as old as that'
);
reset session authorization;
revoke select, delete on ledger.refusal from admin_1, auditor_1;
revoke usage on schema ledger from admin_1, auditor_1;

-- == another table's trigger ======================================================================

create table testing.other (like ledger.refusal);
create trigger other_guard before update on testing.other
    for each row execute function ledger.tg_refusal__guard();
insert into testing.other
    (class, refusal_no, principal, function, outcome, message, refused_at, suppressed)
values ('fix', 1, session_user, 'claim', 'stale', 'x', now(), 0);
select testing.raises(
    'update testing.other set suppressed = 1', 'KN902', null,
    'ledger.tg_refusal__guard serves no other table'
);

set local session authorization sensor_1;
select testing.raises(
    'select from ledger.refusal', '42501', 'permission denied for schema ledger',
    'ledger.refusal is private'
);

reset session authorization;
select finish();
rollback;
