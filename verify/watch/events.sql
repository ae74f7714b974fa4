-- Verify fencepost:watch/events on pg

begin;

\set view audit.events
select $list$
    class           text
    campaign_id     bigint
    event_no        bigint
    transition      text
    from_state      text
    to_state        text
    generation      bigint
    by_principal    name
    holder          name
    is_late         boolean
    next_attempt_at timestamp with time zone
    at              timestamp with time zone
    epoch           integer
    xid             xid8
    detail          jsonb
$list$ as columns \gset
\ir ../_support/assert_view.psql

rollback;
