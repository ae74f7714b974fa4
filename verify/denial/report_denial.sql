-- Verify fencepost:denial/report_denial on pg

begin;

\set function ledger.is_client
\set arguments 'p_role text'
\set returns boolean
\set volatility stable
\ir ../_support/assert_helper.psql

\set function kernel.report_denial
select $list$
    p_session_id  text
    p_line_no     bigint
    p_denied_at   timestamp with time zone
    p_role        text
    p_sqlstate    text
    p_message     text
    p_command     text default null::text
    p_application text default null::text
    p_raised_in   text default null::text
$list$ as arguments \gset
\set returns kernel.receipt
\set callers fencepost_collector
\ir ../_support/assert_kernel_function.psql

rollback;
