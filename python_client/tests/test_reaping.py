"""A round over all classes."""

from __future__ import annotations

import psycopg
import pytest
import typer

from fencepost import cli
from fencepost.connection import Link
from fencepost.console import Console
from fencepost.interrupt import Interrupt
from fencepost.reaping import Reaping


class Told(Link):
    """A link to a server that names three classes."""

    def __init__(self) -> None:
        super().__init__(lambda: pytest.fail("there is no server"))

    def call(self, *_: object, **__: object) -> list[str]:  # type: ignore[override]
        return ["first", "broken", "last"]


def test_a_class_that_cannot_be_reaped_is_75_with_once_and_the_others_are_reaped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = []

    def reap(_: Reaping, name: str) -> bool:
        seen.append(name)
        if name == "broken":
            raise psycopg.DatabaseError("does not work")
        return True

    monkeypatch.setattr(Reaping, "_reap", reap)
    console = Console("reaper")
    with Interrupt() as interrupt:
        session = cli._Session(Told(), console, interrupt, None)
        reaping = Reaping(session.link, console=console, interrupt=interrupt)
        with pytest.raises(typer.Exit) as ended:
            cli._run(session, reaping.step, once=True, idle="nothing")
    assert ended.value.exit_code == 75
    assert seen == ["first", "broken", "last"]
    assert "does not work" in "".join(capsys.readouterr())
