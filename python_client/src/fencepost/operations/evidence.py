"""A file that says what was verified, where, when and by whom, and holds no secret.

Its form is the original's, ``context-action/durable-operation-verification@1``. Nothing is taken
over from a log or from a connection string: every member is of a known name and a known form, and
is held against that both when it is written and when it is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from .errors import InvalidArgument

SCHEMA: Final = "context-action/durable-operation-verification@1"
POLICY: Final = (
    "No credential, connection string, log or diagnostic is part of this file; hosts are named "
    "without user, password, port and path."
)
CHECKS: Final = ("preflight", "redis", "integration", "postgres", "queue")
NOT_HERE: Final = frozenset({"redis"})
"""Backends that this project does not have; nothing can be verified of them."""

_OUTCOMES: Final = frozenset({"success", "failure", "cancelled", "skipped", "unknown"})
_STATUSES: Final = frozenset({"ok", "unknown"})
_SHORT: Final = re.compile(r"[\x20-\x7e]{1,64}")
_RESULT: Final = {
    "status": re.compile(r"ok|failed"),
    "host": re.compile(r"(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9.:_-]*[A-Za-z0-9])?"),
    "serverVersion": _SHORT,
    "isolation": _SHORT,
}
_CHECK_NAME: Final = re.compile(r"[a-z0-9:_-]{1,96}")
_COUNTS: Final = frozenset({"numTotalTests", "numPassedTests", "numFailedTests"})
_TARGET: Final = {
    "environment": re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"),
    "commitSha": re.compile(r"[0-9a-f]{7,64}"),
    "runId": re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}"),
    "operator": re.compile(r"[A-Za-z0-9][A-Za-z0-9@._ -]{0,127}"),
}
_MEMBERS: Final = frozenset(
    {"schemaVersion", "generatedAt", "target", "credentialPolicy", "checks"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """How one part of a verification ended."""

    outcome: str
    available: bool
    status: str = "unknown"
    result: dict[str, Any] | None = None

    @classmethod
    def skipped(cls) -> Check:
        """Return that of something that is not there to be verified."""
        return cls(outcome="skipped", available=False)

    @classmethod
    def of(cls, passed: list[str], failed: list[str], **facts: str) -> Check:
        """Return that of checks that were run: by what they came to, not by what they printed.

        The form has one list of names, so the name of one that failed begins with ``failed:``.
        """
        return cls(
            outcome="failure" if failed else "success",
            available=True,
            status="unknown" if failed else "ok",
            result={
                "status": "failed" if failed else "ok",
                **facts,
                "checks": [*passed, *(f"failed:{name}" for name in failed)],
            },
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What was verified, and by whom."""

    environment: str
    commit_sha: str
    run_id: str
    operator: str
    started_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What goes into the file."""

    target: Target
    checks: Mapping[str, Check] = field(default_factory=dict)
    generated_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    def document(self) -> dict[str, Any]:
        """Return the file's content.

        :raises InvalidArgument: a member has not the form that it must have.
        """
        target: dict[str, Any] = {
            "environment": self.target.environment,
            "commitSha": self.target.commit_sha,
            "runId": self.target.run_id,
            "operator": self.target.operator,
        }
        if self.target.started_at is not None:
            target["startedAt"] = _time(self.target.started_at)
        checks: dict[str, Any] = {}
        for name in CHECKS:
            check = self.checks.get(name, Check.skipped())
            checks[name] = {
                "outcome": check.outcome,
                "available": check.available,
                "status": check.status,
            }
            if check.result is not None:
                checks[name]["result"] = check.result
        document = {
            "schemaVersion": SCHEMA,
            "generatedAt": _time(self.generated_at),
            "target": target,
            "credentialPolicy": POLICY,
            "checks": checks,
        }
        wrong = faults(document)
        if wrong:
            raise InvalidArgument("; ".join(wrong))
        return document


def write(evidence: Evidence, path: Path) -> None:
    """Write the file, readable to the account and its group."""
    text = json.dumps(evidence.document(), indent=2, ensure_ascii=False)
    path.write_text(f"{text}\n", encoding="utf-8")


def read(path: Path) -> tuple[Any, list[str]]:
    """Return a file's content, and what is wrong with it."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        return None, [f"not a readable JSON file: {error}"]
    return document, faults(document)


def faults(document: Any) -> list[str]:
    """Return what is not as the schema wants it; nothing where all is."""
    if not isinstance(document, dict):
        return ["the document is no object"]
    wrong = _members(document, _MEMBERS, "the document")
    if document.get("schemaVersion") != SCHEMA:
        wrong.append(f"schemaVersion is not {SCHEMA}")
    if not _is_time(document.get("generatedAt")):
        wrong.append("generatedAt is no time with an offset")
    if not isinstance(document.get("credentialPolicy"), str):
        wrong.append("credentialPolicy is missing")
    wrong += _target_faults(document.get("target"))
    checks = document.get("checks")
    if not isinstance(checks, dict):
        return [*wrong, "checks is no object"]
    wrong += _members(checks, frozenset(CHECKS), "checks")
    for name in CHECKS:
        wrong += _check_faults(name, checks.get(name))
    return wrong


def incomplete(document: dict[str, Any]) -> list[str]:
    """Return which checks of a valid document are no success.

    A backend that this project does not have may be skipped; nothing else may.
    """
    open_checks = []
    for name in CHECKS:
        check = document["checks"][name]
        if name in NOT_HERE and check["outcome"] == "skipped":
            continue
        found = (
            check["outcome"],
            check["available"],
            check["status"],
            check.get("result", {}).get("status"),
        )
        if found != ("success", True, "ok", "ok"):
            open_checks.append(f"{name}: {check['outcome']}")
    return open_checks


def _target_faults(target: Any) -> list[str]:
    if not isinstance(target, dict):
        return ["target is no object"]
    wrong = _members(target, frozenset(_TARGET), "target", optional=frozenset({"startedAt"}))
    wrong += [
        f"target.{name} has not the form {form.pattern}"
        for name, form in _TARGET.items()
        if not isinstance(target.get(name), str) or not form.fullmatch(target[name])
    ]
    if "startedAt" in target and not _is_time(target["startedAt"]):
        wrong.append("target.startedAt is no time with an offset")
    return wrong


def _check_faults(name: str, check: Any) -> list[str]:
    if not isinstance(check, dict):
        return [f"checks.{name} is no object"]
    wrong = _members(
        check,
        frozenset({"outcome", "available", "status"}),
        f"checks.{name}",
        optional=frozenset({"result"}),
    )
    if check.get("outcome") not in _OUTCOMES:
        wrong.append(f"checks.{name}.outcome is none of {', '.join(sorted(_OUTCOMES))}")
    if not isinstance(check.get("available"), bool):
        wrong.append(f"checks.{name}.available is no truth value")
    if check.get("status") not in _STATUSES:
        wrong.append(f"checks.{name}.status is neither ok nor unknown")
    if "result" in check:
        wrong += _result_faults(name, check["result"])
    return wrong


def _result_faults(name: str, result: Any) -> list[str]:
    where = f"checks.{name}.result"
    if not isinstance(result, dict):
        return [f"{where} is no object"]
    counts = _COUNTS if name == "integration" else frozenset[str]()
    known = frozenset(_RESULT) | {"checks"} | counts
    wrong = _members(result, frozenset({"status"}), where, optional=known)
    for member, form in _RESULT.items():
        value = result.get(member)
        if member in result and not (isinstance(value, str) and form.fullmatch(value)):
            wrong.append(f"{where}.{member} has not the form {form.pattern}")
    checks = result.get("checks", [])
    if not isinstance(checks, list) or not all(
        isinstance(each, str) and _CHECK_NAME.fullmatch(each) for each in checks
    ):
        wrong.append(f"{where}.checks is no list of names")
    for count in counts & set(result):
        if type(result[count]) is not int or result[count] < 0:
            wrong.append(f"{where}.{count} is no count")
    return wrong


def _members(
    found: dict[str, Any],
    wanted: frozenset[str],
    where: str,
    *,
    optional: frozenset[str] = frozenset(),
) -> list[str]:
    missing = sorted(wanted - set(found))
    foreign = sorted(set(found) - wanted - optional)
    return [f"{where} has no {name}" for name in missing] + [
        f"{where} has a member that is not known" for _ in foreign
    ]


def _time(at: datetime) -> str:
    if at.tzinfo is None:
        message = "a time without an offset"
        raise InvalidArgument(message)
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _is_time(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        return datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False
