-- ledger.campaign: what one row may be, and what its indexes hold.
\ir ../_support/fixture.psql
select plan(15);

create role keyboard login superuser;
grant fencepost_worker, fencepost_verifier, fencepost_reaper, fencepost_sensor, fencepost_admin
    to keyboard;

-- == one row ======================================================================================

-- By a member of every group, with moves that are legal: what remains are the constraints.
select testing.leased('leased', 'ship');
select testing.open('ready', 'ship');
set local session authorization keyboard;
select testing.raises(
    format('update ledger.campaign set %s where class = ''ship'' and campaign_id = %s',
           c.change, testing.id(c.target, 'ship')),
    '23514', null, format('ledger.campaign has no row with %s', c.what)
)
from (values
    ('ready', 'state = ''parked'', last_transition = ''park'', generation = generation + 1',
     'a park and no reason for it'),
    ('ready', 'state = ''cancelled'', last_transition = ''cancel'', generation = generation + 1',
     'an end and no time of it'),
    ('ready', 'state = ''leased'', last_transition = ''claim'', generation = generation + 1, '
     'lease_principal = session_user', 'half a lease'),
    ('leased', 'state = ''ready'', last_transition = ''lose'', generation = generation + 1',
     'a lease that nobody holds'),
    ('leased', 'state = ''ready'', last_transition = ''lose'', generation = generation + 1, '
     'lease_principal = null, lease_principal_oid = null, lease_token_sha256 = null, '
     'lease_granted_at = null, lease_expires_at = null, lease_xid = null, lease_label = ''x''',
     'a label and no lease'),
    ('ready', 'state = ''parked'', last_transition = ''park'', generation = generation + 1, '
     'parked_for = ''x'', failure_count = -1', 'a negative count')
) as c (target, change, what);
select testing.raises(
    $$ insert into ledger.campaign (class, target, state, opened_at, opened_by, desired_state,
           acceptance, promotes, separate_family, needs_evidence, next_attempt_at, phase_since,
           last_transition, last_at)
       select class, target, 'ready', opened_at, opened_by, desired_state, acceptance, promotes,
              separate_family, needs_evidence, opened_at, opened_at, 'open', opened_at
       from ledger.campaign where class = 'ship' and campaign_id = testing.id('leased', 'ship') $$,
    '23505', 'duplicate key value violates unique constraint "campaign_open_uq"',
    'ledger.campaign has at most one open row of a target'
);
reset session authorization;
select testing.cancel('leased', 'ship');
select lives_ok(
    $$ select testing.open('leased', 'ship') $$,
    'ledger.campaign has another row of a target once the last is closed'
);

-- == indexes ======================================================================================

create function testing.index_predicate(p_index text) returns text language sql as $fn$
    select pg_get_expr(i.indpred, i.indrelid) from pg_index as i
    where i.indexrelid = ('ledger.' || p_index)::regclass;
$fn$;
select is(
    testing.index_predicate(i.name), format('(state = ''%s''::text)', i.state),
    format('ledger.campaign''s %s holds what is %s and nothing else', i.name, i.state)
)
from (values
    ('campaign_ready_ix', 'ready'), ('campaign_attempted_ix', 'attempted'),
    ('campaign_accepted_ix', 'accepted')
) as i (name, state);
select is(
    testing.index_predicate('campaign_lease_uq'), '(lease_token_sha256 IS NOT NULL)',
    'ledger.campaign''s campaign_lease_uq holds what is held and nothing else'
);
select is_empty(
    $$ select i.indexrelid::regclass
       from pg_index as i
       where i.indrelid = 'ledger.campaign'::regclass
         and pg_get_indexdef(i.indexrelid) ~ 'lease_expires_at' $$,
    'ledger.campaign has the expiry in no index, so that renewals stay heap-only'
);
select is(
    (select c.reloptions from pg_class as c where c.oid = 'ledger.campaign'::regclass),
    array['fillfactor=85', 'autovacuum_vacuum_scale_factor=0.02',
          'autovacuum_vacuum_threshold=200'],
    'ledger.campaign leaves room for that, and is vacuumed long before a fifth of it is dead'
);
select is_empty(
    $$ select c.oid::regclass, i.indexrelid::regclass
       from pg_class as c
       join pg_index as i on i.indrelid = c.oid and i.indisprimary
       join pg_attribute as a on a.attrelid = c.oid and a.attnum = i.indkey[0]
       where c.relnamespace = 'ledger'::regnamespace
         and c.relkind = 'r'
         and a.attname <> 'class'
         and c.relname not in ('transition', 'operation_transition', 'principal', 'answer',
                               'origin', 'denial') $$,
    'ledger.campaign and every other table has the class first in its key, but for six listed'
);

select finish();
rollback;
