"""The small process between a worker and its command, which sees to it that nothing outlives them.

It is started as a program of its own, by path (``python -I -S supervisor.py …``), and uses the
standard library only. It becomes the parent of whatever the command leaves behind, also of what
moved to another group or session, so that no descendant escapes it. It ends them all when

* the worker asks for it, by a line on the control pipe;
* the worker dies, however it dies: then the control pipe is at its end;
* the command itself ends.

And the command dies with it: the kernel sends SIGKILL to the command when its supervisor is gone.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import resource
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37

_KEYCTL_GET_KEYRING_ID = 0
_KEYCTL_JOIN_SESSION_KEYRING = 1
_SESSION_KEYRING = -3

_KEY_CALLS = {
    # By machine, its own calls first, then what it runs of another: the architecture as seccomp
    # names it, and the numbers of add_key, request_key and keyctl.
    "x86_64": ((0xC000003E, (248, 249, 250)), (0x40000003, (286, 287, 288))),
    "aarch64": ((0xC00000B7, (217, 218, 219)), (0x40000028, (309, 310, 311))),
    "ppc64le": ((0xC0000015, (269, 270, 271)),),
    "riscv64": ((0xC00000F3, (217, 218, 219)),),
    "s390x": ((0x80000016, (278, 279, 280)),),
}

LINGER = 1.0
"""Seconds between TERM and KILL for what is left when nobody waits for it any more."""

EXEC_FAILED = "cannot start"
UNFIT = "unfit"

# Who stops a service signals all its processes; the worker, not this one, decides what follows.
_IGNORED = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE, signal.SIGQUIT)


def _prctl(option: int, value: int) -> None:
    """Call prctl(2), which only Linux has."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def hide_memory() -> None:
    """Keep other processes of the account out of this one's memory and environment; no core."""
    _prctl(_PR_SET_DUMPABLE, 0)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def adopts_orphans() -> bool:
    """Return whether :func:`adopt_orphans` is in force."""
    answer = ctypes.c_int(0)
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(answer), 0, 0, 0) == 0 and bool(
        answer.value
    )


def die_with_parent(number: int = signal.SIGKILL) -> None:
    """Ask the kernel for signal *number* when the thread that started this process ends."""
    _prctl(_PR_SET_PDEATHSIG, number)


def _key_calls() -> tuple[tuple[int, tuple[int, int, int]], ...]:
    machine = os.uname().machine
    if machine not in _KEY_CALLS or sys.maxsize < 1 << 32:
        message = f"this client does not know how a program on {machine} calls keyctl(2)"
        raise OSError(errno.ENOSYS, message)
    return _KEY_CALLS[machine]


def leave_session_keyring() -> None:
    """Begin with an empty keyring, for this process and those it starts.

    What the account put into that of its session stays out of their reach. Where the kernel has no
    keyrings, or a filter forbids every call of them, it forbids the descendants' as well.

    :raises OSError: it cannot be left.
    """
    number = _key_calls()[0][1][2]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(ctypes.c_long(number), _KEYCTL_JOIN_SESSION_KEYRING, None) != -1:
        return
    refused = ctypes.get_errno()
    nowhere = {errno.ENOSYS, errno.EPERM}
    if refused in nowhere:
        found = libc.syscall(ctypes.c_long(number), _KEYCTL_GET_KEYRING_ID, _SESSION_KEYRING, 0)
        if found == -1 and ctypes.get_errno() in nowhere:
            return
    message = f"the keyring of the session cannot be left: {os.strerror(refused)}"
    raise OSError(refused, message)


def without_keyrings() -> bytes:
    """Return the filter of system calls under which no keyring is there: a program for seccomp.

    The account's own keyrings are not its session's, and every process of it has them.
    """
    load, is_equal, mask, give = 0x20, 0x15, 0x54, 0x06
    allowed, refused = 0x7FFF0000, 0x00050000 | errno.EPERM
    words = [(load, 0, 0, 4)]  # the architecture
    for architecture, numbers in _key_calls():
        words += [(is_equal, 0, 7, architecture), (load, 0, 0, 0), (mask, 0, 0, ~(1 << 30))]  # x32
        words += [(is_equal, 3 - place, 0, number) for place, number in enumerate(numbers)]
        words += [(give, 0, 0, allowed), (give, 0, 0, refused)]
    words.append((give, 0, 0, refused))
    return b"".join(
        struct.pack("=HBBI", code, then, otherwise, value & 0xFFFFFFFF)
        for code, then, otherwise, value in words
    )


def read_end(content: bytes) -> int:
    """Return the end of a pipe that gives *content*, which is short."""
    reading, writing = os.pipe2(os.O_CLOEXEC)
    os.write(writing, content)
    os.close(writing)
    return reading


def descendants(ancestor: int) -> list[int]:
    """Return the process ids below *ancestor*, living ones only, children before grandchildren."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):  # noqa: PTH208 - a thousand Path objects for nothing
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            content = Path("/proc", entry, "stat").read_bytes()
            state, parent = content.rpartition(b")")[2].split()[:2]
            if state not in {b"Z", b"X"}:
                children.setdefault(int(parent), []).append(int(entry))
            # A zombie has no children: they were given to another parent when it ended.
    found: list[int] = []
    seen = [ancestor]
    while seen:
        below = children.get(seen.pop(), [])
        found += below
        seen += below
    return found


def _children() -> list[int]:
    """Return the process ids of this process's own children, quicker than :func:`descendants`."""
    with contextlib.suppress(OSError):
        listed = Path(f"/proc/self/task/{os.getpid()}/children").read_bytes()
        return [int(process) for process in listed.split()]
    return descendants(os.getpid())  # a kernel built without that file


def is_alone(reap: Callable[[], None]) -> bool:
    """Return whether nothing is left below this process, which adopts orphans.

    A look at /proc can miss who forks and ends meanwhile. But then its child became one of this
    process's own, so that there is nothing left only where there is no child.

    :param reap: collects the children that ended.
    """
    reap()
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return True
    return False


def kill_all(reap: Callable[[], None]) -> None:
    """KILL whatever is below this process, which adopts orphans, until nothing is left."""
    while not is_alone(reap):
        send(signal.SIGKILL, descendants(os.getpid()))
        # A chain in which each link forks and ends is quicker than a look at all of /proc. Its
        # present link is a child of this process, and a look at those is quick.
        until = time.monotonic() + 0.1
        sent: list[int] = []
        while time.monotonic() < until and not is_alone(reap):
            left = _children()
            send(signal.SIGKILL, left)
            if left == sent:  # no chain: what got its signal takes its time to end
                time.sleep(0.005)
            sent = left


def send(number: int, processes: list[int]) -> None:
    """Send a signal to each process that is still there."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, number)


@dataclass(frozen=True)
class Bounds:
    """What a supervisor sees to before the command begins, and when it ends."""

    user: int | None = None
    """Who the command runs as, with no group but *group*."""
    group: int | None = None
    limits: list[tuple[int, int]] = field(default_factory=list)
    """Limits of the operating system for each process: resource and value."""
    is_wrapped: bool = False
    """Whether what is started is bubblewrap, and the command inside it."""

    def dumped(self) -> str:
        """Return them as one word of a command line."""
        return json.dumps(asdict(self))

    @classmethod
    def loaded(cls, word: str) -> Bounds:
        """Read what :meth:`dumped` wrote."""
        return cls(**json.loads(word))


class Supervisor:
    """Runs one command to its end, and everything that came of it."""

    def __init__(self, control: int, report: int, bounds: Bounds) -> None:
        self._control: int | None = control
        self._report = report
        self._bounds = bounds
        self._was_asked = False
        self._command = 0
        self._status: int | None = None
        self._killed = False
        self._wake_read, self._wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def run(self, folder: str, argv: list[str]) -> None:
        """Start the command and stay until nothing of it is left; tell the worker on the way."""
        try:
            leave_session_keyring()
        except OSError as error:
            self._tell({UNFIT: error.strerror})
            return
        signal.set_wakeup_fd(self._wake_write)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        said, saying = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        bounds = self._bounds
        passed = [saying]
        if bounds.is_wrapped:
            passed.append(read_end(without_keyrings()))
            argv = [
                argv[0],
                "--json-status-fd",
                str(saying),
                "--seccomp",
                str(passed[1]),
                *argv[1:],
            ]
        try:
            # `setsid` gives it a session and group of its own, out of reach of the terminal.
            process = subprocess.Popen(
                argv,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                user=bounds.user,
                group=bounds.group,
                extra_groups=None if bounds.user is None else [],
                pass_fds=passed if bounds.is_wrapped else (),
                preexec_fn=_in_command(os.getpid(), bounds),  # noqa: PLW1509 - one thread only
            )
        except OSError as error:
            self._tell({EXEC_FAILED: error.errno or 0, "message": str(error)})
            return
        finally:
            for descriptor in passed:
                os.close(descriptor)
        self._command = process.pid
        process.returncode = 0  # this class waits for it, not `subprocess`
        self._tell({"started": process.pid})
        grace = self._until_ended_or_asked()
        if self._status is None:
            self._end_all(grace)
        else:
            self._end_all(LINGER)
        if bounds.is_wrapped and not self._has_begun(said):
            self._tell({EXEC_FAILED: errno.ENOEXEC, "message": ""})
        else:
            self._tell({"status": self._status, "killed": self._killed})

    def _has_begun(self, said: int) -> bool:
        """Return whether bubblewrap came as far as to run the command.

        It says the command's exit code, unless it was ended itself.
        """
        content = b""
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(said, 4096):
                content += chunk
        return self._was_asked or (self._status or 0) < 0 or b'"exit-code"' in content

    @property
    def is_orphan(self) -> bool:
        """Whether the worker is gone."""
        return self._control is None

    def _until_ended_or_asked(self) -> float:
        """Wait until the command ended or is to be ended; return the grace to give it."""
        while self._status is None:
            watched = [self._wake_read] + ([] if self._control is None else [self._control])
            ready = select.select(watched, [], [], None)[0]
            self._reap()
            if self._control in ready:
                self._was_asked = True
                return self._asked()
        return LINGER

    def _asked(self) -> float:
        """Read the control pipe: a line with a number of seconds, or its end."""
        assert self._control is not None  # noqa: S101 - for the type checker
        line = os.read(self._control, 64)
        if not line:
            os.close(self._control)
            self._control = None
            return LINGER
        return min(float(seconds) for seconds in line.split())

    def _end_all(self, grace: float) -> None:
        """TERM whatever is left, wait for *grace* seconds at most, then KILL until it is gone."""
        if is_alone(self._reap):
            return
        told: set[int] = set()
        if self._bounds.is_wrapped:
            # At its end everything in it is killed: what is in it is to have its time.
            told.add(self._command)
        left = descendants(os.getpid())
        deadline = time.monotonic() + grace
        while not is_alone(self._reap) and time.monotonic() < deadline:
            left = [process for process in left if process not in told]
            send(signal.SIGTERM, left)
            send(signal.SIGCONT, left)
            told.update(left)
            watched = [self._wake_read] + ([] if self._control is None else [self._control])
            # Not only when woken: a grandchild's end is told to its parent, not to this process.
            ready = select.select(watched, [], [], min(0.05, grace))[0]
            if self._control in ready:
                deadline = min(deadline, time.monotonic() + self._asked())
            # The look missed who was started in the midst of it, and whose parent has ended by now.
            # What a command starts to clear up has a parent, and its time.
            left = _children()
        if not is_alone(self._reap):
            self._killed = True
            kill_all(self._reap)

    def _reap(self) -> None:
        """Collect every child that ended, adopted ones too; keep the command's own status."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake_read, 4096)
        with contextlib.suppress(ChildProcessError):
            while True:
                process, status = os.waitpid(-1, os.WNOHANG)
                if process == 0:
                    return
                if process == self._command:
                    self._status = os.waitstatus_to_exitcode(status)

    def _tell(self, fact: dict[str, object]) -> None:
        """Write a line to the worker, if there is one."""
        with contextlib.suppress(OSError):
            os.write(self._report, json.dumps(fact).encode() + b"\n")


def _in_command(supervisor: int, bounds: Bounds) -> Callable[[], None]:
    """Return what the command's process does before it becomes the command."""

    def prepare() -> None:
        die_with_parent()
        if os.getppid() != supervisor:  # it died before the request was in force
            os._exit(1)
        for number in _IGNORED:
            signal.signal(number, signal.SIG_DFL)
        for limited, value in bounds.limits:
            _, most = resource.getrlimit(limited)
            allowed = value if most == resource.RLIM_INFINITY else min(value, most)
            resource.setrlimit(limited, (allowed, allowed))

    return prepare


def discard(path: Path) -> None:
    """Remove a folder and all in it, also where whoever wrote it took permissions away."""
    if not _quietly("rm", "-rf", "--", str(path)):
        _quietly("chmod", "-R", "u+rwx", "--", str(path))
        _quietly("rm", "-rf", "--", str(path))


def _quietly(*command: str) -> bool:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return done.returncode == 0


def main(arguments: list[str]) -> int:
    """Run ``supervisor.py CONTROL REPORT PARENT FOLDER DISCARD BOUNDS COMMAND…``."""
    control, report, parent = (int(argument) for argument in arguments[:3])
    folder, rubbish, bounds, *argv = arguments[3:]
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    hide_memory()
    # If the command stopped this process, it is to go on and see the end of the control pipe.
    die_with_parent(signal.SIGCONT)
    adopt_orphans()
    for descriptor in (control, report):
        os.set_inheritable(descriptor, False)
    supervisor = Supervisor(control, report, Bounds.loaded(bounds))
    if os.getppid() == parent:
        supervisor.run(folder, argv)
    if rubbish and (supervisor.is_orphan or os.getppid() != parent):
        discard(Path(rubbish))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
