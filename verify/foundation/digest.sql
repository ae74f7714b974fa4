-- Verify fencepost:foundation/digest on pg

begin;

\set function ledger.digest
\set arguments 'p_content jsonb'
\set returns bytea
\set volatility immutable
\ir ../_support/assert_helper.psql

\set function ledger.token_digest
\set arguments 'p_token uuid'
\set returns bytea
\set volatility immutable
\ir ../_support/assert_helper.psql

do $verify$
begin
    assert ledger.digest('{"b": 1, "a": 2}') = ledger.digest('{"a":2,"b":1}'),
        'equal content has equal digests';
    assert encode(ledger.token_digest('00000000-0000-0000-0000-000000000000'), 'hex')
        = '374708fff7719dd5979ec875d56cd2286f6d3cf7ec317a3b25632aab28ec37bb',
        'the digest of a token is the SHA-256 of its 16 bytes';
end
$verify$;

rollback;
