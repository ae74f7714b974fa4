"""The table of docs/explanation/cut-points.md, against which what was seen is held."""

from __future__ import annotations

from tests.pytest.drills.conftest import PROJECT

DOCUMENT = PROJECT / "docs" / "explanation" / "cut-points.md"


def documented(who: str, what: str) -> dict[str, list[str]]:
    """Return the lines of the document for somebody and a fault."""
    found = {}
    for line in DOCUMENT.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[:2] == [who, what]:
            found[cells[2]] = cells[3:]
    return found


def hold_the_document_to(who: str, what: str, seen: dict[str, list[str]]) -> None:
    """Compare what was seen with the document's table, and print it as that has it."""
    lines = [f"| {who} | {what} | {where} | {' | '.join(row)} |" for where, row in seen.items()]
    print(*lines, sep="\n")
    assert documented(who, what) == seen, "what was seen:\n" + "\n".join(lines)
