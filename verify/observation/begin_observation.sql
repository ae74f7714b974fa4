-- Verify fencepost:observation/begin_observation on pg

begin;

\set function kernel.begin_observation
select $list$
    p_class  text
    p_target text
    p_token  uuid
$list$ as arguments \gset
\set returns kernel.observation
\set callers fencepost_sensor
\ir ../_support/assert_kernel_function.psql

rollback;
