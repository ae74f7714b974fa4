-- kernel.redrive restores the budgets that the admin names, and no others.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
select plan(21);

-- A campaign that has used something of every budget: of each kind one, and parked by an admin.
create function pg_temp.worn(p_class text)
    returns void
    language plpgsql
as $fn$
begin
    perform testing.class(p_class, '{"promotes": true, "abstain_budget": 2}');
    perform testing.leased('parser', p_class);
    perform testing.clock_passes('15 minutes');
    perform testing.must('reaper_1', testing.call('reap', jsonb_build_object('p_class', p_class)));
    perform testing.claim('parser', p_class);
    perform testing.must('worker_1', testing.holding('release', '{}', 'parser', p_class));
    perform testing.claim('parser', p_class);
    perform testing.must('worker_1', testing.holding(
        'fail', '{"p_reason": "nothing helped"}', 'parser', p_class));
    perform testing.clock_passes('1 hour');
    perform testing.claim('parser', p_class);
    perform testing.submit('parser', p_class);
    perform testing.claim_verification('parser', p_class);
    perform testing.judge('unverifiable', 'parser', p_class);
    perform testing.clock_passes('1 hour');
    perform testing.claim_verification('parser', p_class);
    perform testing.clock_passes('15 minutes');
    perform testing.must('reaper_1', testing.call('reap', jsonb_build_object('p_class', p_class)));
    perform testing.must('admin_1', testing.on_campaign('park', '{}', 'parser', p_class));
end
$fn$;

create function pg_temp.counts(p_class text)
    returns text
    language sql
as $fn$
    select format('failures %s, losses %s, releases %s, verifications %s, promotions %s',
                  c.failure_count, c.loss_count, c.release_count, c.verification_loss_count,
                  c.promotion_loss_count)
    from testing.campaign('parser', p_class) as c
$fn$;

create function pg_temp.redriven(p_class text, p_budgets text)
    returns text
    language plpgsql
as $fn$
begin
    perform pg_temp.worn(p_class);
    perform testing.must('admin_1', testing.on_campaign(
        'redrive', jsonb_build_object('p_budgets', p_budgets), 'parser', p_class));
    return pg_temp.counts(p_class);
end
$fn$;

create function pg_temp.abstains(p_class text)
    returns text
    language plpgsql
as $fn$
begin
    perform testing.claim_verification('parser', p_class, 'verifier_2');
    perform testing.judge('unverifiable', 'parser', p_class, 'verifier_2');
    return testing.state('parser', p_class);
end
$fn$;

select pg_temp.worn('worn');
select is(
    pg_temp.counts('worn'), 'failures 1, losses 1, releases 1, verifications 1, promotions 0',
    'finds a campaign that has used something of every budget'
);

select is(
    pg_temp.redriven('everything', null),
    'failures 0, losses 0, releases 0, verifications 0, promotions 0',
    'restores all where none is named'
);
select is(pg_temp.abstains('everything'), 'attempted', 'that of abstentions included');

select is(
    pg_temp.redriven('nothing', '{}'),
    'failures 1, losses 1, releases 1, verifications 1, promotions 0',
    'restores none where an empty list is given'
);
select is(pg_temp.abstains('nothing'), 'parked', 'that of abstentions included, once more');

select is(
    pg_temp.redriven('attempt', '{attempt}'),
    'failures 0, losses 1, releases 1, verifications 1, promotions 0', 'restores attempt alone'
);
select is(
    pg_temp.redriven('loss', '{loss}'),
    'failures 1, losses 0, releases 1, verifications 1, promotions 0', 'loss alone'
);
select is(
    pg_temp.redriven('release', '{release}'),
    'failures 1, losses 1, releases 0, verifications 1, promotions 0', 'release alone'
);
select is(
    pg_temp.redriven('verification_loss', '{verification_loss}'),
    'failures 1, losses 1, releases 1, verifications 0, promotions 0', 'verification_loss alone'
);
select is(
    pg_temp.redriven('abstain', '{abstain}'),
    'failures 1, losses 1, releases 1, verifications 1, promotions 0',
    'abstain alone, which no count shows'
);
select is(pg_temp.abstains('abstain'), 'attempted', 'but the next abstention does');
select is(
    pg_temp.redriven('two', '{verification_loss,loss}'),
    'failures 1, losses 0, releases 1, verifications 0, promotions 0', 'several at once'
);
select is(
    (testing.event('parser', 'two')).detail -> 'budgets', '["loss", "verification_loss"]'::jsonb,
    'and says which in the event'
);
select is(
    pg_temp.redriven('as_in_the_policy', '{loss_budget,verification_loss_budget,loss}'),
    'failures 1, losses 0, releases 1, verifications 0, promotions 0',
    'also under their names in the policy, which is how a campaign says what it is parked for'
);
select is(
    (testing.event('parser', 'as_in_the_policy')).detail -> 'budgets',
    '["loss", "verification_loss"]'::jsonb, 'and says the same in the event'
);

-- promotion_loss, which the story above does not spend.
select testing.accepted('parser', 'ship');
select testing.must('admin_1', testing.on_campaign('park', '{}', 'parser', 'ship'));
select is(
    pg_temp.counts('ship'), 'failures 0, losses 0, releases 0, verifications 0, promotions 1',
    'finds a lost promotion'
);
select testing.must('admin_1', testing.on_campaign(
    'redrive', '{"p_budgets": "{attempt,loss,release,verification_loss,abstain}"}', 'parser',
    'ship'));
select is(
    (testing.campaign('parser', 'ship')).promotion_loss_count, 1, 'leaves it where it is not named'
);
select testing.must('admin_1', testing.on_campaign('park', '{}', 'parser', 'ship'));
select testing.must('admin_1', testing.on_campaign(
    'redrive', '{"p_budgets": "{promotion_loss}"}', 'parser', 'ship'));
select is(
    (testing.campaign('parser', 'ship')).promotion_loss_count, 0, 'restores it where it is'
);

-- What ran out and was not restored parks at the very next loss; what was restored does not.
select testing.class('spent', '{"loss_budget": 1}');
select testing.leased('parser', 'spent');
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', $$ select * from kernel.reap(p_class => 'spent') $$);
select testing.must('admin_1', testing.on_campaign(
    'redrive', '{"p_budgets": "{attempt}"}', 'parser', 'spent'));
select testing.claim('parser', 'spent');
select testing.must('worker_1', testing.holding(
    'fail', '{"p_reason": "nothing helped"}', 'parser', 'spent'));
select is(
    (testing.campaign('parser', 'spent')).parked_for, 'loss_budget',
    'leaves spent what is not named: the next ending parks again'
);
select testing.must('admin_1', testing.on_campaign(
    'redrive', '{"p_budgets": "{loss}"}', 'parser', 'spent'));
select testing.claim('parser', 'spent');
select testing.must('worker_1', testing.holding(
    'fail', '{"p_reason": "nothing helped"}', 'parser', 'spent'));
select is(testing.state('parser', 'spent'), 'ready', 'and the one after goes on where it was');

-- The attempts themselves are never forgotten, nor what they tried.
select is(
    (select count(*) from ledger.attempt as a where a.class = 'spent'), 3::bigint,
    'forgets no attempt'
);

select finish();
rollback;
