"""Brings the rows of a table of ``@context-action/tool-durable-operations`` into the ledger.

It reads the table through the application's client and says what it finds to the kernel's own
functions, as a worker of the class would: no row gets there by another way. So key, fingerprint,
state, result and reason are kept, and what they promise: a replay is a replay, a conflict a
conflict, and what is unknown stays so. Incarnation, revision and times are the ledger's, from now
on; what the row said of them is in the diagnostic of an unknown operation, and elsewhere at most
its last writer and time, in the reason of one that had none. A row that is ``pending`` may have had
its effect: it becomes ``unknown``. So does one that the ledger has no room for.

Every key is claimed, started and then recorded: one that was started is never free again, however
the import ends. Stop the writers of the table first, and begin nothing under its keys before the
import is through. It may be run again, also after it broke off.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final
from uuid import UUID, uuid5

from fencepost.errors import Expired, KernelError, Misuse, Retry

from .adapter import Client, Placeholders, numbered, rows_of
from .base import OperationStore
from .blank import is_blank
from .errors import InvalidArgument
from .records import ABSENT, Claim, ClaimStatus, Failed, RawJson, State, StillUnknown

TABLE: Final = "context_action_durable_operations"
"""The original's table, where an application gave it no other name."""

_NAMESPACE: Final = UUID("5e0c2f7a-3a0b-4a0e-9d55-0d7a52b6a1c4")
_PART: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_STATES: Final = frozenset({State.PENDING, State.COMPLETED, State.FAILED, State.UNKNOWN})
_ENDED: Final = frozenset({State.COMPLETED, State.FAILED})
_REASON: Final = 4096
"""How many bytes of a reason there is room for."""
_NAME: Final = 200
"""How many of a name are passed on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of the original's table."""

    key: str
    fingerprint: str
    owner: str
    state: str
    result: str | None
    """As it stands there, in JSON; ``None`` where there is none."""
    reason: str | None
    incarnation: str | None
    """``None`` in a row of version 0.1."""
    revision: int
    created_at: int
    updated_at: int
    reconciled_by: str | None


@dataclass(slots=True)
class Imported:
    """What came of an import."""

    counts: dict[str, int] = field(default_factory=dict)
    """How many operations now are in each state because of it."""
    repeated: int = 0
    """How many had been imported before."""
    left: dict[str, str] = field(default_factory=dict)
    """Which are unknown now though the table says how they ended, by their key, with why."""
    refused: dict[str, str] = field(default_factory=dict)
    """Which could not be, by their key, with why."""


def rows(
    client: Client,
    table: str = TABLE,
    *,
    placeholders: Placeholders = numbered,
    page_size: int = 500,
) -> Iterator[Row]:
    """Yield the rows of *table* in the order of their keys, those of version 0.1 too.

    :param table: one name or two, as the original takes it.
    """
    quoted = _quoted(table)
    after = ""
    while True:
        # As JSON, so that a table without a column incarnation is read like any other.
        text = (
            "select pg_catalog.jsonb_build_object("  # noqa: S608 - quoted
            "'row', pg_catalog.to_jsonb(t) - 'result', 'result', t.result::text)::text as answer "
            f"from {quoted} as t "
            'where t.operation_key collate "C" > $1::text '
            'order by t.operation_key collate "C" limit $2::integer'
        )
        page = [json.loads(each) for each in _ask(client, placeholders(text), (after, page_size))]
        for each in page:
            yield _row(each)
        if len(page) < page_size:
            return
        after = page[-1]["row"]["operation_key"]


def import_rows(store: OperationStore, found: Iterator[Row]) -> Imported:
    """Bring *found* into the class of *store*, whose kind and target they get.

    :param store: made with the ``kind`` and ``target`` that imported operations are to have.
    """
    done = Imported()
    for row in found:
        try:
            _import(store, row, done)
        except Retry:
            raise
        except (KernelError, InvalidArgument) as error:
            done.refused[row.key] = str(error)
    return done


def _import(store: OperationStore, row: Row, done: Imported) -> None:
    """Bring one row in, or see that it was there already."""
    if row.state not in _STATES:
        message = f"{row.state!r} is no state"
        raise InvalidArgument(message)
    claim = _started(store, row)
    is_lost = _is_lost(store, claim)
    if not (claim.is_owner or is_lost):
        _require_same(row, claim, done)
        done.repeated += 1
        return
    try:
        state = _record(store, row, claim, is_lost=is_lost)
    except (Misuse, InvalidArgument) as error:
        why = f"{row.state} in the table, and not to be kept as it is: {error}"
        _leave(store, row, claim, why, is_lost=is_lost)
        state = State.UNKNOWN
        if row.state in _ENDED:
            done.left[row.key] = why
    done.counts[state] = done.counts.get(state, 0) + 1


def _started(store: OperationStore, row: Row) -> Claim:
    """Claim the row's key and start it, so that it is never free again.

    What has happened is recorded afterwards. Should the import break off before it is, the
    operation becomes unknown.
    """
    while True:
        claim = store.claim(row.key, row.fingerprint, token=_token(store, row))
        if claim.status is ClaimStatus.CONFLICT:
            message = "the key is in use for something else"
            raise InvalidArgument(message)
        if not claim.is_owner or claim.operation.is_started:
            return claim
        try:
            store.start(claim)
        except Expired:
            # An import broke off before it started it, and no reaper has come by since.
            store.release(claim, "the import broke off")
        else:
            return claim


def _token(store: OperationStore, row: Row) -> UUID:
    """Return the same for the same row, until what it began was released.

    So an import that broke off goes on with its own claim, and has a fresh token where it cannot.
    """
    count = sum(step.event == "release" for step in store.history(row.key))
    name = f"{store.campaign_class}\n{row.key}\n{row.incarnation}"
    return uuid5(_NAMESPACE, f"{name}\n{count}" if count else name)


def _is_lost(store: OperationStore, claim: Claim) -> bool:
    """Return whether an import started it, broke off, and nobody has looked at it since."""
    return (
        claim.status is ClaimStatus.UNKNOWN
        and claim.operation.duplicate is True
        and store.history(claim.key)[-1].event in {"expire", "abandon"}
    )


def _record(store: OperationStore, row: Row, claim: Claim, *, is_lost: bool) -> str:
    """Record what the table says; return the state it is in now."""
    result = ABSENT if row.result is None else RawJson(row.result)
    reason = None if row.reason is None or is_blank(row.reason) else row.reason
    if row.state == State.COMPLETED:
        store.complete(claim, result, reason=reason or _came(row))
        return State.COMPLETED
    if row.state == State.FAILED:
        reason = reason or _came(row)
        if is_lost:
            store.resolve_unknown(row.key, claim.fence, Failed(reason=reason, result=result))
        else:
            store.fail(claim, reason, result)
        return State.FAILED
    was = "pending: whether it was carried out is not known" if row.state == "pending" else ""
    reason = reason or f"{_came(row)} {was}".strip()
    if is_lost:
        store.resolve_unknown(row.key, claim.fence, StillUnknown(reason=reason))
    else:
        store.mark_unknown(claim, reason, RawJson(_diagnostic(row)))
    return State.UNKNOWN


def _leave(store: OperationStore, row: Row, claim: Claim, why: str, *, is_lost: bool) -> None:
    """Make it unknown, and say why, with as much of the row as there is room for."""
    reason = _cut(f"{_came(row)}; {why}", _REASON)
    if is_lost:
        store.resolve_unknown(row.key, claim.fence, StillUnknown(reason=reason))
        return
    try:
        store.mark_unknown(claim, reason, RawJson(_diagnostic(row, why)))
    except (Misuse, InvalidArgument):
        store.mark_unknown(claim, reason, RawJson(_diagnostic(row, why, is_whole=False)))


def _require_same(row: Row, claim: Claim, done: Imported) -> None:
    wanted = State.UNKNOWN if row.state == State.PENDING else row.state
    is_state = claim.operation.operation_state
    if is_state == State.PENDING:
        message = "somebody else has claimed it: import again when that has ended"
        raise InvalidArgument(message)
    if wanted in {is_state, State.UNKNOWN}:
        return  # what was unknown may have been reconciled since
    message = f"it is {is_state} in the ledger, and {row.state} in the table"
    if is_state != State.UNKNOWN:
        raise InvalidArgument(message)
    done.left[row.key] = message


def _came(row: Row) -> str:
    by = f", reconciled by {_cut(row.reconciled_by, _NAME)}" if row.reconciled_by else ""
    return f"imported; written by {_cut(row.owner, _NAME)} at {_at(row.updated_at)}{by}"


def _diagnostic(row: Row, why: str | None = None, *, is_whole: bool = True) -> str:
    told: dict[str, Any] = {
        "owner": _cut(row.owner, _NAME),
        "state": row.state,
        "incarnation": row.incarnation and _cut(row.incarnation, _NAME),
        "revision": row.revision,
        "created_at": _at(row.created_at),
        "updated_at": _at(row.updated_at),
    }
    if why is not None:
        told["not_kept"] = _cut(why, _REASON)
        told["reason"] = row.reason if is_whole else row.reason and _cut(row.reason, _REASON)
    if row.result is not None and not is_whole:
        told["result_bytes"] = len(row.result.encode())
        told["result_sha256"] = sha256(row.result.encode()).hexdigest()
    text = json.dumps({"imported": told}, ensure_ascii=False)
    if row.result is None or not is_whole:
        return text
    return f'{text[:-1]}, "result": {row.result}}}'


def _cut(text: str, limit: int) -> str:
    """Return as much of *text* as *limit* bytes hold."""
    return text.encode()[:limit].decode(errors="ignore")


def _at(milliseconds: int) -> str:
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        return f"{milliseconds} ms"  # no calendar has it


def _row(found: dict[str, Any]) -> Row:
    row: dict[str, Any] = found["row"]
    is_present = bool(row.get("result_present"))
    result: str | None = found["result"]
    return Row(
        key=row["operation_key"],
        fingerprint=row["fingerprint"],
        owner=row["owner_id"],
        state=row["state"],
        # Present without a value is what the original makes of a function: it reads null.
        result=(result if result is not None else "null") if is_present else None,
        reason=row["reason"],
        incarnation=row.get("incarnation"),
        revision=row["revision"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        reconciled_by=row["reconciled_by"],
    )


def _ask(client: Client, text: str, values: tuple[Any, ...]) -> list[str]:
    return rows_of(client.query(text, values))


def _quoted(table: str) -> str:
    parts = table.split(".")
    if len(parts) > 2 or not all(_PART.fullmatch(part) for part in parts):
        message = f"{table!r} is no name of a table in one or two parts"
        raise InvalidArgument(message)
    return ".".join(f'"{part}"' for part in parts)
