"""The clock by which this machine judges how much of a lease is left."""

from __future__ import annotations

import time


def now() -> float:
    """Return seconds of a clock that never jumps, and that runs while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
