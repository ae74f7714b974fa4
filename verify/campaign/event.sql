-- Verify fencepost:campaign/event on pg

begin;

\set relation ledger.campaign_event
select $list$
    class           text                     not null
    campaign_id     bigint                   not null
    event_no        bigint                   not null
    transition      text                     not null
    from_state      text                     not null
    to_state        text                     not null
    generation      bigint                   not null
    by_principal    name                     not null
    holder          name
    is_late         boolean                  not null
    next_attempt_at timestamp with time zone not null
    at              timestamp with time zone not null
    epoch           integer                  not null
    xid             xid8                     not null
    detail          jsonb
    content_sha256  bytea
$list$ as columns, $list$
    campaign_event_campaign_fk
    campaign_event_move_is_legal
    campaign_event_pk
$list$ as constraints, $list$
    campaign_event_log_ix (class, epoch, xid, campaign_id, event_no)
$list$ as indexes
\gset
\ir ../_support/assert_table.psql

rollback;
