"""A ledger in which every function of the kernel has a call that would be carried out.

The functions, their parameters and who may execute them are the catalogue's. A call is one protocol
message with the values as text, so that the server's own types read them, or in binary, so that it
is sent what no driver would send.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

import psycopg
from psycopg.pq import DiagnosticField, ExecStatus, Format, TransactionStatus
from psycopg.types.json import Jsonb

from tests.pytest.sessions.conftest import moved

if TYPE_CHECKING:
    from collections.abc import Mapping

    from psycopg.pq.abc import PGconn

    from tests.pytest.sessions.conftest import Ledger, Session

Value = str | bytes | None

RESULT = {"base": "b", "commit": "c"}
EVIDENCE = {"p_evidence_uri": "file:///evidence", "p_evidence_sha256": "\\x" + "65" * 32}
REFUSALS = "refusal"
AUTHORITY = {"p_duty": "worker", "p_kind": "http.post", "p_target": "https://service.invalid/*"}
OPERATION = {
    "p_kind": "http.post",
    "p_target": "https://service.invalid/a",
    "p_fingerprint": "f",
}
EFFECT = {"p_result": "{}", "p_read_back": "{}", "p_result_text": "{}"}


class Parameter(NamedTuple):
    """A parameter of a function: its type, and its default as an expression."""

    name: str
    type: str
    default: str | None


class Function(NamedTuple):
    """A function of schema kernel, as the catalogue has it."""

    name: str
    parameters: tuple[Parameter, ...]
    duties: tuple[str, ...]
    comment: str


class Said(NamedTuple):
    """What came of a call: an outcome, ``answered`` where there is none, or a SQLSTATE."""

    code: str
    is_raised: bool = False
    is_duplicate: bool = False
    message: str = ""
    detail: str = ""
    hint: str = ""
    context: str = ""


def _text(value: object) -> Value:
    """Return a value as the protocol has it."""
    return None if value is None else str(value)


def functions(ledger: Ledger) -> list[Function]:
    """Return every function of schema kernel."""
    rows = ledger.look(
        """
        select p.proname,
               array(
                   select array[
                       p.proargnames[i], format_type(p.proargtypes[i - 1], null),
                       pg_get_function_arg_default(p.oid, i)
                   ]
                   from generate_series(1, p.pronargs) as i
                   order by i
               ),
               array(
                   select distinct substr(r.rolname, length('fencepost_') + 1)
                   from aclexplode(p.proacl) as a
                   join pg_roles as r on r.oid = a.grantee
                   where r.oid <> p.proowner
                   order by 1
               ),
               obj_description(p.oid, 'pg_proc')
        from pg_proc as p
        where p.pronamespace = 'kernel'::regnamespace
        order by p.proname
        """
    )
    return [
        Function(name, tuple(Parameter(*given) for given in parameters), tuple(duties), comment)
        for name, parameters, duties, comment in rows
    ]


class Legal:
    """A class with a campaign in each state, and of each function the call that fits."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._links: dict[str, psycopg.Connection[tuple[object, ...]]] = {}
        ledger.define_class(promotes=True)
        ledger.admin.done("define_class", p_class="spare")
        target = ledger.define_target()
        names = {duty: ledger.person(duty).name for duty in ("sensor", "worker", "verifier")}
        worker, verifier = ledger.once("worker"), ledger.once("verifier")

        promoting = self._promoting(worker, verifier)
        ((promoted,),) = ledger.look(
            "select target from audit.campaigns where campaign_id = %s", promoting["p_campaign_id"]
        )
        assert moved(verifier, promoting, promoted) == "ok"
        effects = self._effects(worker)
        accepted = self._promoting(worker, verifier)
        self._leave(accepted)
        ledger.campaigns()
        verifying = self._verifying(worker, verifier)
        ledger.campaigns()
        self._submitted(worker)
        (campaign,) = ledger.campaigns()
        leased = worker.claimed()
        (parked,) = ledger.campaigns()
        ledger.admin.done("park", p_campaign_id=parked, p_generation=0)
        ledger.campaigns()
        token = uuid4()
        number = ledger.once("sensor").done("begin_observation", p_target=target, p_token=token)[
            "number"
        ]

        begun = {"p_target": target, "p_number": number, "p_token": token}
        saw = {"p_campaign_id": campaign, "p_generation": leased["p_generation"]}
        claim = {"p_label": "a label", "p_lease_for": "10 minutes"}
        reason = {"p_reason": "a reason"}
        acceptance = json.dumps({"command": ["true"]})
        calls: dict[str, tuple[str, Mapping[str, object]]] = {
            "allow_repeat": ("admin", saw | reason | {"p_fingerprint": "f"}),
            "api_version": ("worker", {}),
            "authorise": ("admin", AUTHORITY | {"p_is_standalone": "true", "p_limit": None}),
            "begin_operation": (
                "worker",
                OPERATION
                | dict.fromkeys(("p_campaign_id", "p_generation", "p_token"))
                | {"p_operation_token": uuid4(), "p_key": "a new key", "p_ordinal": 1}
                | {"p_expected": "{}", "p_label": "a label", "p_lease_for": "10 minutes"},
            ),
            "complete_operation": ("worker", effects["started"] | reason | EFFECT),
            "deauthorise": ("admin", AUTHORITY),
            "expire_operations": ("reaper", {"p_limit": 10}),
            "fail_operation": ("worker", effects["started"] | reason | EFFECT),
            "get_operation": ("worker", effects["begun"]),
            "list_operations": (
                "worker",
                {"p_state": "pending", "p_after_key": "a", "p_after_at": "2026-01-01 00:00+00"}
                | {"p_limit": 10},
            ),
            "mark_operation_unknown": (
                "worker",
                effects["started"] | reason | {"p_diagnostic": "{}"},
            ),
            "operation_history": ("worker", effects["begun"]),
            "prune_operations": ("reaper", {"p_limit": 10, "p_older_than": "60 days"}),
            "release_operation": ("worker", effects["begun"] | reason),
            "renew_operation": ("worker", effects["begun"] | {"p_lease_for": "10 minutes"}),
            "resolve_operation": (
                "worker",
                effects["unknown"] | reason | EFFECT | {"p_state": "completed", "p_token": uuid4()},
            ),
            "start_operation": ("worker", effects["begun"]),
            "begin_observation": ("sensor", {"p_target": target, "p_token": uuid4()}),
            "brief": ("worker", leased),
            "bundle": ("verifier", verifying),
            "cancel": ("admin", saw | reason | {"p_quiet_for": "1 day"}),
            "check": ("auditor", {}),
            "checkpoint": ("auditor", {}),
            "claim": ("worker", claim | {"p_token": uuid4()}),
            "claim_many": ("worker", claim | {"p_tokens": f"{{{uuid4()}}}"}),
            "claim_promotion": ("verifier", claim | {"p_token": uuid4()}),
            "claim_verification": ("verifier", claim | {"p_token": uuid4()}),
            "classes": ("reaper", {}),
            "define_class": ("admin", {"p_class": "another", "p_policy": "{}"}),
            "define_target": (
                "admin",
                {
                    "p_target": "another",
                    "p_location": "{}",
                    "p_desired_state": "{}",
                    "p_acceptance": acceptance,
                    "p_policy": "{}",
                },
            ),
            "dismiss": ("admin", {"p_principal": names["worker"], "p_duty": "worker"}),
            "enrol": ("admin", {"p_principal": names["worker"], "p_duty": "worker"}),
            "exercise_report": ("auditor", {"p_window": "7 days"}),
            "explain": ("auditor", {"p_campaign_id": campaign}),
            "fail": ("worker", leased | reason | {"p_approach": "a", "p_fingerprint": "f"}),
            "health": ("auditor", {}),
            "judge": (
                "verifier",
                verifying
                | reason
                | EVIDENCE
                | {
                    "p_verdict": "accepted",
                    "p_bundle_sha256": self._digest(verifier, verifying),
                    "p_fingerprint": "f",
                    "p_command": "true",
                    "p_exit_code": 0,
                },
            ),
            "new_epoch": ("admin", reason | {"p_token": uuid4()}),
            "next_due": ("worker", {}),
            "open_campaign": ("admin", reason | {"p_target": target, "p_token": uuid4()}),
            "outdate": ("verifier", promoting | reason),
            "park": ("admin", saw | reason),
            "pause": ("admin", reason),
            "promote": ("verifier", promoting),
            "prune": ("admin", {"p_limit": 10}),
            "reap": ("reaper", {"p_limit": 10}),
            "redrive": (
                "admin",
                reason
                | {
                    "p_campaign_id": parked,
                    "p_generation": 1,
                    "p_budgets": "{attempt_budget}",
                },
            ),
            "register_principal": (
                "admin",
                {"p_principal": names["worker"], "p_family": "a family"},
            ),
            "release": ("worker", leased | reason),
            "renew": ("worker", leased | {"p_lease_for": "10 minutes"}),
            "report_denial": ("collector", self._denial(names["worker"])),
            "report_observation": (
                "sensor",
                begun | EVIDENCE | {"p_is_green": "false", "p_summary": "red"},
            ),
            "resume": ("admin", reason),
            "retire_class": ("admin", {"p_class": "spare"}),
            "retire_target": ("admin", {"p_target": target}),
            "ring": ("worker", {}),
            "set_priority": ("admin", saw | {"p_priority": 2}),
            "submit": (
                "worker",
                leased
                | EVIDENCE
                | {"p_fingerprint": "f", "p_approach": "a", "p_result": json.dumps(RESULT)},
            ),
        }
        self.functions = {function.name: function for function in functions(ledger)}
        # A new function is missing here until somebody says how it is called.
        assert set(calls) == set(self.functions)
        self.duty = {name: duty for name, (duty, _) in calls.items()}
        self._arguments: dict[str, dict[str, Value]] = {}
        for name, (_, given) in calls.items():
            known = {"p_class": ledger.klass, **given}
            self._arguments[name] = {
                parameter.name: _text(known[parameter.name])
                for parameter in self.functions[name].parameters
            }

    @staticmethod
    def _denial(name: str) -> dict[str, object]:
        """Return a line of the log that nobody has reported."""
        return {
            "p_session_id": "6a9632e4.1f",
            "p_line_no": 1,
            "p_denied_at": datetime.now(UTC),
            "p_role": name,
            "p_sqlstate": "42501",
            "p_message": "permission denied for table campaign",
            "p_command": "UPDATE",
            "p_application": "an application",
            "p_raised_in": "aclcheck_error",
        }

    # The states

    def _effects(self, worker: Session) -> dict[str, dict[str, object]]:
        """Return what names an operation without a campaign in each state."""
        self.ledger.admin.done("authorise", **AUTHORITY, p_is_standalone=True)
        effects: dict[str, dict[str, object]] = {}
        for state in ("begun", "started", "unknown"):
            token = uuid4()
            row = worker.done("begin_operation", **OPERATION, p_operation_token=token, p_key=state)
            named = {"p_operation_key": row["operation_key"], "p_operation_token": token}
            if state != "begun":
                row = worker.done("start_operation", **named)
            if state == "unknown":
                row = worker.done("mark_operation_unknown", **named, p_reason="no answer")
            fence = {"p_incarnation": row["incarnation"], "p_revision": row["revision"]}
            effects[state] = named | fence
        return effects

    def _submitted(self, worker: Session) -> None:
        held = worker.claimed()
        worker.done("submit", **held, p_fingerprint="f", p_approach=None, p_result=Jsonb(RESULT))

    def _verifying(self, worker: Session, verifier: Session) -> dict[str, object]:
        self._submitted(worker)
        return verifier.claimed("claim_verification")

    def _digest(self, verifier: Session, held: dict[str, object]) -> str:
        digest: bytes = verifier.done("bundle", **held)["bundle_sha256"]
        return "\\x" + digest.hex()

    def _promoting(self, worker: Session, verifier: Session) -> dict[str, object]:
        self.ledger.campaigns()
        held = self._verifying(worker, verifier)
        verifier.done(
            "judge",
            **held,
            **EVIDENCE,
            p_verdict="accepted",
            p_bundle_sha256=self._digest(verifier, held),
            p_fingerprint="f",
            p_exit_code=0,
        )
        return held

    def _leave(self, held: dict[str, object]) -> None:
        """Let a promotion be nobody's: it waits for the next verifier."""
        named = {name: held[name] for name in ("p_campaign_id", "p_generation")}
        generation = self.ledger.admin.done("park", **named)["generation"]
        self.ledger.admin.done("redrive", **named | {"p_generation": generation})

    # The calls

    def arguments(self, function: str, **other: Value) -> dict[str, Value]:
        """Return the arguments of a function's legal call, with *other* in their places."""
        return self._arguments[function] | other

    def connection(self, duty: str) -> psycopg.Connection[tuple[object, ...]]:
        """Return the connection of a duty's principal."""
        known = self._links.get(duty)
        if known is None:
            known = self.ledger.person(duty).connect(self.ledger.database, autocommit=True)
            self._links[duty] = known
        return known

    def link(self, duty: str) -> PGconn:
        """Return what libpq has of that connection."""
        return self.connection(duty).pgconn

    def call(
        self,
        function: str,
        duty: str,
        arguments: Mapping[str, Value],
        *,
        transaction: str = "read committed, read write",
    ) -> Said:
        """Call a function in a transaction that stays open: the one that is, or a new one."""
        link = self.link(duty)
        if link.transaction_status == TransactionStatus.IDLE:
            link.exec_(f"begin isolation level {transaction}".encode())
        named = ", ".join(f"{name} => ${i}" for i, name in enumerate(arguments, start=1))
        types = {p.name: p.type for p in self.functions[function].parameters}
        values: list[bytes | None] = []
        formats: list[Format] = []
        for name, value in arguments.items():
            is_binary = isinstance(value, bytes)
            formats.append(Format.BINARY if is_binary else Format.TEXT)
            if isinstance(value, bytes):
                # jsonb is sent as its version and then text.
                values.append(b"\x01" + value if types[name] == "jsonb" else value)
            else:
                values.append(None if value is None else value.encode())
        result = link.exec_params(
            f"select * from kernel.{function}({named})".encode(), values, param_formats=formats
        )
        if result.status == ExecStatus.TUPLES_OK:
            columns = [result.fname(column) for column in range(result.nfields)]
            if b"outcome" not in columns or result.ntuples == 0:
                return Said("answered")
            return Said(
                (result.get_value(0, columns.index(b"outcome")) or b"").decode(),
                is_duplicate=result.get_value(0, columns.index(b"duplicate")) == b"t",
            )

        def field(which: DiagnosticField) -> str:
            return (result.error_field(which) or b"").decode(errors="replace")

        return Said(
            field(DiagnosticField.SQLSTATE),
            is_raised=True,
            message=field(DiagnosticField.MESSAGE_PRIMARY),
            detail=field(DiagnosticField.MESSAGE_DETAIL),
            hint=field(DiagnosticField.MESSAGE_HINT),
            context=field(DiagnosticField.CONTEXT),
        )

    def end(self, duty: str, how: str = "rollback") -> None:
        """End the open transaction of a duty's principal."""
        self.link(duty).exec_(how.encode())

    def elsewhere(self, database: str) -> None:
        """Make all further calls in another database."""
        for link in self._links.values():
            link.close()
        self._links.clear()
        self.ledger.database = database
