-- ledger.operation changes by a legal move of the session's own duty, or not at all, whoever sits
-- at the keyboard; its history holds what happened, and nothing else.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/operation.psql
select plan(113);

select testing.allows_operations('fix');
select testing.posted(s.state, s.state)
from unnest(array['pending', 'started', 'completed', 'failed', 'unknown', 'released']) as s (state);
select testing.leased();
select testing.pushed('pending') as push \gset

-- Makes the move by hand, as well as can be, and undoes it: which SQLSTATE, or "none".
create function testing.by_hand(
    p_key   text,
    p_event text,
    p_to    text,
    p_more  text default ''
)
    returns text
    language plpgsql
as $fn$
begin
    execute format(
        'update ledger.operation as o set last_event = %L, state = %L, '
        'revision = case when %L = ''begin'' then 1 else o.revision + 1 end, '
        'incarnation = case when %L = ''begin'' then gen_random_uuid() else o.incarnation end, '
        'reason = ''by hand'', started_at = case when %L = ''start'' then now() '
        'else o.started_at end, lease_expires_at = case when %L = ''pending'' '
        'then now() + interval ''1 day'' end %s where o.operation_key = %L',
        p_event, p_to, p_event, p_event, p_event, p_to, p_more, p_key
    );
    raise exception using errcode = 'TST01';
exception
    when sqlstate 'TST01' then return 'none';
    when others then return sqlstate;
end
$fn$;
create function testing.made_by_hand()
    returns setof text
    language sql
as $fn$
    select format('%s: %s to %s', e.event, k.key, t.state)
    from unnest(array['pending', 'started', 'completed', 'failed', 'unknown', 'released'])
        as k (key)
    cross join (
        select distinct t.event from ledger.operation_transition as t
        union select 'skip'
    ) as e
    cross join unnest(array['pending', 'completed', 'failed', 'unknown', 'released']) as t (state)
    where testing.by_hand(k.key, e.event, t.state) <> 'KN901'
$fn$;

-- == nobody but its mover =========================================================================

select testing.ledger_digest(true, 'operation') as rest \gset
select is_empty('select testing.made_by_hand()', 'no move is made by a superuser');
set local session authorization fencepost_owner;
select is_empty('select testing.made_by_hand()', 'nor by the owner');
reset session authorization;
set local session_replication_role = replica;
select is_empty('select testing.made_by_hand()', 'nor while other triggers are off');
set local session_replication_role = origin;

grant usage on schema ledger to worker_1, worker_2, verifier_1, reaper_1, admin_1, sensor_1;
grant select, insert, update, delete on ledger.operation to worker_1, worker_2, verifier_1,
    reaper_1, admin_1, sensor_1;
grant select on ledger.operation_transition, ledger.operation_event to worker_1, worker_2,
    verifier_1, reaper_1, admin_1, sensor_1;
create function testing.legal_for(p_duty text, p_is_owner boolean)
    returns setof text
    language sql
as $fn$
    -- Its lease has not run out, so nobody takes it over; and what is abandoned was started, or is
    -- said to be by the same update, which this one does not do.
    select format('%s: %s to %s', t.event, k.key, t.to_state)
    from ledger.operation_transition as t
    cross join unnest(array['pending', 'started', 'completed', 'failed', 'unknown', 'released'])
        as k (key)
    where t.from_state = case k.key when 'started' then 'pending' else k.key end
      and p_duty = any (t.duties)
      and t.event <> 'take_over'
      and (t.event <> 'abandon' or k.key = 'started')
      and (t.is_started is null or t.is_started = (k.key not in ('pending', 'released')))
      and (p_is_owner or t.event not in ('begin', 'start', 'complete', 'fail', 'mark_unknown'))
$fn$;
create function testing.makes_its_own(p_principal name, p_is_owner boolean)
    returns text
    language plpgsql
as $fn$
declare
    v_made text[];
begin
    perform set_config('session_authorization', p_principal, true);
    v_made := array(select m from testing.made_by_hand() as m order by m);
    perform set_config('session_authorization', 'postgres', true);
    return is(
        v_made,
        array(select l from testing.legal_for(split_part(p_principal, '_', 1), p_is_owner) as l
              order by l),
        format('%s, had it the table, would make its own moves and no others', p_principal)
    );
end
$fn$;
select testing.makes_its_own(p.principal, p.is_owner)
from (values ('worker_1', true), ('worker_2', false), ('verifier_1', false), ('reaper_1', false),
             ('admin_1', false), ('sensor_1', false)) as p (principal, is_owner);

-- == what a move changes ==========================================================================

set local session authorization worker_1;
select testing.raises(
    format('update ledger.operation as o set last_event = %L, state = %L, reason = ''x'', '
           'revision = o.revision + 1, lease_expires_at = %s, %s where o.operation_key = %L',
           m.event, m.to_state, case m.to_state when 'pending' then 'o.lease_expires_at'
                                                else 'null' end, c.change, m.key),
    'KN901', c.message, format('%s takes no other %s', m.event, split_part(c.change, ' ', 1))
)
from (values ('complete', 'completed', 'started'), ('mark_unknown', 'unknown', 'started'))
    as m (event, to_state, key)
cross join (values
    ('class = ''ship''', null), ('operation_key = ''other''', null),
    ('incarnation = gen_random_uuid()', null), ('kind = ''x''', null), ('target = ''x''', null),
    ('ordinal = 2', null), ('fingerprint = ''x''', null),
    ('created_at = o.created_at - interval ''1 s''', null), ('principal = ''worker_2''', null),
    ('principal_oid = 1', null), ('token_sha256 = ''\x00''', null), ('duty = ''verifier''', null),
    ('expected = ''{}''', null), ('label = ''x''', null),
    ('begun_at = o.begun_at - interval ''1 s''', null), ('begun_xid = ''3''', null),
    ('started_at = null', null), ('started_at = o.started_at + interval ''1 s''', null)
) as c (change, message);
select testing.raises(
    format('update ledger.operation as o set last_event = ''complete'', state = ''completed'', '
           'lease_expires_at = null, revision = %s where o.operation_key = ''started''',
           r.revision),
    'KN901', null, 'a move takes the revision up by one, not to ' || r.revision
)
from (values ('o.revision'), ('o.revision + 2'), ('1')) as r (revision);
select testing.raises(
    format('update ledger.operation as o set last_event = ''start'', revision = o.revision + 1 %s '
           'where o.operation_key = ''pending''', c.change),
    'KN901', null, 'a start ' || c.what
)
from (values ('', 'says when'), (', state = ''completed''', 'is a move of its own'))
    as c (change, what);
select is(
    testing.by_hand('released', 'begin', 'pending', c.change), c.code,
    'what is begun anew ' || c.what
)
from (values
    ('', 'none', 'is'),
    (', principal = ''worker_2''', 'KN901', 'is its owner''s')
) as c (change, code, what);
select testing.raises(
    $$ update ledger.operation as o
       set last_event = 'begin', state = 'pending', lease_expires_at = now(), revision = 1
       where o.operation_key = 'released' $$,
    'KN901', null, 'is of another incarnation'
);
select testing.raises(
    $$ update ledger.operation as o
       set last_event = 'begin', state = 'pending', lease_expires_at = now(), revision = 1,
           incarnation = gen_random_uuid(), started_at = now()
       where o.operation_key = 'released' $$,
    'KN901', null, 'is not started yet'
);
-- A renewal: the lease alone, by its owner, to a later end.
select testing.raises(
    'update ledger.operation as o set lease_expires_at = ' || c.change
    || ' where o.operation_key = ''pending''', 'KN901', c.message, 'a renewal is ' || c.what
)
from (values
    ('o.lease_expires_at', 'an operation is renewed by its owner, to a later end', 'no repeat'),
    ('o.lease_expires_at - interval ''1 s''', null, 'to no earlier end'),
    ('null', null, 'not to none')
) as c (change, message, what);
select lives_ok(
    $$ update ledger.operation as o set lease_expires_at = o.lease_expires_at + interval '1 s'
       where o.operation_key = 'pending' $$, 'but to a later one'
);
set local session authorization worker_2;
select testing.raises(
    $$ update ledger.operation as o set lease_expires_at = o.lease_expires_at + interval '1 s'
       where o.operation_key = 'pending' $$, 'KN901', null, 'and by nobody else'
);
-- Taken over when its lease has run out, not before; one of a campaign not at all.
reset session authorization;
create function testing.takes(p_key text, p_lease text)
    returns text
    language sql
as $fn$
    select testing.by_hand(p_key, 'take_over', 'pending',
                           format(', principal = ''worker_2'', updated_at = %s', p_lease))
$fn$;
set local session authorization worker_2;
select is(testing.takes('pending', t.at), t.code, t.what)
from (values
    ('o.lease_expires_at - interval ''1 us''', 'KN901',
     'nobody takes it over before its lease ends'),
    ('o.lease_expires_at', 'none', 'but then')
) as t (at, code, what);
select is(testing.takes('started', 'o.lease_expires_at'), 'KN901', 'nor what was started');
select is(
    testing.by_hand(:'push', 'take_over', 'pending', ', principal = ''worker_2'','
                    ' updated_at = now() + interval ''1 year'''),
    'KN901', 'nor that of a campaign'
);

-- == what begins ==================================================================================

reset session authorization;
create function testing.inserts(p_changes jsonb)
    returns text
    language plpgsql
as $fn$
begin
    insert into ledger.operation
    select n.*
    from ledger.operation as o
    cross join lateral jsonb_populate_record(o, jsonb_build_object(
        'operation_key', 'new', 'principal', session_user, 'revision', 1, 'event_count', 0,
        'last_event', 'begin') || p_changes) as n
    where o.operation_key = 'pending';
    raise exception using errcode = 'TST01';
exception
    when sqlstate 'TST01' then return 'none';
    when others then return sqlstate;
end
$fn$;
set local session authorization worker_2;
select is(testing.inserts(c.changes), c.code, c.what)
from (values
    ('{}'::jsonb, 'none', 'a worker would begin one by hand, had it the table'),
    ('{"revision": 2}', 'KN901', 'with revision 1'),
    ('{"event_count": 5}', 'KN901', 'and no history'),
    ('{"started_at": "2026-09-01"}', 'KN901', 'not started'),
    ('{"principal": "worker_1"}', 'KN901', 'in its own name'),
    ('{"state": "completed", "lease_expires_at": null}', 'KN901', 'and open'),
    ('{"last_event": "resolve"}', 'KN901', 'by its beginning')
) as c (changes, code, what);
reset session authorization;
select is(testing.inserts('{}'), 'KN901', 'a superuser would not');

-- == nothing goes =================================================================================

create function testing.gone(p_who text)
    returns setof text
    language sql
as $fn$
    select testing.raises(
        format('delete from ledger.operation where operation_key = %L', s.state), 'KN901',
        'DELETE of an operation is refused',
        format('one that is %s is not deleted by %s', s.state, p_who)
    )
    from unnest(array['pending', 'started', 'completed', 'unknown', 'released']) as s (state)
    union all
    select testing.raises(s.statement, s.code, null, format('%s: %s', p_who, s.statement))
    from (values
        ('truncate ledger.operation', 'KN902'),
        ('update ledger.operation_event set at = at', 'KN902'),
        ('delete from ledger.operation_event', 'KN902'),
        ('truncate ledger.operation_event', 'KN902'),
        ('insert into ledger.operation_event select * from ledger.operation_event', 'KN901'),
        ('insert into ledger.operation_event select (e).* from (select jsonb_populate_record(x, '
         '''{"event_no": 9}'') as e from ledger.operation_event as x) as y', 'KN901')
    ) as s (statement, code)
$fn$;
select testing.clock_passes('1 year');
select testing.gone('a superuser');
set local session authorization fencepost_owner;
select testing.gone('its owner');
reset session authorization;
set local session_replication_role = replica;
select testing.gone('a superuser while other triggers are off');
set local session_replication_role = origin;

-- The reaper, had it the table: what ended long ago, and not what is open or unknown.
create function testing.deletes(p_key text)
    returns text
    language plpgsql
as $fn$
begin
    delete from ledger.operation where operation_key = p_key;
    raise exception using errcode = 'TST01';
exception
    when sqlstate 'TST01' then return 'none';
    when others then return sqlstate;
end
$fn$;
set local session authorization reaper_1;
select is(
    testing.deletes(s.key), s.code, format('what a reaper deletes by hand: %s, %s', s.key, s.code)
)
from (values
    ('pending', 'KN901'), ('started', 'KN901'), ('unknown', 'KN901'), (:'push', 'KN901'),
    ('completed', 'none'), ('failed', 'none'), ('released', 'none')
) as s (key, code);
reset session authorization;
select testing.clock_is('2026-09-01 03:00+00'::timestamptz + interval '30 days');
set local session authorization reaper_1;
select is(testing.deletes('completed'), 'KN901', 'not what is just as old as is kept');
reset session authorization;
select is(testing.ledger_digest(true, 'operation'), :'rest', 'nothing was written by all that');

select finish();
rollback;
