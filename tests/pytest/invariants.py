"""The invariants of tests/invariants.sql: what is true of every ledger at any time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    import psycopg
    from psycopg.rows import TupleRow

MOST_ROWS = 5


class Invariant(NamedTuple):
    """A sentence, and the query that returns the rows which break it."""

    sentence: str
    query: str


def invariants(project: Path) -> list[Invariant]:
    """Return the invariants of tests/invariants.sql: every query with the comment before it."""
    text = (project / "tests" / "invariants.sql").read_text(encoding="utf-8")
    found = []
    for paragraph in re.split(r"\n{2,}", text):
        lines = paragraph.strip().splitlines()
        said = [line for line in lines if line.startswith("--")]
        query = "\n".join(line for line in lines if not line.startswith("--"))
        if query:
            found.append(Invariant(" ".join(line.removeprefix("-- ") for line in said), query))
    return found


def is_kernel(connection: psycopg.Connection[TupleRow]) -> bool:
    """Return whether the whole kernel is deployed in the database."""
    row = connection.execute(
        "select to_regclass('ledger.tombstone') is not null"
        " and to_regprocedure('kernel.check(text)') is not null"
    ).fetchone()
    return row is not None and bool(row[0])


def broken(connection: psycopg.Connection[TupleRow], project: Path) -> list[str]:
    """Return what is not as it should be: the sentence, and the first rows that break it."""
    complaints = []
    for invariant in invariants(project):
        cursor = connection.execute(invariant.query)
        rows = cursor.fetchall()
        if rows:
            names = [column.name for column in cursor.description or ()]
            shown = [dict(zip(names, row, strict=True)) for row in rows[:MOST_ROWS]]
            complaints.append(f"{invariant.sentence}\n  {len(rows)} rows: {shown}")
    return complaints
