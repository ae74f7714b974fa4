"""Every control that docs/security.md names is needed: without it, an attack gets through."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.pytest.attacks.ablation import CONTROLS, Control
from tests.pytest.attacks.attack import ATTACKS
from tests.pytest.attacks.page import FAMILIES

if TYPE_CHECKING:
    from tests.pytest.attacks.conftest import MakeScene
    from tests.pytest.attacks.kernels import Kernel
    from tests.pytest.conftest import Connection

assert FAMILIES  # every attack is known once the page's modules are
STEPS = {attack.name: attack.steps for attack in ATTACKS}


def _slug(control: Control) -> str:
    return re.sub(r"[^a-z]+", "-", control.what.split("(")[0].lower()).strip("-")


CASES = [
    pytest.param(control, (name, expected), id=f"{_slug(control)}-{name}")
    for control in CONTROLS
    for names, expected in ((control.reopens, True), (control.holds, False))
    for name in names
]


@pytest.mark.parametrize(("control", "case"), CASES)
def test_without_it(
    control: Control,
    case: tuple[str, bool],
    scene_of: MakeScene,
    deployed: tuple[Kernel, str],
    maintenance: Connection,
) -> None:
    name, expected = case
    worker = deployed[0].cast["worker", 0]
    try:
        with scene_of("deployed", changed=control.without.replace("{worker}", worker)) as scene:
            assert STEPS[name](scene) == expected
    finally:
        if control.undo:
            maintenance.execute(control.undo.replace("{worker}", worker).encode())
