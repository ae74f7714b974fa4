"""The text of every statement and the meaning of every answer, without a connection.

A :class:`Call` is a text with ``$1``, ``$2`` …, its values, and what makes a result of the rows.
Values are texts, integers and ``None``, and every row has one column, a text of JSON: that is what
all drivers pass on alike. Nothing here opens a transaction, and no call reads what another wrote.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from typing import Any, Final, Generic, TypeVar
from uuid import UUID, uuid4

from fencepost import clock
from fencepost.errors import refusal
from fencepost.records import Lease, Receipt

from .blank import is_blank
from .errors import InvalidArgument
from .records import (
    ABSENT,
    Claim,
    ClaimStatus,
    Completed,
    Cursor,
    Failed,
    Fence,
    Operation,
    Page,
    PruneResult,
    RawJson,
    Resolution,
    State,
    Step,
    StillUnknown,
)

T = TypeVar("T")

Value = str | int | None
Row = dict[str, Any]

_RECEIPT: Final = frozenset(field.name for field in fields(Receipt))
_OPERATION: Final = frozenset(field.name for field in fields(Operation))
_TIMES: Final = frozenset({"lease_expires_at", "created_at", "updated_at", "reconciled_at"})
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME_BYTES: Final = 63
_CENTURIES: Final = timedelta(days=100_000)

_ANSWER: Final = """
    'row', pg_catalog.to_jsonb(o),
    'has_result', o.result is not null,
    'has_diagnostic', o.diagnostic is not null,
    'retry_after', extract(epoch from o.retry_after),
    'lease_left', extract(epoch from o.lease_expires_at - pg_catalog.clock_timestamp())
"""


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One statement that can be sent by any driver."""

    text: str
    values: tuple[Value, ...] = field(repr=False)
    """What stands for ``$1``, ``$2`` …, a token among them."""
    decode: Callable[[list[str]], T]
    """Makes a result of the first column of the rows, or raises what the kernel's answer asks."""


def encoded(value: Any) -> str | None:
    """Return *value* as JSON that the ledger can hold; ``None`` where it is :data:`ABSENT`.

    :raises InvalidArgument: PostgreSQL or JSON cannot hold it.
    """
    if value is ABSENT:
        return None
    if isinstance(value, RawJson):
        return value.text
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        text.encode()
    except UnicodeEncodeError:
        message = "the value holds half of a surrogate pair, which the ledger cannot hold"
        raise InvalidArgument(message) from None
    except (TypeError, ValueError, RecursionError) as error:
        message = f"the value is not JSON: {error}"
        raise InvalidArgument(message) from error
    if "\\u0000" in text and _holds_nul(value):
        message = "the value holds a NUL, which the ledger cannot hold"
        raise InvalidArgument(message)
    return text


def plain(text: str, what: str) -> str:
    """Return *text* if PostgreSQL can take it, and there is something in it.

    :raises InvalidArgument: it is blank, or holds a NUL or half of a surrogate pair.
    """
    if is_blank(text):
        message = f"the {what} is blank"
        raise InvalidArgument(message)
    if "\x00" in text:
        message = f"the {what} holds a NUL, which the ledger cannot hold"
        raise InvalidArgument(message)
    try:
        text.encode()
    except UnicodeEncodeError:
        message = f"the {what} holds half of a surrogate pair, which the ledger cannot hold"
        raise InvalidArgument(message) from None
    return text


def _holds_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\x00" in value
    if isinstance(value, dict):
        return any(_holds_nul(key) or _holds_nul(each) for key, each in value.items())
    return isinstance(value, list | tuple) and any(map(_holds_nul, value))


def _span(value: timedelta | None) -> str | None:
    """Return a length as PostgreSQL reads it; one beyond its calendar is beyond all bounds."""
    if value is None:
        return None
    value = max(-_CENTURIES, min(value, _CENTURIES))
    return f"{value // timedelta(microseconds=1)} microseconds"


def _uuid(value: UUID | None) -> str | None:
    return None if value is None else str(value)


class Statements:
    """Makes the calls of one class of operations.

    :param campaign_class: the class, which is the namespace of the keys.
    :param schema: where the kernel's functions are, if not in ``kernel``.
    """

    def __init__(self, campaign_class: str, *, schema: str = "kernel") -> None:
        if not _NAME.fullmatch(schema) or len(schema) > _NAME_BYTES:
            message = f"{schema!r} is no plain name of a schema"
            raise InvalidArgument(message)
        self.campaign_class = campaign_class
        self._schema = f'"{schema}"'

    # -- claims ------------------------------------------------------------------------------------

    def claim(
        self,
        key: str | None,
        fingerprint: str,
        *,
        kind: str,
        target: str,
        token: UUID | None,
        label: str | None,
        lease_for: timedelta | None,
        expected: dict[str, Any] | None,
        lease: Lease | None = None,
        ordinal: int = 1,
    ) -> Call[Claim]:
        """Claim a key, or begin an operation under a campaign's lease."""
        token = token or uuid4()
        asked_at = clock.now()

        def decode(rows: list[str]) -> Claim:
            row = json.loads(rows[0])
            operation = _operation(row)
            left = row["lease_left"]
            return Claim(
                status=ClaimStatus(row["row"]["status"]),
                operation=operation,
                token=token,
                campaign_class=self.campaign_class,
                key=operation.key,
                runs_out_at=None if left is None else asked_at + float(left),
            )

        return self._call(
            "begin_operation",
            {
                "p_class text": self.campaign_class,
                "p_operation_token uuid": str(token),
                "p_kind text": plain(kind, "kind"),
                "p_target text": plain(target, "target"),
                "p_fingerprint text": plain(fingerprint, "fingerprint"),
                "p_campaign_id bigint": lease.campaign_id if lease else None,
                "p_generation bigint": lease.generation if lease else None,
                "p_token uuid": _uuid(lease.token if lease else None),
                "p_ordinal integer": ordinal,
                "p_expected jsonb": None if expected is None else encoded(expected),
                "p_key text": None if key is None else plain(key, "key"),
                "p_label text": None if label is None else plain(label, "label"),
                "p_lease_for interval": _span(lease_for),
            },
            decode,
        )

    # -- the owner's -------------------------------------------------------------------------------

    def start(self, claim: Claim) -> Call[Operation]:
        """Say that the effect begins now."""
        return self._call("start_operation", self._owned(claim), _first)

    def complete(self, claim: Claim, outcome: Completed) -> Call[Operation]:
        """Say that it happened."""
        return self._call(
            "complete_operation",
            {
                **self._owned(claim),
                "p_result jsonb": encoded(outcome.result),
                "p_read_back jsonb": encoded(outcome.read_back),
                "p_reason text": _text(outcome.reason, "reason"),
                "p_result_text text": _words(outcome.result_text),
            },
            _first,
        )

    def fail(self, claim: Claim, outcome: Failed) -> Call[Operation]:
        """Say that it did not happen."""
        return self._call(
            "fail_operation",
            {
                **self._owned(claim),
                "p_reason text": _text(outcome.reason, "reason"),
                "p_result jsonb": encoded(outcome.result),
                "p_result_text text": _words(outcome.result_text),
            },
            _first,
        )

    def mark_unknown(self, claim: Claim, reason: str, diagnostic: Any) -> Call[Operation]:
        """Say that it may have happened."""
        return self._call(
            "mark_operation_unknown",
            {
                **self._owned(claim),
                "p_reason text": _text(reason, "reason"),
                "p_diagnostic jsonb": encoded(diagnostic),
            },
            _first,
        )

    def renew(self, claim: Claim, lease_for: timedelta | None) -> Call[Claim]:
        """Hold it longer."""
        asked_at = clock.now()

        def decode(rows: list[str]) -> Claim:
            row = json.loads(rows[0])
            left = row["lease_left"]
            return Claim(
                status=claim.status,
                operation=_operation(row),
                token=claim.token,
                campaign_class=claim.campaign_class,
                key=claim.key,
                runs_out_at=None if left is None else asked_at + float(left),
            )

        return self._call(
            "renew_operation",
            {**self._owned(claim), "p_lease_for interval": _span(lease_for)},
            decode,
        )

    def release(self, claim: Claim, reason: str | None) -> Call[Operation]:
        """Give it back, with nothing done."""
        return self._call(
            "release_operation",
            {**self._owned(claim), "p_reason text": _text(reason, "reason")},
            _first,
        )

    # -- the reconciler's --------------------------------------------------------------------------

    def resolve_unknown(
        self, key: str, fence: Fence, resolution: Resolution, *, lease: Lease | None
    ) -> Call[Operation]:
        """Say what somebody found who looked at the target."""
        completed = resolution if isinstance(resolution, Completed) else None
        result = ABSENT if isinstance(resolution, StillUnknown) else resolution.result
        words = None if isinstance(resolution, StillUnknown) else resolution.result_text
        if completed is not None:
            state = State.COMPLETED
        elif isinstance(resolution, Failed):
            state = State.FAILED
        elif isinstance(resolution, StillUnknown):
            state = "still_unknown"
        else:
            message = f"{resolution!r} is neither Completed nor Failed nor StillUnknown"
            raise InvalidArgument(message)
        return self._call(
            "resolve_operation",
            {
                "p_class text": self.campaign_class,
                "p_operation_key text": plain(key, "key"),
                "p_incarnation uuid": str(fence.incarnation),
                "p_revision integer": fence.revision,
                "p_state text": state,
                "p_reason text": _text(resolution.reason, "reason"),
                "p_result jsonb": encoded(result),
                "p_read_back jsonb": encoded(completed.read_back if completed else ABSENT),
                "p_result_text text": _words(words),
                "p_token uuid": _uuid(lease.token if lease else None),
            },
            _first,
        )

    # -- reading -----------------------------------------------------------------------------------

    def get(self, key: str) -> Call[Operation | None]:
        """Read one operation; one that was released is none."""

        def decode(rows: list[str]) -> Operation | None:
            found = [_operation(json.loads(row)) for row in rows]
            return next((each for each in found if each.operation_state != State.RELEASED), None)

        return self._call(
            "get_operation",
            {"p_class text": self.campaign_class, "p_operation_key text": plain(key, "key")},
            decode,
        )

    def page(self, state: str | None, after: Cursor | None, limit: int) -> Call[Page]:
        """Read some operations, in the order of their keys; of one state, the oldest first."""

        def decode(rows: list[str]) -> Page:
            raw = [json.loads(row) for row in rows]
            found = [_operation(each) for each in raw]
            end: Cursor | None = None
            if len(found) == limit:
                last = raw[-1]["row"]
                end = Cursor(last["operation_key"], last["updated_at"] if state else None)
            shown = [each for each in found if state or each.operation_state != State.RELEASED]
            return Page(operations=shown, next_cursor=end)

        return self._call(
            "list_operations",
            {
                "p_class text": self.campaign_class,
                "p_state text": state,
                "p_after_key text": after.key if after else None,
                "p_after_at timestamptz": after.at if after else None,
                "p_limit integer": limit,
            },
            decode,
        )

    def history(self, key: str) -> Call[list[Step]]:
        """Read what became of a key, the oldest first."""

        def decode(rows: list[str]) -> list[Step]:
            return [_step(json.loads(row)) for row in rows]

        return self._call(
            "operation_history",
            {"p_class text": self.campaign_class, "p_operation_key text": plain(key, "key")},
            decode,
            answer=("'row', pg_catalog.to_jsonb(o), 'has_diagnostic', o.diagnostic is not null"),
        )

    # -- the reaper's ------------------------------------------------------------------------------

    def expire(self, limit: int) -> Call[list[Operation]]:
        """Take back what is past its lease."""

        def decode(rows: list[str]) -> list[Operation]:
            return [_operation(json.loads(row)) for row in rows]

        return self._call(
            "expire_operations",
            {"p_class text": self.campaign_class, "p_limit integer": limit},
            decode,
        )

    def prune(self, limit: int, older_than: timedelta | None) -> Call[PruneResult]:
        """Remove the oldest of what has ended."""

        def decode(rows: list[str]) -> PruneResult:
            row = json.loads(rows[0])["row"]
            _carried_out(row)
            return PruneResult(removed=row["removed"], is_more=row["is_more"])

        return self._call(
            "prune_operations",
            {
                "p_class text": self.campaign_class,
                "p_limit integer": limit,
                "p_older_than interval": _span(older_than),
            },
            decode,
            answer="'row', pg_catalog.to_jsonb(o)",
        )

    # -- small things ------------------------------------------------------------------------------

    def _owned(self, claim: Claim) -> dict[str, Value]:
        return {
            "p_class text": self.campaign_class,
            "p_operation_key text": claim.key,
            "p_operation_token uuid": str(claim.token),
        }

    def _call(
        self,
        function: str,
        arguments: dict[str, Value],
        decode: Callable[[list[str]], T],
        *,
        answer: str = _ANSWER,
    ) -> Call[T]:
        """Call a function in named notation; a key of *arguments* is a parameter and its type."""
        named = []
        for number, parameter in enumerate(arguments, 1):
            name, kind = parameter.split()
            # By way of text, which every driver sends alike.
            cast = kind if kind in {"text", "integer", "bigint"} else f"text::{kind}"
            named.append(f"{name} => ${number}::{cast}")
        text = (
            f"select pg_catalog.jsonb_build_object({answer})::text as answer "  # noqa: S608
            f"from {self._schema}.{function}({', '.join(named)}) as o"
        )
        return Call(text, tuple(arguments.values()), decode)


def _text(value: str | None, what: str) -> str | None:
    return None if value is None else plain(value, what)


def _words(value: str | None) -> str | None:
    """Return a result's text, which may well be empty."""
    return value if value is None or is_blank(value) else plain(value, "result")


def _first(rows: list[str]) -> Operation:
    return _operation(json.loads(rows[0]))


def _carried_out(row: Row) -> None:
    """Raise what the outcome says, unless it is ``ok``."""
    if row["outcome"] != "ok":
        raise refusal(Receipt(**_named(row, _RECEIPT)))


def _operation(answer: Row) -> Operation:
    row: Row = answer["row"]
    _carried_out(row)
    values = _named(row, _OPERATION)
    for name in _TIMES:
        if values[name] is not None:
            values[name] = datetime.fromisoformat(values[name])
    if values["incarnation"] is not None:
        values["incarnation"] = UUID(values["incarnation"])
    values["result"] = values["result"] if answer["has_result"] else ABSENT
    values["diagnostic"] = values["diagnostic"] if answer["has_diagnostic"] else ABSENT
    after = answer["retry_after"]
    values["retry_after"] = None if after is None else timedelta(seconds=float(after))
    return Operation(**values)


def _step(answer: Row) -> Step:
    row: Row = answer["row"]
    return Step(
        event_no=row["event_no"],
        incarnation=UUID(row["incarnation"]),
        revision=row["revision"],
        event=row["event"],
        from_state=row["from_state"],
        to_state=row["to_state"],
        by_principal=row["by_principal"],
        reason=row["reason"],
        diagnostic=row["diagnostic"] if answer["has_diagnostic"] else ABSENT,
        is_late=row["is_late"],
        at=datetime.fromisoformat(row["at"]),
    )


def _named(row: Row, known: frozenset[str]) -> Row:
    values = {"campaign_class" if name == "class" else name: value for name, value in row.items()}
    return {name: value for name, value in values.items() if name in known}


def first_column(rows: Sequence[Any]) -> list[str]:
    """Return the one column of rows that are sequences or mappings."""
    found = []
    for row in rows:
        if isinstance(row, str):
            found.append(row)
        elif isinstance(row, dict) or hasattr(row, "keys"):
            found.append(row["answer"])
        else:
            found.append(row[0])
    return found
