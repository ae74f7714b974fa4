-- ledger.log_digest digests the events between two places of the log; ledger.checkpoint_digest what
-- a checkpoint says.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/log.psql
select plan(24);

create function testing.logged(p_from text, p_upto text, p_class text default 'fix')
    returns text
    language sql
as $fn$
    select format('%s %s', d.event_count, encode(d.events_sha256, 'hex'))
    from ledger.log_digest(p_class, 0, p_from::xid8, 0, p_upto::xid8) as d
$fn$;

create function testing.of_events(p_events text)
    returns text
    language sql
as $fn$
    select format('%s %s', count(e), encode(sha256(coalesce(
        string_agg(ledger.event_digest(e), '' order by n.place), '')), 'hex'))
    from regexp_split_to_table(p_events, ', ') with ordinality as n (event, place)
    join ledger.campaign_event as e
        on e.class = 'fix'
        and e.campaign_id = testing.id(split_part(n.event, ' ', 1))
        and e.event_no = nullif(split_part(n.event, ' ', 2), '')::bigint
$fn$;

comment on function testing.of_events(text) is 'Count and digest of events, "parser 1, lexer 1".';

select testing.leased();
select testing.clock_passes('1 minute');
select testing.open('lexer');
select testing.clock_passes('1 minute');
select testing.submit();
select testing.open('elsewhere', 'ship');
select testing.as_if_committed_each();      -- transactions 3 to 6, and 7 of another class

-- == log_digest ===================================================================================

select is(
    testing.logged('3', '7'), testing.of_events('parser 1, parser 2, lexer 1, parser 3'),
    'ledger.log_digest digests what lies between, in the order of the transactions'
);
select is(testing.logged('4', '6'), testing.of_events('parser 2, lexer 1'), 'from, and not upto');
select is(testing.logged('5', '5'), testing.of_events(''), 'from a place to itself lies nothing');
select is(testing.logged('100', '200'), testing.of_events(''), 'nor where there is no event');
select is(
    testing.logged('0', '1000', 'none'), testing.of_events(''), 'nor in a class without any'
);
select isnt(testing.logged('0', '1000', 'ship'), testing.of_events(''), 'another has its own');
select is(
    to_jsonb(ledger.log_digest('fix', 0, '3', 1, '7')) - '{event_count,events_sha256}'::text[],
    '{"class": "fix", "checkpoint_no": null, "made_at": null, "made_by": null, "version": 1,
      "upto_epoch": 1, "upto_xid": "7", "previous_sha256": null, "sha256": null}',
    'it says of what, in which version; the rest is the checkpoint''s'
);

-- An epoch is the first part of the place.
select is(
    (ledger.log_digest('fix', 1, '0', 2, '0')).event_count, 0::bigint,
    'in a later epoch there is nothing'
);
select is(
    (ledger.log_digest('fix', 0, '5', 1, '0')).event_count, 2::bigint,
    'up to a later epoch there is all that follows'
);

-- Pruned events count as they did.
select testing.logged('3', '7') as kept \gset
select testing.cancel();
select testing.cancel('lexer');
select testing.clock_passes('91 days');
select testing.must('admin_1', testing.call('prune', '{"p_class": "fix"}'));
select is(count(*), 0::bigint, 'when all is pruned')
from ledger.campaign_event as e where e.class = 'fix';
select is(testing.logged('3', '7'), :'kept', 'the tombstones have the same digest');

-- == checkpoint_digest ============================================================================

create function testing.checkpoint(p_changes jsonb default '{}')
    returns ledger.checkpoint
    language sql
as $fn$
    select jsonb_populate_record(null::ledger.checkpoint, jsonb_build_object(
        'class', 'fix', 'checkpoint_no', 2, 'made_at', '2026-09-01 03:00:00.5+00',
        'made_by', 'auditor_1', 'version', 1, 'upto_epoch', 0, 'upto_xid', '7', 'event_count', 4,
        'events_sha256', '\xaa', 'previous_sha256', '\xbb', 'sha256', '\xcc'
    ) || p_changes)
$fn$;

select is(
    ledger.checkpoint_digest(testing.checkpoint()),
    sha256('1:1,3:fix,1:2,26:2026-09-01T03:00:00.500000,9:auditor_1,1:0,1:7,1:4,2:aa,2:bb'),
    'ledger.checkpoint_digest is the SHA-256 of the list of its columns, each with its length'
);
select isnt(
    ledger.checkpoint_digest(testing.checkpoint(jsonb_build_object(c.key, c.value))),
    ledger.checkpoint_digest(testing.checkpoint()), format('another %s has another', c.key)
)
from jsonb_each('{"class": "ship", "checkpoint_no": 3, "made_at": "2026-09-01 03:00:00.6+00",
    "made_by": "auditor_2", "version": 2, "upto_epoch": 1, "upto_xid": "8", "event_count": 5,
    "events_sha256": "\\xab", "previous_sha256": "\\xbc"}') as c (key, value);
select is(
    ledger.checkpoint_digest(testing.checkpoint('{"sha256": "\\xcd"}')),
    ledger.checkpoint_digest(testing.checkpoint()), 'its own digest is not among them'
);
select isnt(
    ledger.checkpoint_digest(testing.checkpoint('{"previous_sha256": null}')),
    ledger.checkpoint_digest(testing.checkpoint('{"previous_sha256": "\\x"}')),
    'none before is another than an empty one'
);

select finish();
rollback;
