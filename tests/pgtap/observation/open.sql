-- ledger.open opens a campaign; what acceptance means is frozen then, and the last one inherited.
\ir ../_support/fixture.psql
\ir ../_support/helper.psql
\ir ../_support/call.psql
select plan(8);

create function testing.opened(
    p_class  text default 'fix',
    p_reason text default null
)
    returns jsonb
    language sql
as $fn$
    select testing.by('admin_1', format(
        'ledger.open(testing.target(%L, %L), ledger.clock(), p_token_sha256 => %L, p_reason => %L)',
        'parser', p_class, sha256(p_class::bytea || testing.clock()::text::bytea), p_reason
    ))
$fn$;

-- == what is copied ===============================================================================

select testing.class('strict', '{"promotes": true, "separate_family": true,
                                 "needs_evidence": false}');
select testing.target_in('parser', 'strict');
select testing.clock_passes('1 minute');
select is(
    testing.opened('strict', 'the release is near'), to_jsonb(testing.campaign('parser', 'strict')),
    'ledger.open returns the campaign as it stands'
);
select row_eq(
    $$ select c.state, c.generation, c.opened_at, c.opened_by, c.opening_observation_no,
              c.opening_token_sha256 is not null, c.previous_campaign_id, c.next_attempt_at,
              c.phase_since, c.priority
       from testing.campaign('parser', 'strict') as c $$,
    row('ready'::text, 0::bigint, testing.clock(), 'admin_1'::name, null::bigint, true,
        null::bigint, testing.clock(), testing.clock(), 0::smallint),
    'ready, in nobody''s hands, due at once'
);
select row_eq(
    $$ select c.desired_state, c.acceptance, c.promotes, c.separate_family, c.needs_evidence
       from testing.campaign('parser', 'strict') as c $$,
    row('{"tests": "green"}'::jsonb,
        '{"command": ["make", "test"], "time_limit_s": 600, "protected": ["tests"]}'::jsonb,
        true, true, false),
    'with the target''s and the class''s word on what acceptance means'
);
select row_eq(
    $$ select e.transition, e.from_state, e.to_state, e.at, e.by_principal, e.detail,
              octet_length(e.content_sha256)
       from testing.event('parser', 'strict') as e $$,
    row('open'::text, 'none'::text, 'ready'::text, testing.clock(), 'admin_1'::name,
        '{"reason": "the release is near"}'::jsonb, 32),
    'its first event says why, and has the digest of what was frozen'
);
select testing.must('admin_1', $$ select * from kernel.define_class(
    p_class => 'strict', p_policy => '{"backoff_jitter": 0, "needs_evidence": true}') $$);
select row_eq(
    $$ select c.promotes, c.separate_family, c.needs_evidence
       from testing.campaign('parser', 'strict') as c $$,
    row(true, true, false), 'what the class says afterwards does not reach it'
);

-- == what is inherited ============================================================================

select testing.leased();
select testing.must('worker_1', testing.holding('fail', '{"p_reason": "nothing helped"}'));
select testing.id() as first \gset
select testing.cancel();
select testing.clock_passes('23 hours 59 minutes');
select testing.opened();
select row_eq(
    $$ select c.previous_campaign_id, c.failure_count, c.loss_count, c.failure_reason,
              c.attempt_count, c.generation
       from testing.campaign() as c $$,
    row(:first::bigint, 1, 0, 'nothing helped'::text, 0, 0::bigint),
    'within reopen_within it names the last one, and inherits its counts and its reason'
);
select is(
    (testing.event()).detail, jsonb_build_object('previous', :first), 'and the event says so'
);
select testing.cancel();
select testing.clock_passes('1 day');
select testing.opened();
select row_eq(
    $$ select c.previous_campaign_id, c.failure_count, c.failure_reason
       from testing.campaign() as c $$,
    row(null::bigint, 0, null::text), 'when that time is over it inherits nothing'
);

select finish();
rollback;
