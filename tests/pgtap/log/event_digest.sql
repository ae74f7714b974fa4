-- What the log's digests are made of: every column, and no two rows have one text.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/log.psql
select plan(39);

-- == a list =======================================================================================

select is(
    ledger.list_digest(array['1', null, 'é', '', '-']),
    sha256(convert_to('1:1,-,2:é,0:,1:-', 'UTF8')),
    'a list is digested with the length of each value in bytes, and "-" for null'
);
select is(
    (select count(distinct ledger.list_digest(l.list)) from (values
        (array['ab', 'c']), (array['a', 'bc']), (array['abc', '']), (array['', 'abc']),
        (array['abc']), (array['abc', null]), (array[null, 'abc']), (array['-', 'abc']),
        (array['2:ab,1:c']), (array['a', 'b', 'c'])
    ) as l (list)),
    10::bigint, 'no two lists have one digest'
);

-- == a row ========================================================================================

-- Another value for any column, by its type.
create function testing.otherwise(p_value jsonb, p_type regtype)
    returns jsonb
    language plpgsql
as $fn$
begin
    return case p_type::text
        when 'bigint' then to_jsonb(coalesce((p_value #>> '{}')::bigint, 0) + 1)
        when 'integer' then to_jsonb(coalesce((p_value #>> '{}')::integer, 0) + 1)
        when 'smallint' then to_jsonb(coalesce((p_value #>> '{}')::integer, 0) + 1)
        when 'boolean' then to_jsonb(p_value is distinct from 'true')
        when 'timestamp with time zone' then to_jsonb(coalesce(
            (p_value #>> '{}')::timestamptz, 'epoch') + interval '1 microsecond')
        when 'xid8' then to_jsonb(coalesce((p_value #>> '{}')::bigint, 0) + 1)
        when 'jsonb' then '{"another": true}'
        when 'bytea' then to_jsonb('\x01'::bytea)
        when 'integer[]' then '[7]'
        when 'bytea[]' then to_jsonb(array['\x01'::bytea])
        when 'xid8[]' then '["7"]'
        when 'timestamp with time zone[]' then '["2026-09-09T00:00:00Z"]'
        else to_jsonb(coalesce(p_value #>> '{}', '') || 'x')
    end;
end
$fn$;

create function testing.columns_of(p_table regclass)
    returns table (name name, type regtype)
    language sql
as $fn$
    select a.attname, a.atttypid::regtype
    from pg_attribute as a
    where a.attrelid = p_table and a.attnum > 0 and not a.attisdropped
    order by a.attnum
$fn$;

select testing.verified();
select testing.event() as event \gset
select isnt(
    ledger.event_digest(jsonb_populate_record(
        :'event'::ledger.campaign_event,
        jsonb_build_object(c.name, testing.otherwise(to_jsonb(:'event'::ledger.campaign_event)
                                                         -> c.name, c.type))
    )),
    ledger.event_digest(:'event'::ledger.campaign_event),
    format('the digest of an event tells another %s', c.name)
)
from testing.columns_of('ledger.campaign_event') as c;
select is(
    (select count(*) from testing.columns_of('ledger.campaign_event')), 16::bigint,
    'and there is no other column'
);

select isnt(
    ledger.opening_digest(jsonb_populate_record(
        testing.campaign(),
        jsonb_build_object(c.name, testing.otherwise(to_jsonb(testing.campaign()) -> c.name,
                                                     c.type))
    )),
    ledger.opening_digest(testing.campaign()),
    format('the digest of an opening tells another %s', c.name)
)
from testing.columns_of('ledger.campaign') as c
-- All that ledger.tg_campaign__guard freezes; its id and its time are those of its event.
where c.name in ('class', 'target', 'opened_by', 'opening_observation_no', 'opening_token_sha256',
                 'previous_campaign_id', 'desired_state', 'acceptance', 'promotes',
                 'separate_family', 'needs_evidence');

select testing.must('admin_1', $$ select * from kernel.define_class(
    p_class => 'fix', p_policy => '{"retention": "0"}') $$);
select testing.cancel();
select testing.must('admin_1', testing.call('prune', '{"p_class": "fix"}'));
select t as tombstone from ledger.tombstone as t \gset
select is(
    array(
        select c.name
        from testing.columns_of('ledger.tombstone') as c
        where c.name <> 'sha256'
          and ledger.tombstone_digest(jsonb_populate_record(
                  :'tombstone'::ledger.tombstone,
                  jsonb_build_object(c.name, testing.otherwise(
                      to_jsonb(:'tombstone'::ledger.tombstone) -> c.name, c.type))
              )) = ledger.tombstone_digest(:'tombstone'::ledger.tombstone)
    ),
    '{}', 'the digest of a tombstone tells another value of any of its columns'
);
select testing.must('auditor_1', testing.call('checkpoint', '{"p_class": "fix"}'));
select k as checkpoint from ledger.checkpoint as k \gset
select is(
    array(
        select c.name
        from testing.columns_of('ledger.checkpoint') as c
        where c.name <> 'sha256'
          and ledger.checkpoint_digest(jsonb_populate_record(
                  :'checkpoint'::ledger.checkpoint,
                  jsonb_build_object(c.name, testing.otherwise(
                      to_jsonb(:'checkpoint'::ledger.checkpoint) -> c.name, c.type))
              )) = ledger.checkpoint_digest(:'checkpoint'::ledger.checkpoint)
    ),
    '{}', 'and that of a checkpoint'
);

-- == whatever the session sets ====================================================================

select ledger.event_digest(:'event'::ledger.campaign_event) as plain \gset
select is(
    (select ledger.event_digest(:'event'::ledger.campaign_event)
     from (select set_config(s.name, s.value, true)) as set_so),
    :'plain'::bytea, format('%s changes no digest', s.name)
)
from (values ('timezone', 'Pacific/Apia'), ('datestyle', 'German'), ('intervalstyle', 'iso_8601'),
             ('bytea_output', 'escape'), ('extra_float_digits', '-15'), ('lc_time', 'C'))
    as s (name, value);

-- == written down =================================================================================

-- The form of version 1: who verifies outside of this server makes the same text.
set local timezone = 'UTC';
select is(
    ledger.event_digest(row(
        'fix', 7, 2, 'claim', 'ready', 'leased', 1, 'worker_1', 'worker_1', false,
        '2026-09-01 03:00:00+00', '2026-09-01 05:00:00.25+02', 0, '4711', '{"attempt": 1}', '\x0aff'
    )::ledger.campaign_event),
    sha256('1:1,3:fix,1:7,1:2,5:claim,5:ready,6:leased,1:1,8:worker_1,8:worker_1,5:false,'
           '26:2026-09-01T03:00:00.000000,26:2026-09-01T03:00:00.250000,1:0,4:4711,'
           '14:{"attempt": 1},4:0aff'),
    'version 1 of an event''s text is this'
);

select finish();
rollback;
