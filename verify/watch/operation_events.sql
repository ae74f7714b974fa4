-- Verify fencepost:watch/operation_events on pg

begin;

\set view audit.operation_events
select $list$
    class         text
    operation_key text
    event_no      bigint
    incarnation   uuid
    revision      integer
    event         text
    from_state    text
    to_state      text
    by_principal  name
    owner         name
    campaign_id   bigint
    is_late       boolean
    reason        text
    diagnostic    jsonb
    at            timestamp with time zone
    epoch         integer
    xid           xid8
$list$ as columns \gset
\ir ../_support/assert_view.psql

rollback;
