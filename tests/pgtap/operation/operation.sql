-- ledger.operation has no row that makes no sense, whatever a trigger would let pass.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/operation.psql
select plan(32);

select testing.allows_operations('fix');
select testing.posted(s.state, s.state)
from unnest(array['pending', 'started', 'completed', 'failed', 'unknown']) as s (state);
select testing.leased();
select testing.pushed('pending') as push \gset
select is(
    (select c.collname::text from pg_attribute as a join pg_collation as c on c.oid = a.attcollation
     where a.attrelid = t.name::regclass and a.attname = 'operation_key'),
    'C', format('D28: keys are compared byte by byte in %s', t.name)
)
from unnest(array['ledger.operation', 'ledger.operation_event']) as t (name);
select is(
    (select count(*) from pg_indexes as i
     where i.tablename = 'operation' and length(i.indexname) < 63),
    5::bigint, 'D15: its table and its five indexes have names of their own'
);

alter table ledger.operation disable trigger user;
select testing.raises(
    format('update ledger.operation set %s where operation_key = %L', c.change, c.key),
    '23514', null, format('no row that is %s has %s', c.key, c.change)
)
from (values
    ('pending', 'state = ''gone'''), ('pending', 'operation_key = '''''),
    ('pending', 'operation_key = repeat(''x'', 513)'),
    ('pending', 'operation_key = ''fencepost:x'''),
    ('pending', 'campaign_id = 1'), ('pending', 'attempt_no = 1'), ('pending', 'generation = 1'),
    ('pending', 'duty = ''sensor'''), ('pending', 'revision = 0'), ('pending', 'ordinal = 0'),
    ('pending', 'inquiry_count = -1'), ('pending', 'event_count = -1'),
    ('pending', 'lease_expires_at = null'), ('pending', 'state = ''completed'''),
    ('completed', 'lease_expires_at = now()'), ('completed', 'state = ''failed'', reason = null'),
    ('failed', 'reason = null'), ('unknown', 'reason = null'),
    ('completed', 'reconciled_by = ''worker_1'''), ('completed', 'reconciled_at = now()')
) as c (key, change);
select testing.raises(
    format('update ledger.operation set %s where operation_key = %L', c.change, :'push'),
    '23514', null, 'no row of a campaign has ' || c.change
)
from unnest(array['lease_expires_at = now()', 'operation_key = ''mine''', 'attempt_no = null'])
    as c (change);
select testing.raises(
    format('update ledger.operation set %s where operation_key = %L', c.change, :'push'),
    c.code, null, 'D08, D14: no row has ' || c.change
)
from (values
    ('campaign_id = 123456789', '23503'),
    ('incarnation = null', '23502'), ('fingerprint = null', '23502'), ('target = null', '23502')
) as c (change, code);

-- One promotion at a time is started on one place, whatever the functions would do.
update ledger.operation set kind = 'promote', target = 'place' where operation_key in ('started');
select testing.raises(
    format('update ledger.operation set kind = ''promote'', target = ''place'' %s '
           'where operation_key = ''unknown''', c.change),
    '23505', null, 'no second promotion to a place is under way: ' || c.what
)
from (values (', state = ''pending'', lease_expires_at = now()', 'started')) as c (change, what);
select lives_ok(
    $$ update ledger.operation set kind = 'promote', target = 'place'
       where operation_key in ('pending', 'completed', 'failed') $$,
    'one that is not started, or is done, is none'
);

select finish();
rollback;
