-- ledger.as_observation makes an observation of a receipt; ledger.lock_target finds and locks.
\ir ../_support/fixture.psql
select plan(10);

create function testing.answer(p_observation ledger.observation)
    returns jsonb
    language sql
as $fn$
    select to_jsonb(ledger.as_observation(
        row('ok', false, true, 'open', 'fix', 7, 3, 'ready', null, 'm')::kernel.receipt,
        p_observation
    ))
$fn$;

-- == as_observation ===============================================================================

select testing.open();
select is(
    testing.answer(testing.observation()),
    '{"outcome": "ok", "duplicate": false, "moved": true, "note": "open", "class": "fix",
      "campaign_id": 7, "generation": 3, "state": "ready", "lease_expires_at": null,
      "message": "m", "number": 1, "is_scheduled": true}',
    'ledger.as_observation adds its number, and that it is a scheduled one'
);
select testing.observed(false);
select is(
    (testing.answer(testing.observation()) - 'outcome') @>
        '{"number": 2, "is_scheduled": false}', true, 'or that it is not'
);
select is(
    testing.answer(null) @> '{"campaign_id": 7, "number": null, "is_scheduled": null}', true,
    'a refusal has neither'
);

-- == lock_target ==================================================================================

create function testing.is_locked(p_target text)
    returns boolean
    language sql
as $fn$ select t.xmax::text <> '0' from ledger.target as t where t.target = p_target $fn$;

select testing.target_in('bare', 'fix');
select is(testing.is_locked('bare'), false, 'nobody has locked the target');
select is(
    ledger.lock_target('fix', 'bare'), testing.target('bare'), 'ledger.lock_target returns it'
);
select is(testing.is_locked('bare'), true, 'and locks it');
select testing.raises(
    format('select ledger.lock_target(%L, %L)', t.class, t.target), 'KN107',
    format('class %s has no such target', t.class),
    format('ledger.lock_target knows no %s in %s', t.target, t.class)
)
from (values ('fix', 'none'), ('fix', 'Bare'), ('ship', 'bare'), ('none', 'bare'))
    as t (class, target);

select finish();
rollback;
