"""The loop that the three commands share: do something, or wait and look again."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from enum import Enum, auto

from . import clock
from .doorbell import Doorbell
from .interrupt import Interrupt

POLL = timedelta(seconds=2)
"""How long to wait when nothing is ready; each time half as long to half as long again."""

_LONGEST = 60.0
_HURRY = 16
_SPREAD = 0.1


class Step(Enum):
    """What became of one round."""

    NOTHING = auto()
    """There was nothing to do."""
    MISSED = auto()
    """Something is due, but another had it, or had just locked it: it may soon be there again."""
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
    bell: Doorbell | None = None,
    due_in: Callable[[], float | None] = lambda: None,
) -> Step:
    """Call *step* until *interrupt* is set, or once; return what the last round was.

    :param idle: is called when there is nothing to do: once for each time that this begins.
    :param every: how long to wait between two rounds with nothing to do.
    :param bell: ends that wait. A ring never makes it longer, and many false ones make the rounds
        no more frequent than that.
    :param due_in: says, after a round with nothing to do, in how many seconds there will be.
    """
    longest = every.total_seconds()
    is_idle = False
    troubles = misses = rings = 0
    last = Step.NOTHING
    while not interrupt:
        if bell is not None:
            bell.clear()
        last = step()
        finds_nothing = last in {Step.NOTHING, Step.MISSED}
        if finds_nothing and not is_idle:
            idle()
        is_idle = finds_nothing
        if once:
            break
        misses = misses + 1 if last is Step.MISSED else 0
        troubles = troubles + 1 if last is Step.TROUBLE else 0
        if last is Step.DONE:
            rings = 0
            continue
        # Many that wait for the same thing are not to look at the same moment.
        if last is Step.TROUBLE:
            interrupt.wait(_jittered(min(_LONGEST, longest * 2**troubles)))
            continue
        seconds = _jittered(longest)
        if last is Step.MISSED:
            seconds = min(seconds, _jittered(longest / _HURRY * 2 ** min(misses, _HURRY)))
        elif (due := due_in()) is not None:
            seconds = min(seconds, max(0.0, due) + _some(_SPREAD))
        if bell is None:
            interrupt.wait(seconds)
            continue
        until = clock.now() + seconds
        if bell.wait(seconds, interrupt):
            rings = min(rings + 1, _HURRY)
            interrupt.wait(min(until - clock.now(), _some(min(longest, _SPREAD * 2**rings))))
        else:
            rings = 0
    return last


def _jittered(seconds: float) -> float:
    return seconds * random.uniform(0.5, 1.5)  # noqa: S311 - not a secret


def _some(seconds: float) -> float:
    """Return a part of *seconds*, each time another."""
    return random.uniform(0.0, seconds)  # noqa: S311 - not a secret
