"""The loop that the three commands share: do something, or wait and look again."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from enum import Enum, auto

from .interrupt import Interrupt

POLL = timedelta(seconds=2)
"""How long to wait when nothing is ready; each time half as long to half as long again."""

_LONGEST = 60.0


class Step(Enum):
    """What became of one round."""

    NOTHING = auto()
    """There was nothing to do."""
    DONE = auto()
    """Something was done, whatever its result; there may be more."""
    PARTLY = auto()
    """Something could not be done, which is no reason to let the rest wait for longer."""
    TROUBLE = auto()
    """Something could not be done for a reason that will likely be there again at once."""


def poll(
    step: Callable[[], Step],
    *,
    once: bool,
    interrupt: Interrupt,
    idle: Callable[[], None],
    every: timedelta = POLL,
) -> Step:
    """Call *step* until *interrupt* is set, or once; return what the last round was.

    :param idle: is called when there is nothing to do: once for each time that this begins.
    :param every: how long to wait between two rounds with nothing to do.
    """
    is_idle = False
    troubles = 0
    last = Step.NOTHING
    while not interrupt:
        last = step()
        if last is Step.NOTHING and not is_idle:
            idle()
        is_idle = last is Step.NOTHING
        if once:
            break
        if last is Step.DONE:
            troubles = 0
            continue
        seconds = every.total_seconds()
        if last is Step.TROUBLE:
            troubles += 1
            seconds = min(_LONGEST, seconds * 2**troubles)
        # Many that wait for the same thing are not to look at the same moment.
        interrupt.wait(seconds * random.uniform(0.5, 1.5))  # noqa: S311 - not a secret
    return last
