"""Brings the rows of a table of ``@context-action/tool-durable-operations`` into the ledger.

It reads the table through the application's client and says what it finds to the kernel's own
functions, as a worker of the class would: no row gets there by another way. So key, fingerprint,
state, result and reason are kept, and what they promise: a replay is a replay, a conflict a
conflict, and what is unknown stays so. Incarnation, revision and times are the ledger's, from now
on; what the row said of them is in the operation's diagnostic or reason. A row that is ``pending``
may have had its effect: it becomes ``unknown``.

Stop the writers of the table first. The import may be run again, also after it broke off.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID, uuid5

from fencepost.errors import KernelError, Retry

from .adapter import Client, Placeholders, numbered, rows_of
from .base import OperationStore
from .blank import is_blank
from .errors import InvalidArgument
from .records import ABSENT, Claim, ClaimStatus, RawJson, State

TABLE: Final = "context_action_durable_operations"
"""The original's table, where an application gave it no other name."""

_NAMESPACE: Final = UUID("5e0c2f7a-3a0b-4a0e-9d55-0d7a52b6a1c4")
_PART: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_STATES: Final = frozenset({State.PENDING, State.COMPLETED, State.FAILED, State.UNKNOWN})


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
            state = _import(store, row)
        except Retry:
            raise
        except (KernelError, InvalidArgument) as error:
            done.refused[row.key] = str(error)
        else:
            if state is None:
                done.repeated += 1
            else:
                done.counts[state] = done.counts.get(state, 0) + 1
    return done


def _import(store: OperationStore, row: Row) -> str | None:
    """Bring one row in; return the state it is in now, ``None`` where it was there already."""
    if row.state not in _STATES:
        message = f"{row.state!r} is no state"
        raise InvalidArgument(message)
    # The same for the same row, so that an import that broke off goes on with it.
    token = uuid5(_NAMESPACE, f"{store.campaign_class}\n{row.key}\n{row.incarnation}")
    claim = store.claim(row.key, row.fingerprint, token=token)
    if claim.status is ClaimStatus.CONFLICT:
        message = "the key is in use for something else"
        raise InvalidArgument(message)
    if not claim.is_owner:
        _require_same(row, claim)
        return None
    result = ABSENT if row.result is None else RawJson(row.result)
    reason = None if row.reason is None or is_blank(row.reason) else row.reason
    if row.state == State.COMPLETED:
        store.complete(claim, result, reason=reason or _came(row))
        return State.COMPLETED
    if row.state == State.FAILED:
        store.fail(claim, reason or _came(row), result)
        return State.FAILED
    was = "pending: whether it was carried out is not known" if row.state == "pending" else ""
    store.mark_unknown(claim, reason or f"{_came(row)} {was}".strip(), RawJson(_diagnostic(row)))
    return State.UNKNOWN


def _require_same(row: Row, claim: Claim) -> None:
    wanted = State.UNKNOWN if row.state == State.PENDING else row.state
    is_state = claim.operation.operation_state
    if wanted in {is_state, State.UNKNOWN}:
        return  # what was unknown may have been reconciled since
    message = f"it is {is_state} in the ledger, and {row.state} in the table"
    raise InvalidArgument(message)


def _came(row: Row) -> str:
    by = f", reconciled by {row.reconciled_by}" if row.reconciled_by else ""
    return f"imported; written by {row.owner} at {_at(row.updated_at)}{by}"


def _diagnostic(row: Row) -> str:
    told = {
        "imported": {
            "owner": row.owner,
            "state": row.state,
            "incarnation": row.incarnation,
            "revision": row.revision,
            "created_at": _at(row.created_at),
            "updated_at": _at(row.updated_at),
        }
    }
    text = json.dumps(told, ensure_ascii=False)
    return text if row.result is None else f'{text[:-1]}, "result": {row.result}}}'


def _at(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")


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
