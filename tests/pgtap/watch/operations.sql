-- audit.operations shows auditors every external operation as it stands; kernel.health, explain and
-- check look at them too.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/view.psql
\ir ../_support/operation.psql
\ir ../_support/log.psql
select plan(35);

select testing.is_for_auditors('operations');
select columns_are(
    'audit', 'operations',
    array['class', 'operation_key', 'incarnation', 'revision', 'state', 'campaign_id', 'attempt_no',
          'generation', 'duty', 'kind', 'target', 'ordinal', 'fingerprint', 'expected', 'principal',
          'label', 'begun_at', 'lease_expires_at', 'started_at', 'read_back', 'result',
          'result_text', 'diagnostic', 'reason', 'inquiry_count', 'created_at', 'updated_at',
          'reconciled_by', 'reconciled_at'],
    'has these columns'
);
select testing.allows_operations('fix');
select testing.posted(s.state, s.state)
from unnest(array['pending', 'started', 'completed', 'failed', 'unknown', 'released']) as s (state);
select testing.leased();
select testing.pushed('started') as push \gset
select testing.must('worker_2', testing.resolving('still_unknown', '{}', 'unknown'));
set local session authorization auditor_1;
select results_eq(
    $$ select o.operation_key::text collate "default", o.state, o.revision, o.kind,
              o.started_at is not null, o.inquiry_count, o.principal
       from audit.operations as o where o.campaign_id is null order by 1 $$,
    $$ values ('completed'::text, 'completed'::text, 3, 'http.post'::text, true, 0,
               'worker_1'::name),
              ('failed', 'failed', 3, 'http.post', true, 0, 'worker_1'),
              ('pending', 'pending', 1, 'http.post', false, 0, 'worker_1'),
              ('released', 'released', 2, 'http.post', false, 0, 'worker_1'),
              ('started', 'pending', 2, 'http.post', true, 0, 'worker_1'),
              ('unknown', 'unknown', 4, 'http.post', true, 1, 'worker_1') $$,
    'shows each as it stands'
);
select row_eq(
    $$ select o.operation_key::text collate "default", o.attempt_no, o.generation,
              o.expected ->> 'fence'
       from audit.operations as o where o.campaign_id is not null $$,
    row(:'push'::text, 1, 1::bigint, 'fence-1'::text), 'those of a campaign, too'
);
select throws_ok($$ delete from audit.operations $$, '42501', null, 'is no way to write');
select throws_ok($$ select * from ledger.operation $$, '42501', null, 'nor to the table behind it');
reset session authorization;
select testing.shows_no_token('operations');

-- == kernel.health ================================================================================

create function testing.health_of(p_subject text)
    returns text
    language sql
as $fn$
    select concat_ws(' ', trim_scale((h ->> 'quantity')::numeric)::text,
                     case h -> 'is_well' when 'true' then 'well' else 'not well' end)
    from testing.act('auditor_1', format(
        'select * from kernel.health() where class = %L and subject = %L', 'fix', p_subject)) as h
$fn$;
select is(testing.health_of('unknown_operations'), '1 not well', 'D20: health counts the unknown');
select matches(
    testing.act('auditor_1', $$ select message from kernel.health()
        where class = 'fix' and subject = 'unknown_operations' $$) ->> 'message',
    'kernel[.]resolve_operation[.] Of these: unknown$', 'and names them'
);
select testing.must('worker_2', testing.resolving('failed', '{}', 'unknown'));
select is(testing.health_of('unknown_operations'), '0 well', 'until they are resolved');
select is(testing.health_of('expired_operations'), '0 well', 'and those whose lease has run out');
select testing.clock_passes('15 minutes' - interval '1 microsecond');
select is(testing.health_of('expired_operations'), '0 well', 'not before');
select testing.clock_passes('1 microsecond');
select is(testing.health_of('expired_operations'), '2 well', 'D20: from exactly then on');
select testing.clock_passes('10 minutes' - interval '1 microsecond');
select is(testing.health_of('expired_operations'), '2 well', 'the reaper has ten minutes');
select testing.clock_passes('1 microsecond');
select is(testing.health_of('expired_operations'), '2 not well', 'and no more');
select testing.must('reaper_1', $$ select * from kernel.expire_operations('fix') $$);
select is(testing.health_of('expired_operations'), '0 well', 'until it has come');
select is(testing.health_of('unknown_operations'), '1 not well', 'which leaves one unknown');

-- == kernel.explain ===============================================================================

create function testing.explained()
    returns text
    language sql
as $fn$
    select testing.act('auditor_1', format('select kernel.explain(%L, %s) as text', 'fix',
                                           testing.id())) ->> 'text'
$fn$;
select doesnt_match(
    testing.explained(), 'external operations', 'explain says nothing of known ones'
);
select testing.must('reaper_1', $$ select * from kernel.reap('fix') $$);
select matches(
    testing.explained(),
    format('Nobody knows whether 1 of its external operations took effect [(]%s[)]', :'push'),
    'but of those that are unknown'
);

-- == kernel.check =================================================================================

set local session authorization auditor_1;
select is_empty($$ select * from kernel.check('fix') $$, 'check finds nothing wrong with them');
reset session authorization;
select is(
    testing.found(c.relation, format('update %s set %s where operation_key = ''unknown''',
                                     c.relation, c.change)),
    c.found, format('check after one did to %s: %s', c.relation, c.change)
)
from (values
    ('ledger.operation'::regclass, 'state = ''completed''', 'operation'),
    ('ledger.operation', 'revision = revision + 1', 'operation'),
    ('ledger.operation', 'incarnation = gen_random_uuid()', 'operation'),
    ('ledger.operation', 'event_count = event_count + 1', 'operation'),
    ('ledger.operation_event', 'revision = revision + 1', 'operation'),
    ('ledger.operation_event', 'event_no = event_no + 10', 'operation'),
    ('ledger.operation_event', 'to_state = ''pending''', 'operation')
) as c (relation, change, found);
select is(
    testing.found(c.relation, c.statement), 'operation',
    format('check after one did: %s', c.statement)
)
from (values
    ('ledger.operation'::regclass,
     'delete from ledger.operation where operation_key = ''unknown'''),
    ('ledger.operation_event',
     'update ledger.operation_event set revision = 9 where event_no = 2 and '
     'operation_key = ''unknown'''),
    ('ledger.operation_event', 'delete from ledger.operation_event where event_no = 1'),
    ('ledger.operation_event', 'delete from ledger.operation_event where event_no = 3'),
    ('ledger.operation_event',
     'delete from ledger.operation_event where operation_key = ''unknown''')
) as c (relation, statement);

select finish();
rollback;
