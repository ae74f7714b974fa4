-- ledger.digest knows a call again by what it said; ledger.token_digest is what is kept of a token.
\ir ../_support/fixture.psql
select plan(15);

-- == digest =======================================================================================

select is(
    ledger.digest('{"b":[1,null],"a":"x"}'),
    sha256('{"a": "x", "b": [1, null]}'),
    'ledger.digest is the SHA-256 of the value''s one text'
);
select is(
    ledger.digest('"ä"'), sha256('\x22c3a422'),
    'ledger.digest reads it as UTF-8, whatever the session''s encoding'
);
select is(
    ledger.digest(s.one::jsonb) = ledger.digest(s.other::jsonb), s.same,
    format('ledger.digest of %s and %s: %s', s.one, s.other,
           case when s.same then 'equal' else 'different' end)
)
from (values
    ('{"a": 1, "b": 2}', '{"b":2,"a":1}', true),
    ('{"a": 1, "a": 2}', '{"a": 2}', true),
    ('[1, 2]', '[2, 1]', false),
    ('["1"]', '[1]', false),
    ('["a", null]', '["a"]', false),
    ('[null, "a"]', '["a", null]', false),
    ('["a", "bc"]', '["ab", "c"]', false),
    ('[null]', '[""]', false),
    ('[null]', '["null"]', false)
) as s (one, other, same);
select is(ledger.digest(null), null, 'ledger.digest of nothing is nothing');

-- == token_digest =================================================================================

select is(
    ledger.token_digest('00112233-4455-6677-8899-aabbccddeeff'),
    sha256('\x00112233445566778899aabbccddeeff'),
    'ledger.token_digest is the SHA-256 of the token''s 16 bytes'
);
select is(
    ledger.token_digest('00112233-4455-6677-8899-AABBCCDDEEFF'),
    ledger.token_digest('{00112233445566778899aabbccddeeff}'),
    'ledger.token_digest does not depend on how a token is written'
);
select is(ledger.token_digest(null), null, 'ledger.token_digest of no token is nothing');

select finish();
rollback;
