"""Every attack, on a kernel that was written the usual way and on the deployed one.

An attack that cannot win anywhere proves nothing: it must succeed on the naive kernel, unless
PostgreSQL itself refuses it, which its entry says. On the deployed kernel it must fail, or is a
residual: then what bounds it is looked at.
"""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.pytest.attacks.attack import ATTACKS, Attack
from tests.pytest.attacks.page import page
from tests.pytest.conftest import PROJECT
from tests.pytest.invariants import broken

if TYPE_CHECKING:
    from tests.pytest.attacks.conftest import MakeScene
    from tests.pytest.attacks.kernels import Kernel
    from tests.pytest.attacks.scene import Scene
    from tests.pytest.conftest import Connection


def _ids(attack: Attack) -> str:
    return attack.name.replace("_", "-")


@pytest.mark.parametrize("attack", ATTACKS, ids=_ids)
def test_on_the_naive_kernel(attack: Attack, scene_of: MakeScene) -> None:
    with scene_of("naive") as scene:
        succeeded = attack.steps(scene)
    major = int(os.environ["FENCEPOST_MAJOR"])
    assert succeeded == attack.succeeds_on_naive(major), attack.does


@pytest.mark.parametrize("attack", ATTACKS, ids=_ids)
def test_on_the_deployed_kernel(attack: Attack, scene_of: MakeScene) -> None:
    with scene_of("deployed") as scene:
        succeeded = attack.steps(scene)
        scene.leave()
        assert succeeded == (attack.residual is not None), attack.defends
        _is_unharmed(scene)
        if attack.residual is not None:
            # Its session gone, whoever does as he should goes on as if nothing had been.
            assert scene.can_work(1)


def _is_unharmed(scene: Scene) -> None:
    """Whatever was attacked, the ledger is whole: every invariant of it holds."""
    with closing(psycopg.connect(dbname=scene.database, autocommit=True)) as god:
        assert broken(god, PROJECT) == []


MEASURED = [attack for attack in ATTACKS if attack.residual is not None and attack.residual.measure]


@pytest.mark.parametrize("attack", MEASURED, ids=_ids)
def test_a_superusers_measure_closes_it(
    attack: Attack, scene_of: MakeScene, deployed: tuple[Kernel, str], maintenance: Connection
) -> None:
    """What docs/security.md says that a superuser does about it, done; and the kernel works on."""
    assert attack.residual is not None
    roles = {duty: name for (duty, number), name in deployed[0].cast.items() if number == 0}
    measure, undo = attack.residual.measure, attack.residual.undo
    for duty, name in roles.items():
        measure, undo = (text.replace(f"{{{duty}}}", name) for text in (measure, undo))
    try:
        with scene_of("deployed", changed=measure) as scene:
            assert not attack.steps(scene)
            scene.leave()
            assert scene.can_work(1)
    finally:
        if undo:
            maintenance.execute(undo.encode())


CLOSED = [attack for attack in ATTACKS if attack.residual is not None and attack.residual.is_closed]


@pytest.mark.parametrize("attack", CLOSED, ids=_ids)
def test_what_a_superuser_deploys_closes_it(attack: Attack, scene_of: MakeScene) -> None:
    with scene_of("hardened") as scene:
        assert not attack.steps(scene)
        scene.leave()
        assert scene.can_work(1)
        _is_unharmed(scene)


def test_every_residual_is_among_the_limits() -> None:
    limits = (PROJECT / "docs" / "limits.md").read_text(encoding="utf-8")
    headings = {line.removeprefix("## ") for line in limits.splitlines() if line.startswith("## ")}
    assert {attack.residual.limit for attack in ATTACKS if attack.residual} <= headings


def test_the_page_lists_what_was_tried() -> None:
    checked_in = (PROJECT / "docs" / "security.md").read_text(encoding="utf-8")
    assert checked_in == page(), "run `make docs`"


def test_no_two_attacks_have_one_name() -> None:
    names = [attack.name for attack in ATTACKS]
    assert sorted(names) == sorted(set(names))
