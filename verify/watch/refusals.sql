-- Verify fencepost:watch/refusals on pg

begin;

\set view audit.refusals
select $list$
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
$list$ as columns \gset
\ir ../_support/assert_view.psql

rollback;
