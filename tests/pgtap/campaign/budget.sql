-- The one policy each of waiting, of budgets, and of how long a lease lasts.
\ir ../_support/fixture.psql
select plan(46);

create function testing.retry(p_count integer, p_policy jsonb default '{}')
    returns interval language sql
as $fn$
    select ledger.retry_at(
        jsonb_populate_record(null::ledger.class,
            '{"backoff_base": "1 minute", "backoff_cap": "1 hour", "backoff_jitter": 0}'
            || p_policy),
        p_count, '2026-09-01 03:00+00'
    ) - '2026-09-01 03:00+00'::timestamptz;
$fn$;

-- == ledger.retry_at ==============================================================================

select is(
    testing.retry(n.count), n.wait::interval,
    format('ledger.retry_at waits %s after failure number %s', n.wait, n.count)
)
from (values
    (1, '1 minute'), (2, '2 minutes'), (3, '4 minutes'), (4, '8 minutes'), (5, '16 minutes'),
    (6, '32 minutes'), (7, '1 hour'), (8, '1 hour'), (21, '1 hour'), (1000000, '1 hour'),
    (2147483647, '1 hour'), (0, '1 minute'), (-1, '1 minute')
) as n (count, wait);
select is(
    testing.retry(1, '{"backoff_base": "0"}'), '0', 'ledger.retry_at does not wait where base is 0'
);
select is(
    testing.retry(1000, '{"backoff_base": "31 days", "backoff_cap": "31 days"}'), '31 days',
    'ledger.retry_at does not overflow with the longest base'
);

-- Jitter: a thousand that failed together.
create table testing.spread as
select testing.retry(4, '{"backoff_jitter": 0.2}') as wait from generate_series(1, 1000);
select ok(
    (select min(s.wait) >= '6 minutes 24 seconds' and max(s.wait) <= '9 minutes 36 seconds'
     from testing.spread as s),
    'ledger.retry_at waits at most backoff_jitter shorter or longer'
);
select ok(
    (select max(s.wait) - min(s.wait) > 0.2 * interval '8 minutes' from testing.spread as s),
    'ledger.retry_at spreads a thousand over more than a fifth of the wait'
);
select ok(
    (select count(distinct s.wait) > 900 from testing.spread as s),
    'ledger.retry_at has hardly two wait as long'
);
select ok(
    (select min(testing.retry(20, '{"backoff_jitter": 1}')) >= '0'
            and max(testing.retry(20, '{"backoff_jitter": 1}')) <= '2 hours'
     from generate_series(1, 200)),
    'ledger.retry_at never goes back in time, with the greatest jitter either'
);

-- == ledger.spent_budget ==========================================================================

select is(
    ledger.spent_budget(
        jsonb_populate_record(null::ledger.campaign,
            '{"failure_count": 0, "loss_count": 0, "release_count": 0,
              "verification_loss_count": 0, "promotion_loss_count": 0}' || s.counts),
        jsonb_populate_record(null::ledger.class,
            '{"attempt_budget": 3, "loss_budget": 2, "release_budget": 4,
              "verification_loss_budget": 5, "promotion_loss_budget": 6}'),
        s.phase
    ),
    s.spent, format('ledger.spent_budget of %s after %s', s.phase, s.counts)
)
from (values
    ('work', jsonb '{}', null),
    ('work', '{"failure_count": 2}', null),
    ('work', '{"failure_count": 3}', 'attempt_budget'),
    ('work', '{"failure_count": 4, "loss_count": 9}', 'attempt_budget'),
    ('work', '{"loss_count": 1}', null),
    ('work', '{"loss_count": 2}', 'loss_budget'),
    ('work', '{"release_count": 4}', null),
    ('work', '{"release_count": 5}', null),
    ('work', '{"release_count": 6}', 'loss_budget'),
    ('work', '{"release_count": 4, "loss_count": 1}', null),
    ('work', '{"release_count": 5, "loss_count": 1}', 'loss_budget'),
    ('work', '{"verification_loss_count": 9, "promotion_loss_count": 9}', null),
    ('verification', '{"verification_loss_count": 4, "failure_count": 9}', null),
    ('verification', '{"verification_loss_count": 5}', 'verification_loss_budget'),
    ('promotion', '{"promotion_loss_count": 5, "loss_count": 9}', null),
    ('promotion', '{"promotion_loss_count": 6}', 'promotion_loss_budget')
) as s (phase, counts, spent);

-- == ledger.lease_length ==========================================================================

create function testing.length(p_lease_for interval) returns interval language sql as $fn$
    select ledger.lease_length(
        jsonb_populate_record(null::ledger.class,
            '{"class": "fix", "lease_default": "15 minutes", "lease_min": "1 minute",
              "lease_max": "4 hours"}'),
        p_lease_for
    );
$fn$;
select is(testing.length(null), '15 minutes', 'ledger.lease_length is lease_default for null');
select is(testing.length('1 minute'), '1 minute', 'ledger.lease_length takes lease_min');
select is(testing.length('4 hours'), '4 hours', 'ledger.lease_length takes lease_max');
select testing.raises(
    format('select testing.length(%L)', l.length), 'KN104', null,
    format('ledger.lease_length takes no %s', l.length)
)
from (values ('59 seconds'), ('4 hours 1 microsecond'), ('0'), ('-1 hour'), ('1 month'),
             ('1 year -359 days -23:00'), ('-1 year 361 days')) as l (length);

-- Every path that schedules an attempt goes through the one function.
select is(
    (select array_agg(p.proname order by p.proname)
     from pg_proc as p
     where p.pronamespace in ('kernel'::regnamespace, 'ledger'::regnamespace)
       and p.prosrc ~ 'next_attempt_at *:=' and p.prosrc !~ 'ledger\.retry_at'),
    array['outdate', 'redrive', 'submit']::name[],
    'ledger.retry_at is asked wherever something went wrong; these three are due at once'
);

select finish();
rollback;
