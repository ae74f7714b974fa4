"""An error of the ledger's is neither "nothing to do" nor "done", whichever call it meets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from psycopg import sql

if TYPE_CHECKING:
    from tests.pytest.client.conftest import World
    from tests.pytest.conftest import Superuser


@pytest.mark.parametrize("function", ["claim", "brief", "submit"])
def test_a_worker_that_meets_an_error_says_so_and_hands_in_nothing(
    world: World, superuser: Superuser, function: str
) -> None:
    world.open_campaign()
    revoke = sql.SQL("revoke execute on function kernel.{} from fencepost_worker")
    superuser(world.database).execute(revoke.format(sql.Identifier(function)))
    run = world.start("worker", "--once", "--", "sh", "-c", "echo right > answer")
    run.popen.wait(timeout=30)
    assert run.popen.returncode != 0, run.output()
    assert "no campaign of class" not in run.output()
    assert world.campaign()["state"] in {"ready", "leased"}
    assert "submit" not in world.transitions()
