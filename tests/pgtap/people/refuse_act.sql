-- ledger.refuse_act answers an admin's act that could not lock its campaign.
\ir ../_support/fixture.psql
\ir ../_support/helper.psql
\ir ../_support/call.psql
select plan(11);

create function testing.answer(
    p_function   text,
    p_generation bigint,
    p_content    bytea,
    p_principal  name default 'admin_1'
)
    returns text
    language sql
as $fn$
    select concat_ws(' ', r.receipt ->> 'outcome', r.receipt ->> 'message',
                     case when (r.receipt ->> 'duplicate')::boolean then 'duplicate' end)
    from (select testing.by(p_principal, format(
        'ledger.refuse_act(%L, %L, %s, %s, %L)',
        p_function, 'fix', testing.id(), p_generation, p_content
    ))) as r (receipt)
$fn$;

create role admin_2 login in role fencepost_admin;
select testing.open();
select testing.must('admin_1', testing.on_campaign('set_priority', '{"p_priority": 2}'));
select (testing.event()).content_sha256 as raised \gset
select is(
    testing.answer('set_priority', 0, :'raised'), 'ok duplicate',
    'what does not move the campaign is known under the generation that it has'
);
select testing.parked('lexer');
select testing.must('admin_1', testing.on_campaign('park'));
select (testing.event()).content_sha256 as parked \gset
select is(
    testing.answer('park', 0, :'parked'), 'ok duplicate',
    'what moves it under the generation before'
);
select is(
    testing.answer('set_priority', 0, :'raised'), 'ok duplicate',
    'and stays known when it has moved on'
);
select is(count(*), 0::bigint, 'a repeat is no refusal') from testing.refusals('admin_1');

select is(testing.answer(a.function, a.generation, a.content::bytea, a.principal), a.answer, a.what)
from (values
    ('park', 0, :'parked', 'admin_2'::name,
     'stale generation 0 is not the campaign''s present one, 1', 'another admin''s is none'),
    ('park', 0, '\xaa', 'admin_1',
     'stale generation 0 is not the campaign''s present one, 1', 'nor one that said something else'),
    ('cancel', 0, :'parked', 'admin_1',
     'stale generation 0 is not the campaign''s present one, 1', 'nor one of another name'),
    ('park', 1, :'parked', 'admin_1',
     'illegal park is not done in state parked', 'nor one of another generation'),
    ('park', 2, '\xaa', 'admin_1',
     'stale generation 2 is not the campaign''s present one, 1', 'the next generation is none yet')
) as a (function, generation, content, principal, answer, what);
select results_eq(
    $$ select r.function, r.outcome, r.campaign_id, r.generation
       from testing.refusals('admin_2') as r $$,
    $$ values ('park', 'stale', testing.id(), 0::bigint) $$,
    'which is recorded'
);
select testing.raises(
    $$ select testing.by('admin_1', 'ledger.refuse_act(''park'', ''fix'', 0, 1, null)') $$,
    'KN108', 'class fix has no campaign 0', 'an unknown campaign is misuse'
);

select finish();
rollback;
