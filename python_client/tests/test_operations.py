"""What the operations' client knows without a server."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fencepost
from fencepost.checkout import GitError
from fencepost.operations import evidence, fingerprint, fnv1a64, formatted, operation_key, schema
from fencepost.operations.blank import WHITE, is_blank, trimmed
from fencepost.operations.canonical import NotCanonical, canonical, number
from fencepost.operations.errors import InvalidArgument, OutcomeNotRecorded, sqlstate
from fencepost.operations.git import Place
from fencepost.operations.records import ABSENT, Claim, ClaimStatus, Completed, Fence, Operation
from fencepost.operations.statements import Call, Statements, encoded
from fencepost.records import Lease

# -- places ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("repository", ["/srv/r.git", "/srv/c#.git", "ssh://host/r"])
def test_another_ref_of_a_repository_is_found_by_its_target(repository: str) -> None:
    place = Place(repository=repository, ref="refs/heads/main", fence="refs/fencepost/c/1/fence")
    other = Place(repository=repository, ref="refs/x#y", fence=place.fence)
    assert place.another(other.target) == other
    with pytest.raises(GitError, match="is not of"):
        place.another(f"{repository}2#refs/heads/main")


# -- blank -----------------------------------------------------------------------------------------


def test_blank_is_what_javascript_trims() -> None:
    assert is_blank("")
    assert is_blank("\t\n\v\f\r \u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\ufeff")
    for kept in "\u200b\u0085\u001c\u180e\u2060\x00":
        assert not is_blank(kept)
    assert trimmed("\ufeff a b\u00a0") == "a b"
    assert len(set(WHITE)) == len(WHITE) == 25


# -- fingerprints ----------------------------------------------------------------------------------

ORIGINAL = [
    (("search", {}), "fnv1a64:ad78fa81c1508171:9"),
    (("search", {"b": 1, "a": [True, None, "x"]}), "fnv1a64:479245b92df3d52a:34"),
]


@pytest.mark.parametrize(("call", "printed"), ORIGINAL)
def test_the_originals_form_is_the_originals(call: tuple[str, Any], printed: str) -> None:
    assert fnv1a64(*call) == printed


def test_the_originals_form_counts_utf16_units() -> None:
    assert fnv1a64("x", {"😀": "😀"}).endswith(":13")


def test_the_fingerprint_is_that_of_the_canonical_json() -> None:
    assert fingerprint("search", {}) == (
        "sha256:2b679e5e72994fc5b3a07c564d5c522688a7e6060a83a7e4db83be2fb93e17cc"
    )
    assert fingerprint("s", {"a": 1, "b": 2}) == fingerprint("s", {"b": 2.0, "a": 1.0})
    assert fingerprint("s", {"a": 1}) != fingerprint("s", {"a": "1"})
    assert fingerprint("ab", []) != fingerprint("a", ["b"])


@pytest.mark.parametrize(
    "value",
    [
        datetime.now(UTC),
        {1, 2},
        b"x",
        math.nan,
        math.inf,
        2**53 + 1,
        10**400,
        "\ud800",
        {1: 2},
        {"k": [object()]},
    ],
    ids=repr,
)
def test_what_could_be_taken_for_something_else_has_no_fingerprint(value: object) -> None:
    with pytest.raises(NotCanonical):
        fingerprint("s", value)


# From RFC 8785: appendix B, section 3.2.2 and section 3.2.3.
NUMBERS = [
    ("0000000000000000", "0"),
    ("8000000000000000", "0"),
    ("0000000000000001", "5e-324"),
    ("8000000000000001", "-5e-324"),
    ("7fefffffffffffff", "1.7976931348623157e+308"),
    ("ffefffffffffffff", "-1.7976931348623157e+308"),
    ("4340000000000000", "9007199254740992"),
    ("c340000000000000", "-9007199254740992"),
    ("4430000000000000", "295147905179352830000"),
    ("44b52d02c7e14af5", "9.999999999999997e+22"),
    ("44b52d02c7e14af6", "1e+23"),
    ("44b52d02c7e14af7", "1.0000000000000001e+23"),
    ("444b1ae4d6e2ef4e", "999999999999999700000"),
    ("444b1ae4d6e2ef4f", "999999999999999900000"),
    ("444b1ae4d6e2ef50", "1e+21"),
    ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
    ("3eb0c6f7a0b5ed8d", "0.000001"),
    ("41b3de4355555553", "333333333.3333332"),
    ("41b3de4355555554", "333333333.33333325"),
    ("41b3de4355555555", "333333333.3333333"),
    ("41b3de4355555556", "333333333.3333334"),
    ("41b3de4355555557", "333333333.33333343"),
    ("becbf647612f3696", "-0.0000033333333333333333"),
    ("43143ff3c1cb0959", "1424953923781206.2"),
]


@pytest.mark.parametrize(("bits", "printed"), NUMBERS)
def test_numbers_are_printed_as_the_scheme_prints_them(bits: str, printed: str) -> None:
    import struct

    assert number(struct.unpack(">d", bytes.fromhex(bits))[0]) == printed


def test_the_example_of_the_scheme() -> None:
    given_ = json.loads(
        r"""{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
             "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
             "literals": [null, true, false]}"""
    )
    assert canonical(given_) == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    order = json.loads(
        r"""{"\u20ac": "Euro", "\r": "CR", "\ufb33": "Dalet", "1": "One", "\ud83d\ude00": "Smile",
             "\u0080": "Control", "\u00f6": "O"}"""
    )
    assert list(json.loads(canonical(order)).values()) == [
        *("CR", "One", "Control", "O", "Euro", "Smile", "Dalet")
    ]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(JSON)
def test_canonical_json_is_json_of_the_same_value(value: Any) -> None:
    text = canonical(value)
    assert json.loads(text, parse_int=float) == value
    assert canonical(json.loads(text)) == text


def test_a_key_is_the_json_of_its_parts() -> None:
    assert operation_key("s1", "search", "k") == '["s1","search","k"]'
    assert operation_key(None, "search", "k") == operation_key("", "search", "k")
    assert operation_key(None, "ä", '"') == '["default","ä","\\""]'
    assert operation_key(None, "t", "x" * 256)
    for wrong in ("", " \ufeff", "x" * 257, "😀" * 129):
        with pytest.raises(ValueError, match="the key"):
            operation_key(None, "t", wrong)


# -- what is sent ----------------------------------------------------------------------------------


def test_absent_is_not_null() -> None:
    assert (encoded(ABSENT), encoded(None), encoded({"a": [1]})) == (None, "null", '{"a":[1]}')
    assert not ABSENT
    assert repr(ABSENT) == "ABSENT"


@given(JSON)
def test_what_is_json_is_sent_unless_it_holds_a_nul(value: Any) -> None:
    if "\\u0000" in json.dumps(value) and "\x00" in json.loads(f'"{_texts(value)}"'):
        with pytest.raises(InvalidArgument):
            encoded(value)
    else:
        assert json.loads(encoded(value) or "") == value


def _texts(value: Any) -> str:
    """Return every text in *value*, as JSON writes it between quotation marks."""
    if isinstance(value, str):
        return json.dumps(value)[1:-1]
    if isinstance(value, dict):
        return "".join(_texts(key) + _texts(each) for key, each in value.items())
    return "".join(map(_texts, value)) if isinstance(value, list) else ""


def test_places_of_values_can_be_written_in_another_way() -> None:
    assert formatted("f(a => $1::text, b => $2::int) % 3") == "f(a => %s::text, b => %s::int) %% 3"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (type("E", (Exception,), {"sqlstate": "KN116"})(), "KN116"),
        (type("E", (Exception,), {"pgcode": "55P03"})(), "55P03"),
        (Exception({"C": "KN103", "M": "m"}), "KN103"),
        (Exception({"C": 3}), None),
        (Exception(), None),
    ],
)
def test_an_sqlstate_is_found_wherever_a_driver_keeps_it(
    error: Exception, code: str | None
) -> None:
    assert sqlstate(error) == code


def test_a_token_is_in_no_message() -> None:
    token = uuid4()
    claim = Claim(
        status=ClaimStatus.OWNER,
        operation=Operation(outcome="ok"),
        token=token,
        campaign_class="payments",
        key="k",
    )
    error = OutcomeNotRecorded(
        claim, Completed(result=1), is_unknown=True, cause=ValueError("gone")
    )
    assert error.token == token
    lease = Lease(
        outcome="ok",
        campaign_class="payments",
        campaign_id=1,
        generation=1,
        state="working",
        lease_expires_at=datetime.now(UTC),
        attempt_no=1,
        attempt_limit=timedelta(minutes=1),
        lease_cap_at=datetime.now(UTC),
        token=token,
    )
    made = Statements("payments")
    calls: list[Call[Any]] = [
        made.claim(
            "k",
            "f",
            kind="k",
            target="t",
            token=token,
            label=None,
            lease_for=None,
            expected=None,
            lease=lease,
        ),
        made.start(claim),
        made.complete(claim, Completed(result=1)),
        made.resolve_unknown("k", Fence(uuid4(), 1), Completed(), lease=lease),
    ]
    assert all(str(token) in call.values for call in calls)
    shows = (str(error), repr(error), repr(error.claim), repr(vars(error)), repr(lease))
    for shown in (*shows, *map(repr, calls)):
        assert str(token) not in shown
        assert token.hex not in shown


# -- drivers ---------------------------------------------------------------------------------------

DRIVERS = ["psycopg", "psycopg_pool", "psycopg2", "asyncpg", "pg8000", "sqlalchemy"]

WITHOUT_DRIVER = """
import asyncio
import importlib
import json
import sys

sys.modules |= dict.fromkeys(json.loads(sys.argv[1]))  # None: cannot be imported

import fencepost
from fencepost import FencepostError, Lease
from fencepost.operations import (
    Adapter,
    AsyncAdapter,
    AsyncEffectRunner,
    Completed,
    EffectRunner,
    create_postgres_durable_operation_schema_sql,
    fingerprint,
    operation_key,
)

for module in sys.argv[2:]:
    importlib.import_module(f"fencepost.operations.{module}")


class Client:
    def query(self, text, values, /):
        assert "get_operation" in text and values, text
        return []


assert Adapter(Client(), "payments").get("k") is None
assert asyncio.run(AsyncAdapter(Client(), "payments").get("k")) is None
EffectRunner(Adapter(Client(), "payments"))
AsyncEffectRunner(AsyncAdapter(Client(), "payments"))
assert fingerprint("t", {"a": 1}) and operation_key("s", "t", "k")
assert "begin_operation" in create_postgres_durable_operation_schema_sql()
for late in ("Worker", "operations.Store"):
    place, _, name = f"fencepost.{late}".rpartition(".")
    assert name in dir(importlib.import_module(place))
    try:
        getattr(importlib.import_module(place), name)
    except ModuleNotFoundError as error:
        assert error.name == "psycopg", error
    else:
        raise AssertionError(f"{late} needs no driver any more")
assert not hasattr(fencepost, "Wroker") and not hasattr(fencepost.operations, "Sotre")
"""


def test_no_driver_is_needed_until_a_store_of_its_own_is_asked_for() -> None:
    modules = ["adapter", "base", "command", "evidence", "http", "importing", "schema"]
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_DRIVER, json.dumps(DRIVERS), *modules],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("package", [fencepost, fencepost.operations])
def test_whatever_a_package_offers_is_there(package: ModuleType) -> None:
    for name in package.__all__:
        assert name in dir(package)
        assert getattr(package, name) is not None


# -- the schema ------------------------------------------------------------------------------------


def test_the_pieces_of_a_script_are_the_script() -> None:
    for change in schema.changes():
        script = schema.script(change)
        assert "".join(piece.text for piece in schema.tokens(script)) == script


@given(st.text(alphabet=st.sampled_from("a_1$'\"-/*.;\\ \nEé")))
def test_no_text_is_lost_between_the_pieces(text: str) -> None:
    assert "".join(piece.text for piece in schema.tokens(text)) == text


def renamed(script: str) -> str:
    names = {"kernel": "k", "ledger": "k_ledger", "audit": "k_audit"}
    known = frozenset({"kernel.claim", "ledger.campaign", "audit.events"})
    return schema._renamed(script, names, known)


@pytest.mark.parametrize(
    ("script", "wanted"),
    [
        ("select kernel.claim()", "select k.claim()"),
        ("select ledger . campaign", "select k_ledger . campaign"),
        ("create schema ledger;", "create schema k_ledger;"),
        ("grant usage on schema kernel, audit to x", "grant usage on schema k, k_audit to x"),
        ("select ledger from t", "select ledger from t"),
        ("select a.kernel, kernel_x.y, x_kernel.y", "select a.kernel, kernel_x.y, x_kernel.y"),
        ('select "kernel".claim', 'select "kernel".claim'),
        ("'ledger.campaign'::regclass", "'k_ledger.campaign'::regclass"),
        ("'see ledger.other and ledger.campaign.'", "'see ledger.other and k_ledger.campaign.'"),
        ("'the ledger''s'", "'the ledger''s'"),
        ("where t.schemaname = 'ledger'", "where t.schemaname = 'k_ledger'"),
        ("nspname in ('kernel', 'ledger')", "nspname in ('k', 'k_ledger')"),
        ("'kernel'::regnamespace", "'k'::regnamespace"),
        ("kind = 'ledger'", "kind = 'ledger'"),
        ("e'\\'ledger.campaign' x", "e'\\'k_ledger.campaign' x"),
        ("-- ledger.campaign, ledger", "-- k_ledger.campaign, ledger"),
        (
            "as $fn$\nbegin\n    perform ledger.campaign; x := 'ledger.campaign';\nend\n$fn$;",
            "as $fn$\nbegin\n    perform k_ledger.campaign; x := 'k_ledger.campaign';\nend\n$fn$;",
        ),
        (
            "is $doc$It's in ledger.campaign, the ledger.$doc$",
            "is $doc$It's in k_ledger.campaign, the ledger.$doc$",
        ),
    ],
)
def test_a_name_is_renamed_where_it_is_one(script: str, wanted: str) -> None:
    assert renamed(script) == wanted


# -- evidence --------------------------------------------------------------------------------------


def made(**checks: evidence.Check) -> evidence.Evidence:
    good = evidence.Check.of(
        ["claim:atomic"], [], host="db.example", serverVersion="18.1", isolation="read committed"
    )
    every = {name: good for name in evidence.CHECKS if name != "redis"}
    return evidence.Evidence(
        evidence.Target(
            environment="production", commit_sha="0123abcd", run_id="run-1", operator="ops"
        ),
        every | checks,
    )


def test_evidence_of_a_success_is_one(tmp_path: Path) -> None:
    path = tmp_path / "evidence.json"
    evidence.write(made(), path)
    document, wrong = evidence.read(path)
    assert wrong == []
    assert evidence.incomplete(document) == []


@pytest.mark.parametrize("name", [name for name in evidence.CHECKS if name != "redis"])
def test_no_check_but_that_of_what_is_not_here_may_be_missing(name: str) -> None:
    document = made(**{name: evidence.Check.skipped()}).document()
    assert evidence.incomplete(document) == [f"{name}: skipped"]
    failed = made(**{name: evidence.Check.of(["a"], ["b"])}).document()
    assert evidence.incomplete(failed) == [f"{name}: failure"]


def test_what_is_not_here_may_not_have_failed() -> None:
    document = made(redis=evidence.Check.of([], ["a"])).document()
    assert evidence.incomplete(document) == ["redis: failure"]


SECRET = "postgresql://user:pa/ss@wo@rd@db.example/d"


@pytest.mark.parametrize(
    "result",
    [
        {"status": "ok", "host": SECRET},
        {"status": "ok", "serverVersion": "x" * 65},
        {"status": "ok", "isolation": "read\ncommitted"},
        {"status": "ok", "checks": [SECRET]},
        {"status": "ok", "checks": ["X"]},
        {"status": "ok", "log": SECRET},
        {"status": "ok", "numPassedTests": 3},
        {"status": SECRET},
        {},
        [],
    ],
    ids=repr,
)
def test_nothing_but_what_is_listed_gets_into_a_result(result: Any) -> None:
    check = evidence.Check(outcome="success", available=True, status="ok", result=result)
    with pytest.raises(InvalidArgument) as raised:
        made(postgres=check).document()
    assert "wo@rd" not in str(raised.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(schemaVersion="2"),
        lambda d: d.update(generatedAt="yesterday"),
        lambda d: d.update(generatedAt="2026-01-01T00:00:00"),
        lambda d: d.update(extra=1),
        lambda d: d.pop("target"),
        lambda d: d["target"].update(environment=SECRET),
        lambda d: d["target"].update(commitSha="HEAD"),
        lambda d: d["target"].update(startedAt=1),
        lambda d: d["target"].update(password="x"),
        lambda d: d["checks"].pop("queue"),
        lambda d: d["checks"].update(queue="ok"),
        lambda d: d["checks"]["queue"].update(outcome="great"),
        lambda d: d["checks"]["queue"].update(available="yes"),
        lambda d: d["checks"]["queue"].update(status="fine"),
        lambda d: d["checks"]["queue"].update(log="x"),
        lambda d: d["checks"]["integration"]["result"].update(numPassedTests=True),
    ],
)
def test_a_document_that_is_not_as_it_must_be_is_found_out(change: Any) -> None:
    document = made().document()
    assert evidence.faults(document) == []
    change(document)
    assert evidence.faults(document)


def test_a_time_without_an_offset_is_no_time() -> None:
    with pytest.raises(InvalidArgument):
        evidence.Evidence(made().target, generated_at=datetime(2026, 1, 1)).document()  # noqa: DTZ001


@pytest.mark.parametrize("text", ["", "[]", "{", "null"])
def test_a_file_that_is_none_is_found_out(tmp_path: Path, text: str) -> None:
    path = tmp_path / "evidence.json"
    path.write_text(text)
    assert evidence.read(path)[1]
    assert evidence.read(tmp_path / "missing.json")[1]
