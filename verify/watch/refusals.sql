-- Verify fencepost:watch/refusals on pg

begin;

\set view audit.refusals
select $list$
    source      text
    class       text
    refusal_no  bigint
    principal   name
    function    text
    outcome     text
    campaign_id bigint
    generation  bigint
    message     text
    at          timestamp with time zone
    suppressed  bigint
    command     text
    application text
    raised_in   text
    session_id  text
    line_no     bigint
    reported_at timestamp with time zone
    reported_by name
$list$ as columns \gset
\ir ../_support/assert_view.psql

rollback;
