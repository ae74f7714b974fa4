-- kernel.redrive repeats safely, refuses what is not parked, and raises what is misuse.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
select plan(32);

-- == repeated =====================================================================================

select testing.parked();
select testing.on_campaign(
    'redrive', '{"p_generation": 1, "p_reason": "go on", "p_budgets": "{loss,attempt}"}') as redrive
\gset
set local session authorization admin_1;
select results_eq(
    format('select outcome, duplicate, state, generation from (%s) as r', :'redrive'),
    $$ values ('ok'::text, false, 'ready'::text, 2::bigint) $$, 'goes on'
);
select testing.duplicate(:'redrive', 'answers a repeat with ok and duplicate');
select testing.duplicate(
    testing.on_campaign(
        'redrive',
        '{"p_generation": 1, "p_reason": "go on", "p_budgets": "{attempt,loss,attempt}"}'),
    'also when the same budgets are named in another order'
);
select testing.refused(
    testing.on_campaign(
        'redrive', '{"p_generation": 1, "p_reason": "go on", "p_budgets": "{loss}"}'),
    'stale', 'refuses other budgets under the same generation'
);
select testing.refused(
    testing.on_campaign(
        'redrive', '{"p_generation": 1, "p_reason": "no", "p_budgets": "{loss,attempt}"}'),
    'stale', 'and another reason'
);
reset session authorization;

select testing.claim();
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', $$ select * from kernel.reap(p_class => 'fix') $$);
select testing.must('admin_1', testing.on_campaign('park'));
set local session authorization admin_1;
select testing.duplicate(
    :'redrive', 'answers a repeat with ok and duplicate when it is parked again'
);
select is(testing.state(), 'parked', 'and does not redrive it once more');
reset session authorization;

-- All budgets are all, named or not.
select testing.must('admin_1', testing.on_campaign('redrive', '{"p_reason": "all"}'));
set local session authorization admin_1;
select testing.duplicate(
    testing.on_campaign('redrive', jsonb_build_object(
        'p_generation', testing.generation() - 1, 'p_reason', 'all', 'p_budgets',
        '{attempt,loss,release,verification_loss,promotion_loss,abstain,unknown_limit}')),
    'takes null for all of them'
);
reset session authorization;
create role admin_2 login;
grant fencepost_admin to admin_2;
set local session authorization admin_2;
select testing.refused(:'redrive', 'stale', 'refuses the same act of another admin');
reset session authorization;

-- == refusals =====================================================================================

select testing.in_state(s.state)
from unnest(array['ready', 'leased', 'attempted', 'verifying', 'accepted', 'promoting', 'verified',
                  'confirmed', 'cancelled', 'lapsed']) as s (state);
set local session authorization admin_1;
select testing.refused(
    testing.on_campaign('redrive', '{}', 'parser', 'in_' || s.state), 'illegal',
    format('refuses in %s', s.state)
)
from unnest(array['ready', 'leased', 'attempted', 'verifying', 'accepted', 'promoting', 'verified',
                  'confirmed', 'cancelled', 'lapsed']) as s (state);
reset session authorization;
select testing.must('admin_1', testing.on_campaign('park', '{}', 'parser', 'in_ready'));
set local session authorization admin_1;
select testing.refused(
    testing.on_campaign('redrive', '{"p_generation": 0}', 'parser', 'in_ready'), 'stale',
    'refuses the generation from before it was parked'
);
reset session authorization;

create role between_them;
grant fencepost_admin to between_them;
grant between_them to stranger;
set local session authorization stranger;
select testing.refused(
    testing.on_campaign('redrive', '{}', 'parser', 'in_ready'), 'forbidden',
    'refuses whose membership is indirect'
);
reset session authorization;

-- == misuse =======================================================================================

select testing.ledger_digest(true) as before \gset
set local session authorization admin_1;
select testing.raises(
    testing.on_campaign('redrive', format('{"%s": null}', a.name)::jsonb, 'parser', 'in_ready'),
    'KN101', format('argument %s is null', a.name), format('wants %s', a.name)
)
from unnest(array['p_class', 'p_campaign_id', 'p_generation']) as a (name);
select testing.raises(
    testing.on_campaign('redrive', '{"p_class": "In"}', 'parser', 'in_ready'), 'KN102', null,
    'wants the name of a class'
);
select testing.raises(
    testing.on_campaign('redrive', '{"p_budgets": "{loss,luck}"}', 'parser', 'in_ready'), 'KN102',
    'there is no such budget', 'wants budgets that there are'
);
select testing.raises(
    testing.on_campaign('redrive', '{"p_budgets": "{loss,null}"}', 'parser', 'in_ready'), 'KN102',
    null, 'and none that is null'
);
select testing.raises(
    testing.on_campaign('redrive', '{"p_reason": ""}', 'parser', 'in_ready'), 'KN102', null,
    'wants a reason that is not blank, or none'
);
select testing.raises(
    testing.on_campaign('redrive', jsonb_build_object('p_reason', repeat('x', 4097)), 'parser',
                        'in_ready'),
    'KN103', null, 'of at most 4096 bytes'
);
select testing.raises(
    testing.on_campaign('redrive', '{"p_campaign_id": 123456789}', 'parser', 'in_ready'), 'KN108',
    null,
    'wants a campaign that there is'
);
select is(testing.ledger_digest(true), :'before', 'has written nothing');
select set_config('transaction_read_only', 'on', true);
select testing.raises(
    testing.on_campaign('redrive', '{}', 'parser', 'in_ready'), 'KN112', null,
    'wants a transaction that may write'
);
reset session authorization;

select finish();
rollback;
