-- Verify fencepost:foundation/require on pg

begin;

\set function ledger.require
select $list$
    p_name       text
    p_is_present boolean
$list$ as arguments \gset
\set returns void
\set volatility immutable
\ir ../_support/assert_helper.psql

\set function ledger.is_blank
\set arguments 'p_text text'
\set returns boolean
\set volatility immutable
\ir ../_support/assert_helper.psql

\set function ledger.require_class
\set arguments 'p_class text'
\set returns void
\set volatility immutable
\ir ../_support/assert_helper.psql

\set function ledger.require_bytes
select $list$
    p_name  text
    p_value text
    p_limit integer
$list$ as arguments \gset
\set returns void
\set volatility immutable
\ir ../_support/assert_helper.psql

\set function ledger.require_text
select $list$
    p_name  text
    p_value text
    p_limit integer
$list$ as arguments \gset
\set returns void
\set volatility immutable
\ir ../_support/assert_helper.psql

\set function ledger.require_size
select $list$
    p_name  text
    p_value jsonb
$list$ as arguments \gset
\set returns void
\set volatility immutable
\ir ../_support/assert_helper.psql

\set function ledger.require_object
select $list$
    p_name  text
    p_value jsonb
$list$ as arguments \gset
\set returns void
\set volatility immutable
\ir ../_support/assert_helper.psql

\set function ledger.require_evidence
select $list$
    p_uri    text
    p_sha256 bytea
$list$ as arguments \gset
\set returns void
\set volatility immutable
\ir ../_support/assert_helper.psql

\set function ledger.require_campaign
select $list$
    p_class       text
    p_campaign_id bigint
    p_generation  bigint
$list$ as arguments \gset
\set returns void
\set volatility immutable
\ir ../_support/assert_helper.psql

rollback;
