"""Whatever is altered of a deployed object, the verify script of its change finds it.

The alterations are made from the catalogue of the deployed database (alterations.sql), so that a
new object is covered as soon as it is deployed. Each is applied in a transaction of one long psql
session, the verify script of the change that made the object runs in it as the deployer, and its
own `rollback` undoes both.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pytest.conftest import Connection, Superuser

PROJECT = Path(__file__).resolve().parents[3]
CHANGE = re.compile(r"(?m)^([a-z0-9_]+/[a-z0-9_]+) ")


@dataclass(frozen=True)
class Alteration:
    """One thing altered, and the change whose verify script has to find it."""

    statement: str
    change: str


def test_an_unaltered_database_is_verified(database: str) -> None:
    found = complaints(database, [Alteration("select", change) for change in plan()])

    assert {change: lines for change, lines in zip(plan(), found, strict=True) if lines} == {}


@pytest.mark.timeout(1200)  # some 6,000 alterations, at 7 ms each on a machine that is idle
def test_every_alteration_is_found(
    database: str, superuser: Superuser, capsys: pytest.CaptureFixture[str]
) -> None:
    altered = alterations(superuser(database))
    # After each change's alterations none, so that a complaint cannot come from the one before.
    controls = [Alteration("select", change) for change in sorted({a.change for a in altered})]
    tried = sorted([*altered, *controls], key=lambda each: (each.change, each in controls))

    found = dict(zip(tried, complaints(database, tried), strict=True))

    missed = [each for each in altered if not found[each]]
    with capsys.disabled():
        print(f"\ndrift: {len(altered) - len(missed)} of {len(altered)} alterations found")
    assert missed == []
    assert [each for each in controls if found[each]] == []
    assert [each.change for each in controls] == sorted(plan())


def plan(folder: Path = PROJECT) -> list[str]:
    """Return the changes of a plan, in order; one that was reworked is there once."""
    return [*dict.fromkeys(CHANGE.findall((folder / "sqitch.plan").read_text()))]


def alterations(connection: Connection) -> list[Alteration]:
    """Return every alteration that the catalogue of *connection*'s database suggests."""
    connection.execute("set search_path = pg_catalog, pg_temp")
    made_by = dict(makers())
    suggested = connection.execute(Path(__file__).with_name("alterations.sql").read_bytes())
    return [Alteration(statement, made_by[key.replace('"', "")]) for key, statement in suggested]


def makers() -> Iterator[tuple[str, str]]:
    """Yield, for the key of each kind of object, the change whose deploy script makes it."""
    yield "role", "foundation/roles"
    kinds = {"table": "r", "view": "v", "type": "type", "function": "function"}
    scripts = {change: (PROJECT / "deploy" / f"{change}.sql").read_text() for change in plan()}
    for change, script in scripts.items():
        for schema in re.findall(r"(?m)^create schema (\w+)", script):
            yield f"schema {schema}", change
        for kind, name in re.findall(
            r"(?m)^create (?:or replace )?(function|table|view|type) ([\w.]+)", script
        ):
            yield f"{kinds[kind]} {name}", change
            if kind == "table":
                yield f"S {name}", change
                yield f"triggers {name}", change
    for change, script in scripts.items():
        for table in re.findall(r"(?m)^create trigger \w+\n.* on ([\w.]+)$", script):
            yield f"triggers {table}", change


def complaints(
    database: str, altered: list[Alteration], *, folder: Path = PROJECT, verifier: str = "deployer"
) -> list[list[str]]:
    """Apply each alteration for itself, verify, and return what the script complained of."""
    script = ["\\set VERBOSITY terse", "set client_min_messages = error;"]
    for number, alteration in enumerate(altered):
        script += [
            "begin;",
            f"{alteration.statement};",
            f"\\warn altered {number}",
            f"set local session authorization {verifier};",
            f"\\i {folder}/verify/{alteration.change}.sql",
            f"\\warn verified {number}",
        ]
    shown = subprocess.run(
        ["psql", "-X", "-q", "-d", database],
        input="\n".join(script),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=True,
        env=os.environ | {"PGOPTIONS": "-c lock_timeout=10s"},
    ).stderr

    found: list[list[str]] = []
    before: list[str] = []
    for line in shown.splitlines():
        match line.split():
            case ["altered", index]:
                if before:
                    pytest.fail(f"{altered[int(index)].statement}: {before}", pytrace=False)
            case ["verified", _]:
                found.append(before)
                before = []
            case _:
                before.append(line)
    assert len(found) == len(altered)
    return found
