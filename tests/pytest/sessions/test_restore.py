"""A dump of a ledger in use, restored into another database, is that ledger.

The triggers that keep every hand off the tables come after the rows, and fire from then on.
"""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.pytest.conftest import PROJECT
from tests.pytest.invariants import broken
from tests.pytest.sessions.life import LIFE, life

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pytest.conftest import Superuser
    from tests.pytest.sessions.conftest import Ledger

GUARDS = """
    select t.tgrelid::regclass::text, t.tgname, t.tgenabled, pg_get_triggerdef(t.oid)
    from pg_trigger as t
    join pg_class as c on c.oid = t.tgrelid
    where c.relnamespace = 'ledger'::regnamespace and not t.tgisinternal
    order by 1, 2
"""


def rows(database: str) -> str:
    """Return all rows of the ledger, as this major's own program writes them."""
    text = subprocess.run(
        ["pg_dump", "--data-only", "--schema=ledger", database],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return re.sub(r"(?m)^\\(?:un)?restrict .*\n", "", text)


def test_a_used_ledger_is_dumped_and_restored(
    ledger: Ledger, empty_database: str, superuser: Superuser, tmp_path: Path
) -> None:
    ledger.stop_clock()
    assert life(ledger) == LIFE
    archive = str(tmp_path / "archive")

    subprocess.run(["pg_dump", "-Fc", "-f", archive, ledger.database], check=True)
    subprocess.run(["pg_restore", "--exit-on-error", "-d", empty_database, archive], check=True)

    restored = superuser(empty_database)
    assert rows(empty_database) == rows(ledger.database)
    assert (
        restored.execute(GUARDS).fetchall() == superuser(ledger.database).execute(GUARDS).fetchall()
    )
    assert broken(restored, PROJECT) == []

    with ledger.person("admin").connect(empty_database) as admin:
        paused = admin.execute(
            "select outcome, duplicate from kernel.pause(p_class => %s)", (ledger.klass,)
        )
        assert paused.fetchall() == [("ok", False)]
    with pytest.raises(psycopg.DatabaseError, match="by hand is refused") as no:
        restored.execute("delete from ledger.authority")
    assert no.value.sqlstate == "KN901"
