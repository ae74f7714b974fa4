"""What an attack is, and the list of them all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.pytest.attacks.scene import Scene

    Steps = Callable[[Scene], bool]


class Residual(NamedTuple):
    """What PostgreSQL alone does not stop: where that is written down, and what bounds it."""

    limit: str
    """A heading of docs/limits.md."""
    bound: str
    """Sentences: why it is harmless, and what ends it."""
    is_closed: bool = False
    """What a superuser may deploy over the kernel, superuser/, closes it."""
    measure: str = ""
    """What a superuser runs to close it; ``{worker}`` stands for the role of that duty."""
    undo: str = ""
    """What takes the measure back, where it concerns more than the one database."""


@dataclass(frozen=True)
class Attack:
    """Steps over connections of named duties, and whether they had the effect that they are for."""

    family: str
    name: str
    does: str
    """What the attacker does."""
    defends: str
    """The sentence that is false where the attack succeeds."""
    steps: Steps
    naive: Mapping[int, str]
    """Why it fails even on the naive kernel, on which majors."""
    residual: Residual | None
    """It succeeds on the deployed kernel, too."""

    def succeeds_on_naive(self, major: int) -> bool:
        """Return whether it must succeed on the naive kernel."""
        return major not in self.naive

    def __str__(self) -> str:
        return self.name


ATTACKS: list[Attack] = []
MAJORS = (15, 18)


def core(reason: str) -> dict[int, str]:
    """Return that PostgreSQL itself refuses it, on every major: a test that it still does."""
    return dict.fromkeys(MAJORS, reason)


def attack(
    does: str,
    defends: str,
    *,
    naive: Mapping[int, str] | None = None,
    residual: Residual | None = None,
) -> Callable[[Steps], Steps]:
    """Enter a function in the list, under its own name and that of its module."""

    def enter(steps: Steps) -> Steps:
        ATTACKS.append(
            Attack(
                family=steps.__module__.rsplit(".", 1)[-1],
                name=steps.__name__,
                does=does,
                defends=defends,
                steps=steps,
                naive=naive or {},
                residual=residual,
            )
        )
        return steps

    return enter
