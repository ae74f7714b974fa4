"""Links within the project lead somewhere, and no page is left that none leads to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[3]
PAGES = [
    *PROJECT.glob("*.md"),
    *(PROJECT / "docs").rglob("*.md"),
    PROJECT / "python_client" / "README.md",
    PROJECT / "examples" / "README.md",
]


def without_code(text: str) -> str:
    """Return a page's text without its blocks."""
    return re.sub(r"(?ms)^```.*?^```$", "", text)


def links(page: Path) -> list[str]:
    """Return where a page's links lead."""
    return re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text(encoding="utf-8")))


def anchors(page: Path) -> set[str]:
    """Return the names by which a page's headings are reached, as GitHub makes them."""
    found: set[str] = set()
    headings = re.findall(r"(?m)^#+ (.*)$", without_code(page.read_text(encoding="utf-8")))
    for heading in headings:
        plain = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number = sum(1 for other in found if re.fullmatch(rf"{re.escape(plain)}(-\d+)?", other))
        found.add(f"{plain}-{number}" if number else plain)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        if re.match(r"https?://", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_relative_to(PROJECT), f"{link} leads out of the project"
        assert target.exists(), f"{link}: there is no {target}"
        if anchor:
            assert anchor in anchors(target), f"{link}: {target} has no such heading"


def test_every_page_of_docs_is_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    coming = [PROJECT / "README.md"]
    while coming:
        page = coming.pop()
        if page in reached or page.suffix != ".md" or not page.exists():
            continue
        reached.add(page)
        coming += [
            (page.parent / link.partition("#")[0]).resolve()
            for link in links(page)
            if not re.match(r"https?://|#", link)
        ]
    assert set((PROJECT / "docs").rglob("*.md")) <= reached


def test_where_another_engine_is_better_is_said() -> None:
    """In the README, with the way to the page that says more."""
    engines = {"Temporal", "DBOS", "Restate"}
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    (said,) = (line for line in readme.split("\n\n") if "docs/when_not.md" in line)
    page = (PROJECT / "docs" / "when_not.md").read_text(encoding="utf-8")
    assert all(engine in said and f"**[{engine}](" in page for engine in engines)
