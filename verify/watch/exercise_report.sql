-- Verify fencepost:watch/exercise_report on pg

begin;

\set type kernel.exercise
select $list$
    class            text
    day              date
    window_begins_at timestamp with time zone
    window_ends_at   timestamp with time zone
    eligible         bigint
    confirmed        bigint
    human_acts       bigint
    verdict          text
$list$ as attributes \gset
\ir ../_support/assert_report_type.psql

\set function ledger.exercise
select $list$
    p_class    text
    p_begin_at timestamp with time zone
    p_end_at   timestamp with time zone
$list$ as arguments \gset
\set returns kernel.exercise
\set volatility stable
\ir ../_support/assert_helper.psql

\set function kernel.exercise_report
select $list$
    p_class  text
    p_window interval default '7 days'::interval
$list$ as arguments \gset
\set returns 'setof kernel.exercise'
\set callers 'fencepost_admin fencepost_auditor'
\ir ../_support/assert_kernel_function.psql

rollback;
