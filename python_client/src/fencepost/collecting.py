"""What ``fencepost collector`` does: reads the server's log, and reports what was denied."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg

from . import server_log
from .collector import Collector
from .connection import Link, NotAdmitted
from .console import Console
from .errors import Misuse
from .interrupt import Interrupt
from .polling import Step
from .records import Receipt
from .server_log import Denial, Page, Position

_CLOSED = "set log_file_mode = 0640 and let this account be of the server's group"


class Collecting:
    """Rounds over all files of the log. One that cannot be read does not keep the others waiting.

    What is reported again is a duplicate, so that nothing depends on where reading begins: the
    positions only save the work. Without *state* they are kept in memory.

    :param link: the connection, as a collector.
    :param folder: where the server writes its log.
    :param state: the file in which the positions are kept.
    """

    def __init__(
        self,
        link: Link,
        *,
        folder: Path,
        state: Path | None,
        console: Console,
        interrupt: Interrupt,
        patience: timedelta | None = None,
    ) -> None:
        self._link = link
        self._folder = folder
        self._state = state
        self._console = console
        self._interrupt = interrupt
        self._patience = patience
        self._positions = self._kept()
        self._troubles: dict[str, str] = {}
        self._told: dict[str, str] = {}

    def step(self) -> Step:
        """Read on in every file, to its end.

        :return: ``PARTLY`` if a file could not be read, or the positions not be kept.
        :raises NotAdmitted: the principal is not a collector.
        :raises Forbidden: likewise, and it was one when this began.
        :raises ServerUnreachable: the server is gone and did not come back.
        """
        database = self._link.call(_database, patience=self._patience, unless=self._interrupt)
        last = Step.NOTHING
        self._troubles = {}
        try:
            files = server_log.files(self._folder)
        except OSError as error:
            files = []
            self._troubles[str(self._folder)] = _sentence(error)
        for path in files:
            if self._interrupt:
                break
            try:
                if self._read(path, database):
                    last = Step.DONE
            except FileNotFoundError:  # removed since
                continue
            except OSError as error:
                self._troubles[path.name] = _sentence(error)
        if files:
            names = {path.name for path in files}
            self._positions = {n: p for n, p in self._positions.items() if n in names}
        for subject, reason in self._troubles.items():
            if self._told.get(subject) != reason:
                self._console.event("error", subject, reason=reason)
        self._told = self._troubles
        return Step.PARTLY if self._troubles else last

    def _read(self, path: Path, database: str) -> bool:
        """Read one file to its end; return whether anything was recorded."""
        has_recorded = False
        position = self._positions.get(path.name, Position())
        for page in server_log.pages(path, position, database=database):
            has_recorded = self._report(path.name, page) or has_recorded
            self._positions[path.name] = page.position
            self._keep()
            if self._interrupt:
                break
        return has_recorded

    def _report(self, name: str, page: Page) -> bool:
        unreadable = list(page.unreadable)
        receipts: list[Receipt] = []
        if page.denials:
            try:
                receipts = self._call(page.denials)
            except Misuse:
                for denial in page.denials:
                    try:
                        receipts += self._call([denial])
                    except Misuse as error:
                        unreadable.append(str(error))
        counts = Counter(
            "duplicate" if receipt.duplicate else receipt.note or "recorded" for receipt in receipts
        )
        has_recorded = bool(counts["recorded"] or counts["suppressed"])
        if has_recorded:
            self._console.event(
                "recorded",
                name,
                denials=counts["recorded"],
                suppressed=counts["suppressed"] or None,
            )
        if unreadable:
            self._console.event("unreadable", name, lines=len(unreadable), reason=unreadable[0])
        return has_recorded

    def _call(self, denials: Sequence[Denial]) -> list[Receipt]:
        return self._link.call(
            lambda connection: Collector(connection).report_denials(denials),
            patience=self._patience,
            unless=self._interrupt,
        )

    # The positions

    def _kept(self) -> dict[str, Position]:
        if self._state is None:
            return {}
        try:
            kept = json.loads(self._state.read_text(encoding="utf-8"))
            return {str(name): Position(**position) for name, position in kept.items()}
        except FileNotFoundError:
            return {}
        except (ValueError, TypeError, AttributeError):
            reason = "it holds no positions: all of the log is read again"
            self._console.event("error", str(self._state), reason=reason)
            return {}

    def _keep(self) -> None:
        """Write the positions to a file that takes the old one's place when it is whole."""
        if self._state is None:
            return
        kept = json.dumps({name: asdict(position) for name, position in self._positions.items()})
        new = self._state.with_name(f"{self._state.name}.{os.getpid()}")
        try:
            new.write_text(kept, encoding="utf-8")
            new.replace(self._state)
        except OSError as error:
            self._troubles[str(self._state)] = error.strerror or str(error)


def _sentence(error: OSError) -> str:
    if isinstance(error, PermissionError):
        return f"{error.strerror}: {_CLOSED}"
    return error.strerror or str(error)


def _database(connection: psycopg.Connection[Any]) -> str:
    collector = Collector(connection)
    if not collector.is_collector():
        raise NotAdmitted("the principal may not call kernel.report_denial")
    return collector.database()
