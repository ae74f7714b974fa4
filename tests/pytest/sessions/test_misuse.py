"""Misuse of every function of schema kernel, in every parameter, as the catalogue has them.

Each function has a call that would be carried out; one argument of it is put wrong at a time, by
every principal that may execute the function. What may come of it: an error of class KN that
``ledger.answer`` lists as misuse, with a DETAIL and a HINT; an error of the argument's own type,
before the function is called; or an answer, and where it is a refusal, one row that says so.
Nothing else is written, and no error of the inside of the kernel is ever seen.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from tests.pytest.conftest import PROJECT
from tests.pytest.sessions.legal import REFUSALS, Function, Legal, Parameter, Said, Value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from tests.pytest.sessions.conftest import Ledger

# They only read: not refused, free of isolation and of writability, null to who may not know.
EXEMPT = {
    "api_version",
    "check",
    "classes",
    "exercise_report",
    "explain",
    "health",
    "next_due",
    "ring",
}
# What anybody may ask, or find that there is nothing to be told: no row is an answer.
QUIET = EXEMPT | {"operation_history"}
# No default, and may be null all the same.
NULLABLE = {("submit", "p_approach")}
# Any JSON and any text at all, bounded as everything is; of a log also what may be nothing.
ANYTHING = {
    *("p_result", "p_read_back", "p_diagnostic", "p_result_text"),
    *("p_message", "p_application", "p_raised_in"),
}
# What is said of an operation by who does not own it, and of one that needs an authority.
OF_ITS_OWNER = {
    *("start_operation", "complete_operation", "fail_operation", "mark_operation_unknown"),
    *("renew_operation", "release_operation", "resolve_operation", "renew"),
}
# Where zero is a length like any other.
MAY_BE_ZERO = {("cancel", "p_quiet_for")}

# What docs/reference/errors.md says of values that their own type does not take: class 22, and
# 54001 for what is nested too deep.
NOT_OF_ITS_TYPE = {"22003", "22007", "22008", "22015", "22021", "22023", "22P02", "22P05", "54001"}

TOO_LONG = "x" * 70_000
GARBAGE = (
    "\x01\x02\x1b[2J\x7f",
    "a\nb\tc\u0085d\u2028e",
    "'; drop table ledger.campaign cascade; --",
    "%s %I %L % $1 :name {} \\",
    "\U0001f4a9\u202e\ufeff\u0301",
    "NaN",
)


class Matrix:
    """What was tried, and what was not as it should be."""

    def __init__(self, legal: Legal) -> None:
        self.legal = legal
        self.ledger = legal.ledger
        self.misuse = {
            code
            for (code,) in self.ledger.look("select code from ledger.answer where kind = 'misuse'")
        }
        self.refusals = {
            code
            for (code,) in self.ledger.look("select code from ledger.answer where kind = 'outcome'")
        } - {"ok"}
        self.known = self.ledger.dump()
        self.tried = 0
        self.complaints: list[str] = []

    def parameters(self, *types: str) -> Iterator[tuple[Function, Parameter]]:
        """Yield every parameter of these types, or every one at all, with its function."""
        for function in self.legal.functions.values():
            for parameter in function.parameters:
                if not types or parameter.type in types:
                    yield function, parameter

    def put(
        self,
        function: Function,
        parameter: Parameter,
        value: Value,
        expected: Collection[str] = (),
        duties: Iterable[str] | None = None,
    ) -> None:
        """Call a function by each who may, or by *duties*, with *value* for *parameter*."""
        for duty in function.duties if duties is None else duties:
            arguments = self.legal.arguments(function.name, **{parameter.name: value})
            what = f"{function.name} by {duty}, {parameter.name} {_short(value)}"
            self.call(what, function.name, duty, arguments, expected=expected)

    def call(
        self,
        what: str,
        function: str,
        duty: str,
        arguments: dict[str, Value],
        *,
        expected: Collection[str] = (),
        transaction: str = "read committed, read write",
    ) -> None:
        """Make a call, and look at what came of it: one of *expected*, where any is given."""
        self.tried += 1
        said = self.legal.call(function, duty, arguments, transaction=transaction)
        self.legal.end(duty, "commit" if said.code in self.refusals else "rollback")
        wrong = self.wrong(said)
        is_own = said.code in self.misuse or said.code in self.refusals
        if is_own and not re.search(rf"\b{said.code}\b", self.legal.functions[function].comment):
            wrong = wrong or "not in the function's comment"
        if expected and said.code not in expected:
            wrong = wrong or f"not {' or '.join(sorted(expected))}"
        if wrong:
            self.complaints.append(f"{what}: {wrong}: {said.code} {said.message[:200]}")

    def wrong(self, said: Said) -> str | None:
        """Return what is wrong with what was said, whatever was asked."""
        if said.code in self.refusals:
            return self.not_one_refusal()
        if not said.is_raised:
            return None if said.code in {"ok", "answered"} else "no outcome that is known"
        if said.code in NOT_OF_ITS_TYPE:
            # The type's input knows of no function yet.
            return "raised inside of the kernel" if "PL/pgSQL" in said.context else None
        if said.code not in self.misuse or said.code.startswith("KN9"):
            return "an error that is not the caller's"
        if not said.detail.strip():
            return "no DETAIL"
        return None if said.hint.strip() else "no HINT"

    def not_one_refusal(self) -> str | None:
        """Return what a refusal wrote beside one row, or one count above the rate."""
        before, self.known = self.known, self.ledger.dump()
        new = self.known[REFUSALS] - before[REFUSALS]
        old = before[REFUSALS] - self.known[REFUSALS]
        is_counted = len(old) == 1 and _without_count(*old) == _without_count(*new)
        if len(new) != 1 or (old and not is_counted):
            return f"{len(new)} refusals more, {len(old)} fewer"
        return self.other_than_refusals(before)

    def other_than_refusals(self, before: dict[str, set[str]]) -> str | None:
        """Return which tables beside the refusals are not what they were."""
        changed = [t for t in before if t != REFUSALS and before[t] != self.known[t]]
        return f"wrote {', '.join(changed)}" if changed else None

    def verdict(self, at_least: int) -> None:
        """Fail with everything that was wrong; also where less was tried than there is."""
        before, self.known = self.known, self.ledger.dump()
        wrote = self.other_than_refusals(before)
        if wrote or before[REFUSALS] != self.known[REFUSALS]:
            self.complaints.append(f"what was no refusal {wrote or 'refused'}")
        assert not self.complaints, "\n".join(
            [f"{len(self.complaints)} of {self.tried}", *self.complaints]
        )
        assert self.tried >= at_least


def _short(value: Value) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:40]}… ({len(shown)})"


def _without_count(row: str) -> dict[str, object]:
    return {name: value for name, value in json.loads(row).items() if name != "suppressed"}


@pytest.fixture
def matrix(ledger: Ledger) -> Matrix:
    """Return a matrix over a ledger of the test's own."""
    return Matrix(Legal(ledger))


# -- the control -----------------------------------------------------------------------------------


def test_without_misuse_every_call_is_carried_out(matrix: Matrix) -> None:
    """And everybody who may execute a function is one of seven, who are all tried."""
    for name, duty in matrix.legal.duty.items():
        assert duty in matrix.legal.functions[name].duties
        expected = {"answered"} if name in QUIET else {"ok"}
        if name in {"checkpoint", "reap", "expire_operations", "list_operations"}:
            expected = {"ok", "answered"}
        matrix.call(name, name, duty, matrix.legal.arguments(name), expected=expected)
    duties = {duty for function in matrix.legal.functions.values() for duty in function.duties}
    assert duties == {"sensor", "worker", "verifier", "reaper", "admin", "auditor", "collector"}
    matrix.verdict(len(matrix.legal.functions))

    # What is not the kernel's own is in the reference; and these are the types that the tests
    # below put wrong values for.
    reference = (PROJECT / "docs/reference/errors.md").read_text(encoding="utf-8")
    assert all(f"`{code}`" in reference for code in NOT_OF_ITS_TYPE)
    assert {parameter.type for _, parameter in matrix.parameters()} == {
        *("text", "jsonb", "interval", "bigint", "integer", "uuid", "boolean", "bytea"),
        *("uuid[]", "text[]", "timestamp with time zone"),
    }


def test_what_is_written_would_be_seen(matrix: Matrix) -> None:
    said = matrix.legal.call("claim", "worker", matrix.legal.arguments("claim"))
    matrix.legal.end("worker", "commit")
    assert said.code == "ok"
    with pytest.raises(AssertionError, match=r"wrote .*campaign_event"):
        matrix.verdict(0)


# -- null and text ---------------------------------------------------------------------------------


def test_null(matrix: Matrix) -> None:
    """It is missing, where the default is not null nor the parameter one that may be."""
    for function, parameter in matrix.parameters():
        is_nullable = (parameter.default or "").startswith("NULL::")
        is_nullable = is_nullable or (function.name, parameter.name) in NULLABLE
        expected = {"ok", "KN101", "no_evidence"} if is_nullable else {"KN101"}
        matrix.put(function, parameter, None, expected | _elsewhere(function))
    matrix.verdict(100)


def _elsewhere(function: Function) -> set[str]:
    """Return what another is answered with who calls under the worker's lease or authority."""
    if function.name == "begin_operation":
        return {"forbidden", "KN101"}
    return {"not_holder"} if function.name in OF_ITS_OWNER else set()


def test_text(matrix: Matrix) -> None:
    """Blank, beyond any bound, and garbage: what that means is the caller's, but it is no name."""
    for function, parameter in matrix.parameters("text"):
        for value in ("", " ", " \t\r\n "):
            is_anything = parameter.name in ANYTHING
            matrix.put(function, parameter, value, () if is_anything else {"KN102"})
        matrix.put(function, parameter, TOO_LONG, {"KN102", "KN103"})
        for value in GARBAGE:
            is_name = parameter.name in {"p_class", "p_duty", "p_verdict"}
            matrix.put(function, parameter, value, {"KN102"} if is_name else ())
    matrix.verdict(700)


def test_bytes_that_are_no_text(matrix: Matrix) -> None:
    """NUL, no UTF-8 at all, half of a surrogate pair, an overlong form, a character cut off."""
    for function, parameter in matrix.parameters("text", "jsonb"):
        for value in (b"a\x00b", b"\xff\xfe", b"\xed\xa0\x80", b"\xc0\x80", b"abc\xe2\x82"):
            is_json = parameter.type == "jsonb"
            sent = b'{"a": "' + value + b'"}' if is_json else value
            # On its way to be text, a NUL is a control character that JSON wants escaped.
            expected = {"22021", "22P02"} if is_json else {"22021"}
            matrix.put(function, parameter, sent, expected)
    matrix.verdict(400)


# -- json ------------------------------------------------------------------------------------------


# No json at all, a NUL, half of a surrogate pair, a number or a depth beyond all bounds.
NO_JSON = {
    "": "22P02",
    "{": "22P02",
    "{'a': 1}": "22P02",
    '{"a": "\\u0000"}': "22P05",
    '{"a": "\\ud800"}': "22P02",
    '{"\\udc00\\ud800": 1}': "22P02",
    '{"a": 1e200000}': "22003",
    '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}": "54001",
}
LONG_JSON = (
    json.dumps({"a": TOO_LONG}),
    json.dumps({TOO_LONG: "a"}),
    json.dumps({"a": [0] * 40_000}),
    '{"a": 1e100000}',
)
DEEP_JSON = ('{"a": ' + "[" * 1000 + "]" * 1000 + "}", '{"a": ' * 1000 + "1" + "}" * 1000)


def test_json(matrix: Matrix) -> None:
    for function, parameter in matrix.parameters("jsonb"):
        for value in ("null", "true", "1", '"text"', "[]", '[{"command": ["true"]}]'):
            is_anything = parameter.name in ANYTHING
            matrix.put(function, parameter, value, () if is_anything else {"KN102"})
        for value, code in NO_JSON.items():
            matrix.put(function, parameter, value, {code})
        for value in LONG_JSON:
            matrix.put(function, parameter, value, {"KN103"})
        for value in DEEP_JSON:
            matrix.put(function, parameter, value)
    matrix.verdict(100)


WRONG_IN_JSON: tuple[object, ...] = (
    *(None, True, {}, [], [None], [[]], [{}], {"a": []}, 0, -1, 0.5, 10**30, -(10**30), 1e-300),
    *("", " ", "\x01", "garbage", "NaN", "-1", "0", "-1 second", "1 microsecond", "infinity"),
    *("178000000 years", "-178000000 years", "2147483647 days", "1e400 years", "25:61", "x" * 9000),
)


def test_every_key_of_a_policy(matrix: Matrix) -> None:
    """The keys are those that the hint for an unknown one lists."""
    tried = 0
    for function, parameter in matrix.parameters("jsonb"):
        legal = json.loads(matrix.legal.arguments(function.name)[parameter.name] or "{}")
        said = matrix.legal.call(
            function.name,
            matrix.legal.duty[function.name],
            matrix.legal.arguments(function.name, **{parameter.name: json.dumps({"?": 1} | legal)}),
        )
        matrix.legal.end(matrix.legal.duty[function.name])
        keys = legal.keys()
        if said.code == "KN105":
            keys = {key.strip(" .") for key in said.hint.removeprefix("The keys are").split(",")}
        for key in sorted(keys):
            tried += 1
            for value in WRONG_IN_JSON:
                matrix.put(function, parameter, json.dumps(legal | {key: value}))
    assert tried >= 30
    matrix.verdict(30 * len(WRONG_IN_JSON))


# -- durations and numbers -------------------------------------------------------------------------


def test_durations(matrix: Matrix, major: int) -> None:
    """Negative, zero, huge, without end (which PostgreSQL has from 17 on), and none at all."""
    for function, parameter in matrix.parameters("interval"):
        elsewhere = _elsewhere(function)
        for value in (
            *("-1 microsecond", "-1 second", "1 day -48:00:01", "-178000000 years"),
            *("37000 days", "2147483647 days", "178000000 years", "2562047788 hours"),
        ):
            matrix.put(function, parameter, value, {"KN104"} | elsewhere)
        may_be_zero = (function.name, parameter.name) in MAY_BE_ZERO
        for value in ("0", "-0", "1 month -30 days"):
            matrix.put(function, parameter, value, {"ok" if may_be_zero else "KN104"} | elsewhere)
        for value in ("infinity", "-infinity"):
            matrix.put(
                function, parameter, value, {"KN104" if major >= 17 else "22007"} | elsewhere
            )
        for value in ("", "soon", "1 fortnight", "NaN", "1e400 years", "99999999999 days"):
            matrix.put(function, parameter, value, {"22007", "22008", "22015"})
    matrix.verdict(130)


# What a number out of the blue comes to: it is out of range, or names nothing that there is.
NUMBERS = {
    "p_campaign_id": {"KN108"},
    "p_generation": {"stale", "not_holder"},
    "p_ordinal": {"KN104"},
    "p_revision": {"stale"},
    "p_number": {"KN110"},
    "p_exit_code": {"KN114"},
    "p_line_no": {"KN104", "ok"},
    "p_limit": {"KN104"},
    "p_priority": {"KN104"},
}


def test_numbers(matrix: Matrix) -> None:
    for function, parameter in matrix.parameters("bigint", "integer"):
        most = 2**63 if parameter.type == "bigint" else 2**31
        for number in (-1, -(most // 2), -most, most - 1, most // 2):
            expected = NUMBERS[parameter.name] | _elsewhere(function)
            matrix.put(function, parameter, str(number), expected)
        for value in (str(2**63), "-" + "9" * 40, "", "1.5", "1e3", "garbage", "NaN", "0x", "\x01"):
            matrix.put(function, parameter, value, {"22003", "22P02"})
    matrix.verdict(400)


# -- other types -----------------------------------------------------------------------------------


def test_uuids_booleans_and_digests(matrix: Matrix) -> None:
    for function, parameter in matrix.parameters("uuid", "boolean"):
        for value in ("", "garbage", "2", str(uuid4())[:-1], "\x01", TOO_LONG):
            matrix.put(function, parameter, value, {"22P02"})
    for function, parameter in matrix.parameters("bytea"):
        for length in (0, 1, 31, 33, 1_000_000):
            matrix.put(function, parameter, bytes(length), {"KN102"})
        for value in ("\\xzz", "\\x0", "\\"):
            matrix.put(function, parameter, value, {"22023", "22P02"})
    matrix.verdict(80)


def test_arrays(matrix: Matrix) -> None:
    """Of tokens from one to a hundred, all different; of budgets any that there are."""
    one, two = uuid4(), uuid4()
    tokens = {
        "{}": {"KN104"},
        "{NULL}": {"KN101", "KN102"},
        f"{{{one},NULL}}": {"KN101", "KN102"},
        f"{{{one},{one}}}": {"KN104"},
        f"{{{{{one}}},{{{two}}}}}": {"KN102"},
        "{" + ",".join(str(uuid4()) for _ in range(101)) + "}": {"KN104"},
        "{" + ",".join(str(uuid4()) for _ in range(20_000)) + "}": {"KN104"},
        f"[5:6]={{{one},{two}}}": {"ok", "KN102"},
        "{garbage}": {"22P02"},
        "garbage": {"22P02"},
        "{": {"22P02"},
    }
    budgets = {
        "{}": {"ok"},
        "{NULL}": {"KN101", "KN102"},
        "{attempt_budget,NULL}": {"KN101", "KN102"},
        "{attempt_budget,attempt_budget}": {"ok"},
        "{{attempt_budget},{loss_budget}}": {"ok"},
        "[7:7]={attempt_budget}": {"ok"},
        '{""}': {"KN102"},
        "{no_such_budget}": {"KN102"},
        "{" + TOO_LONG + "}": {"KN102", "KN103"},
        "{" + ",".join(["attempt_budget"] * 20_000) + "}": {"ok"},
        "{": {"22P02"},
        "garbage": {"22P02"},
    }
    values = {"uuid[]": tokens, "text[]": budgets}
    for function, parameter in matrix.parameters(*values):
        for value, expected in values[parameter.type].items():
            matrix.put(function, parameter, value, expected)
    matrix.verdict(20)


# -- what there is not -----------------------------------------------------------------------------


# What no class, target, campaign, observation or principal is called.
OF_AN_EFFECT = {"authorise", "deauthorise", "begin_operation"}
ASKS = {"get_operation", "operation_history"}
ENROLLED = {"sensor", "worker", "verifier"}
NO_NAMES = {"p_duty", "p_verdict"}  # one of a few words
LEASE = ("p_campaign_id", "p_generation", "p_token")
NOWHERE = {
    "p_operation_key": ("no such", "KN116"),
    "p_target": ("no such", "KN107"),
    "p_campaign_id": ("987654321", "KN108"),
    "p_principal": ("nobody", "KN109"),
    "p_number": ("987654321", "KN110"),
    "p_duty": ("admin", "KN102"),
    "p_verdict": ("ACCEPTED", "KN102"),
}


def test_what_there_is_not(matrix: Matrix) -> None:
    """Who must be enrolled is forbidden all of another class; the others are told what is not."""
    tried = set()
    for function, parameter in matrix.parameters():
        if parameter.name == "p_class":
            enrolled = ENROLLED.intersection(function.duties)
            others = set(function.duties) - enrolled
            if function.name in QUIET:
                # Asked for a class, they say of one that is not there what its auditor needs.
                told = {"answered", "KN106"}
                matrix.put(function, parameter, "nowhere", {"answered"}, enrolled)
                matrix.put(function, parameter, "nowhere", told, others)
            else:
                # Whose campaign it would be need not be looked up where there is no campaign.
                is_on_campaign = "p_campaign_id" in matrix.legal.arguments(function.name)
                told = {"KN108" if is_on_campaign else "KN106"}
                if function.name == "define_class":
                    told = {"ok"}
                matrix.put(function, parameter, "nowhere", {"forbidden"}, enrolled)
                matrix.put(function, parameter, "nowhere", told, others)
        elif parameter.name == "p_target" and function.name in OF_AN_EFFECT:
            continue
        elif parameter.name in NOWHERE and function.name not in {"define_target", *ASKS}:
            value, code = NOWHERE[parameter.name]
            matrix.put(function, parameter, value, {code} | _elsewhere(function))
            tried.add(parameter.name)
    assert tried == set(NOWHERE)
    matrix.verdict(70)


def test_who_is_not_enrolled_is_forbidden_whatever_is_named(matrix: Matrix) -> None:
    """What is there, what is not, and what was theirs: they cannot tell one from the other."""
    for duty in ENROLLED:
        name = matrix.ledger.person(duty).name
        matrix.ledger.admin.done("dismiss", p_principal=name, p_duty=duty)
    matrix.known = matrix.ledger.dump()
    for function in matrix.legal.functions.values():
        enrolled = ENROLLED.intersection(function.duties)
        expected = {"answered"} if function.name in QUIET else {"forbidden"}
        for parameter in function.parameters:
            values = [matrix.legal.arguments(function.name)[parameter.name]]
            if (function.name, parameter.name) == ("begin_operation", "p_campaign_id"):
                continue  # a part of a lease names nothing: the whole of it does, below
            if parameter.name in NOWHERE and parameter.name not in NO_NAMES:
                values.append(NOWHERE[parameter.name][0])
            elif parameter.name == "p_class":
                values += ["nowhere", "spare"]
            for value in values:
                matrix.put(function, parameter, value, expected, enrolled)
    lease = {name: matrix.legal.arguments("renew")[name] for name in LEASE}
    for number in (lease["p_campaign_id"], NOWHERE["p_campaign_id"][0]):
        begun = matrix.legal.arguments(
            "begin_operation",
            **lease | {"p_campaign_id": number, "p_expected": '{"after": {"ref": "c"}}'},
            **dict.fromkeys(("p_key", "p_lease_for")),
        )
        for duty in ("worker", "verifier"):
            what = f"begin_operation by {duty}, under a lease of {number!r}"
            matrix.call(what, "begin_operation", duty, begun, expected={"forbidden"})
    matrix.verdict(150)


# -- transactions ----------------------------------------------------------------------------------

TRANSACTIONS = {
    "repeatable read": "KN111",
    "serializable": "KN111",
    "serializable, read only, deferrable": "KN111",
    "read committed, read only": "KN112",
}


def test_a_transaction_of_another_kind(matrix: Matrix) -> None:
    """Before anything else is looked at; those that only read do not mind."""
    for function in matrix.legal.functions.values():
        legal = matrix.legal.arguments(function.name)
        for duty in function.duties:
            for transaction, code in TRANSACTIONS.items():
                what = f"{function.name} by {duty}, {transaction}"
                if function.name in EXEMPT:
                    matrix.call(
                        what,
                        function.name,
                        duty,
                        legal,
                        expected={"answered"},
                        transaction=transaction,
                    )
                    continue
                matrix.call(
                    what, function.name, duty, legal, expected={code}, transaction=transaction
                )
                nothing = dict.fromkeys(legal)
                matrix.call(
                    what, function.name, duty, nothing, expected={code}, transaction=transaction
                )
    matrix.verdict(400)
