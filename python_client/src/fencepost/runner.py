"""Runs a command to its end: on time, cut off from this process, and with everything it started."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO

from . import supervisor, text
from .confinement import Confinement
from .interrupt import Interrupt
from .limits import Watch

GRACE = timedelta(seconds=10)
"""Between TERM and KILL."""

TAIL_BYTES = 65536
"""How much of the end of the output a :class:`Run` keeps."""

OUTPUT_BYTES = 64 * 1024 * 1024
"""How much of the output goes to a file at most."""

MARGIN = timedelta(seconds=10)
"""What a supervisor has beyond the grace to end everything, before it is ended itself."""

_TICK = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What became of a command."""

    exit_code: int | None
    """Its exit code; negative: the signal that ended it; ``None``: see ``error``."""
    tail: bytes
    """The end of its output, standard output and error together."""
    seconds: float
    timed_out: bool = False
    exceeded: str | None = None
    """Which limit it did not keep, if it was ended for that."""
    stopped: str | None = None
    """Why it was stopped from outside, if it was."""
    error: str | None = None
    """Why it could not be started, or why its end is not known."""
    errno: int | None = None
    """The operating system's number for that; ``None`` if it had been started."""

    @property
    def is_success(self) -> bool:
        """Whether it ran to its end and ended with 0."""
        return (
            self.exit_code == 0
            and not self.timed_out
            and self.exceeded is None
            and self.stopped is None
        )

    def __str__(self) -> str:
        if self.error is not None:
            return self.error if self.errno is None else f"could not be started: {self.error}"
        if self.stopped is not None:
            return f"stopped: {self.stopped}"
        if self.exceeded is not None:
            return f"stopped: {self.exceeded}"
        if self.timed_out:
            return f"stopped at its time limit, after {self.seconds:.0f} s"
        if self.exit_code is not None and self.exit_code < 0:
            with contextlib.suppress(ValueError):
                return f"ended by {signal.Signals(-self.exit_code).name}"
            return f"ended by signal {-self.exit_code}"
        return f"exit code {self.exit_code}"


def run(
    command: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    time_limit: timedelta | None,
    interrupt: Interrupt,
    check: Callable[[], None] = lambda: None,
    grace: timedelta = GRACE,
    output: BinaryIO | None = None,
    discard: Path | None = None,
    confinement: Confinement | None = None,
    writable: Sequence[Path] = (),
    readable: Sequence[Path] = (),
) -> Run:
    """Run *command* in *folder*, without a shell, and return when nothing of it is left.

    It has its own session and process group, an empty standard input, and no descriptor of this
    process. It ends with this process, also when that is killed. When the time limit passes or
    *interrupt* is set, everything it started gets TERM, and KILL after *grace*. What it leaves
    behind at its own end is ended likewise, after a second. A command that keeps its supervisor
    from that gets KILL ``MARGIN`` later.

    Call it from a thread that lives as long as the command.

    :param environment: the command's whole environment; see :func:`fencepost.environment.scrubbed`.
    :param check: called four times a second; may set *interrupt*.
    :param output: where the output goes as well, at most ``OUTPUT_BYTES`` of it.
    :param discard: a folder that is removed if this process dies meanwhile.
    :param confinement: what else it is kept from.
    :param writable: beside *folder*, what a confined command may change.
    :param readable: what it may read.
    :raises OSError: the disk is nearly full, and the limits do not allow that; or the keyring of
        the session cannot be kept from the command.
    """
    confinement = confinement or Confinement()
    environment = confinement.environment(environment)
    command = confinement.command(
        command,
        folder=folder,
        environment=environment,
        writable=[folder, *writable],
        readable=readable,
    )
    watch = Watch(confinement.limits, folder)
    bounds = confinement.bounds()
    with _Supervised(command, folder, environment, discard, bounds) as supervised:
        return supervised.wait(time_limit, interrupt, check, grace, output, watch)


class _Supervised:
    """A command under its supervisor, seen from this side of the pipes."""

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        discard: Path | None,
        bounds: supervisor.Bounds,
    ) -> None:
        self._begun = time.monotonic()
        control, self._control = os.pipe2(os.O_CLOEXEC)
        self._report, report = os.pipe2(os.O_CLOEXEC)
        self._output, output = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._output, False)
        try:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-I",
                    "-S",
                    supervisor.__file__,
                    str(control),
                    str(report),
                    str(os.getpid()),
                    str(folder),
                    str(discard or ""),
                    bounds.dumped(),
                    *command,
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd="/",
                env=dict(environment),
                pass_fds=(control, report),
                start_new_session=True,
            )
        except BaseException:
            for descriptor in (self._control, self._report, self._output):
                os.close(descriptor)
            raise
        finally:
            for descriptor in (control, report, output):
                os.close(descriptor)
        self._facts: dict[str, object] = {}
        self._pending = b""
        self._tail = bytearray()
        self._written = 0

    def __enter__(self) -> _Supervised:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._control)  # whatever happened here: its end makes the supervisor end all
        os.close(self._output)  # and what still writes cannot block on that
        self._wake()
        try:
            self._process.wait((timedelta(seconds=supervisor.LINGER) + MARGIN).total_seconds())
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._end_what_is_left()
        os.close(self._report)

    def wait(  # noqa: PLR0917 - what `run` was given
        self,
        time_limit: timedelta | None,
        interrupt: Interrupt,
        check: Callable[[], None],
        grace: timedelta,
        output: BinaryIO | None,
        watch: Watch,
    ) -> Run:
        """Read what comes until both pipes are at their end, stopping the command if need be."""
        deadline = None if time_limit is None else self._begun + time_limit.total_seconds()
        timed_out, exceeded, stopped = False, None, None
        patience_ends = float("inf")
        with selectors.DefaultSelector() as selector:
            selector.register(self._output, selectors.EVENT_READ)
            selector.register(self._report, selectors.EVENT_READ)
            selector.register(interrupt, selectors.EVENT_READ)
            while True:
                asked = timed_out or exceeded is not None or stopped is not None
                ready = {key.fd for key, _ in selector.select(_TICK)}
                if self._output in ready and not self._read_output(output):
                    selector.unregister(self._output)
                if self._report in ready and not self._read_report():
                    break
                check()
                if asked:
                    self._wake()
                    if time.monotonic() >= patience_ends:
                        self._process.kill()
                if asked or "status" in self._facts:
                    continue
                exceeded = watch.exceeded(self._process.pid)
                if exceeded is not None:
                    grace = timedelta(0)
                elif interrupt:
                    stopped = interrupt.reason
                elif deadline is not None and time.monotonic() >= deadline:
                    timed_out = True
                else:
                    continue
                selector.unregister(interrupt)
                patience_ends = time.monotonic() + (grace + MARGIN).total_seconds()
                with contextlib.suppress(BrokenPipeError):
                    os.write(self._control, f"{grace.total_seconds()}\n".encode())
        if supervisor.UNFIT in self._facts:
            raise OSError(self._facts[supervisor.UNFIT])
        if not {"status", supervisor.EXEC_FAILED} & self._facts.keys():
            self._end_what_is_left()
            if not timed_out and exceeded is None and stopped is None:
                self._facts["message"] = "its supervisor was killed"
        with contextlib.suppress(BlockingIOError):
            while self._read_output(output):  # what was written before the end
                pass
        return self._result(timed_out=timed_out, exceeded=exceeded, stopped=stopped)

    def _result(self, *, timed_out: bool, exceeded: str | None, stopped: str | None) -> Run:
        status = self._facts.get("status")
        number = self._facts.get(supervisor.EXEC_FAILED)
        message = self._facts.get("message")
        if not message and number is not None:  # bubblewrap said it, as the last thing
            message = text.harmless(bytes(self._tail)).strip().rpartition("\n")[2]
        return Run(
            exit_code=status if isinstance(status, int) else None,
            tail=bytes(self._tail),
            seconds=time.monotonic() - self._begun,
            timed_out=timed_out,
            exceeded=exceeded,
            stopped=stopped,
            error=None if message is None else str(message),
            errno=number if isinstance(number, int) else None,
        )

    def _read_output(self, output: BinaryIO | None) -> bool:
        """Take some output; return whether more may come."""
        chunk = os.read(self._output, 65536)
        if not chunk:
            return False
        self._tail += chunk
        del self._tail[:-TAIL_BYTES]
        if output is not None and self._written < OUTPUT_BYTES:
            chunk = chunk[: OUTPUT_BYTES - self._written]
            self._written += len(chunk)
            output.write(chunk)
            if self._written == OUTPUT_BYTES:
                output.write(f"\n[the rest is left out: more than {OUTPUT_BYTES} bytes]\n".encode())
        return True

    def _read_report(self) -> bool:
        """Take what the supervisor says; return whether it may say more."""
        chunk = os.read(self._report, 65536)
        *lines, self._pending = (self._pending + chunk).split(b"\n")
        for line in lines:
            self._facts |= json.loads(line)
        return bool(chunk)

    def _wake(self) -> None:
        """Let the supervisor go on: the command has the same account and may have stopped it."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGCONT)

    def _end_what_is_left(self) -> None:
        """End what the command left when its supervisor was killed.

        The command itself got SIGKILL from the operating system. Its group is known; what left the
        group has become a child of this process, if :func:`supervisor.adopt_orphans` was called.
        """
        self._process.wait()
        group = self._facts.get("started")
        if isinstance(group, int):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)
        if supervisor.adopts_orphans():
            end_orphans()


def end_orphans() -> None:
    """Kill every descendant of this process. For a process that has no other children."""
    supervisor.kill_all(_collect)


def _collect() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
