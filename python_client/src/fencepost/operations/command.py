"""Effects that are programs. What an exit code means is for the caller to say."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from .records import Failed, Outcome, Unknown
from .runner import Context, Execute

KEY_VARIABLE: Final = "FENCEPOST_OPERATION_KEY"
"""Holds the operation's key, for a program that can pass it on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a program ended."""

    exit_code: int
    """Negative: the signal that ended it."""
    output: bytes
    errors: bytes


def command_effect(
    command: Sequence[str],
    classify: Callable[[Ended, Context], Outcome],
    *,
    environment: Mapping[str, str],
    folder: Path | None = None,
    standard_input: bytes = b"",
    time_limit: timedelta | None = None,
) -> Execute:
    """Return an effect that runs *command* without a shell.

    It is for :meth:`EffectRunner.run`, and for :meth:`EffectRunner.run_under` a campaign's lease:
    there *classify* says ``Completed`` only with what it read back.

    It finds the operation's key in ``FENCEPOST_OPERATION_KEY``. A program that could not be started
    has ``failed``; one that was stopped at its time limit is ``unknown``; whatever else it does,
    *classify* says what that means.

    :param environment: the program's whole environment otherwise; see
        :func:`fencepost.environment.scrubbed`.
    """

    def execute(context: Context) -> Outcome:
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env={**environment, KEY_VARIABLE: context.key},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return Failed(reason=f"could not be started: {error}")
        with process:
            try:
                output, errors = process.communicate(
                    standard_input, time_limit.total_seconds() if time_limit else None
                )
            except BaseException as error:
                # All that it started, and not the program alone.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise
                return Unknown(reason=f"stopped at its time limit, {time_limit}")
        return classify(Ended(exit_code=process.returncode, output=output, errors=errors), context)

    return execute
