"""What a command that wants too much gets: real processes, with and without a sandbox."""

from __future__ import annotations

import os
import pwd
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fencepost import environment, runner
from fencepost.account import Account
from fencepost.confinement import Confinement
from fencepost.interrupt import Interrupt
from fencepost.limits import Limits, parsed_size, size
from fencepost.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.runner import Run

MEBI = 1 << 20
PYTHON = "/usr/bin/python3"
IS_ROOT = os.geteuid() == 0


@pytest.fixture
def root() -> Iterator[Path]:
    """Give a folder that another account reaches too.

    pytest's own are closed to other accounts again whenever another pytest begins.
    """
    with tempfile.TemporaryDirectory(prefix="fencepost-limits-") as name:
        if IS_ROOT:
            Path(name).chmod(0o711)
        (Path(name) / "root" / "work").mkdir(parents=True)
        yield Path(name) / "root"


def run(root: Path, script: str, bounds: Limits, *, is_sandboxed: bool, seconds: float = 30) -> Run:
    """Run a Python script under limits, as an account that is not root."""
    nobody = pwd.getpwnam("nobody")
    confinement = Confinement(
        limits=bounds,
        sandbox=Sandbox() if is_sandboxed else None,
        account=Account("nobody", nobody.pw_uid, nobody.pw_gid) if IS_ROOT else None,
    )
    with Interrupt() as interrupt:
        return runner.run(
            [PYTHON, "-c", script],
            folder=root / "work",
            environment=environment.scrubbed(root),
            time_limit=timedelta(seconds=seconds),
            interrupt=interrupt,
            confinement=confinement,
            writable=environment.folders(root),
        )


both = pytest.mark.parametrize("is_sandboxed", [False, True], ids=["open", "sandbox"])


@both
def test_what_keeps_its_limits_is_not_disturbed(root: Path, *, is_sandboxed: bool) -> None:
    script = "x = bytearray(64 << 20); open('f', 'wb').write(x); import os; os.fork(); os._exit(0)"
    bounds = Limits(memory=512 * MEBI, processes=16, file_size=128 * MEBI, free_disk=MEBI)
    assert run(root, script, bounds, is_sandboxed=is_sandboxed).is_success


@both
def test_one_process_gets_no_more_memory(root: Path, *, is_sandboxed: bool) -> None:
    script = "x = bytearray(512 << 20)"
    found = run(root, script, Limits(memory=256 * MEBI), is_sandboxed=is_sandboxed)
    assert found.exit_code == 1
    assert b"MemoryError" in found.tail
    assert run(root, script, Limits(), is_sandboxed=is_sandboxed).is_success


@both
def test_nor_do_many_together(root: Path, *, is_sandboxed: bool) -> None:
    script = (
        "import os, time\n"
        "for _ in range(8):\n"
        "    if os.fork() == 0:\n"
        "        x = bytearray(os.urandom(1)) * (100 << 20)\n"
        "        time.sleep(60)\n"
        "time.sleep(60)\n"
    )
    found = run(root, script, Limits(memory=256 * MEBI), is_sandboxed=is_sandboxed)
    assert found.exceeded == "used more than 256m of memory"
    assert str(found) == "stopped: used more than 256m of memory"
    assert found.seconds < 20
    assert not found.is_success


def test_memory_that_is_shared_counts_once(root: Path) -> None:
    script = (
        "import os, time\n"
        "x = bytearray(os.urandom(1)) * (100 << 20)\n"
        "for _ in range(8):\n"
        "    os.fork() or (time.sleep(2), os._exit(0))\n"
        "time.sleep(2)\n"
    )
    assert run(root, script, Limits(memory=256 * MEBI), is_sandboxed=False).is_success


def test_files_in_memory_are_bounded_in_a_sandbox(root: Path) -> None:
    script = "open('/dev/shm/x', 'wb').write(bytes(128 << 20))"
    found = run(root, script, Limits(), is_sandboxed=True)
    assert b"No space left on device" in found.tail


@pytest.mark.parametrize("place", ["/x", "/dev/x", "/etc/x", "/usr/x", "/var/x", "/proc/x"])
def test_there_is_nowhere_else_to_write(root: Path, place: str) -> None:
    found = run(root, f"open({place!r}, 'w').write('x')", Limits(), is_sandboxed=True)
    assert found.exit_code == 1
    assert b"Error" in found.tail


BOMB = """
import os
while True:
    try:
        os.fork()
    except BlockingIOError:
        pass
"""


@both
def test_a_fork_bomb_is_bounded_and_ends(root: Path, *, is_sandboxed: bool) -> None:
    bounds = Limits(processes=60)
    found = run(root, BOMB, bounds, is_sandboxed=is_sandboxed, seconds=3)
    # The kernel lets it have no more: it is not even seen to exceed the limit.
    assert found.timed_out
    assert found.exceeded is None
    assert found.seconds < 25
    assert _alive(BOMB) == []


@both
def test_processes_are_counted_beyond_those_that_were_there(
    root: Path, *, is_sandboxed: bool
) -> None:
    script = (
        "import os, time\n"
        "made = 0\n"
        "try:\n"
        "    while os.fork() or time.sleep(60):\n"
        "        made += 1\n"
        "except BlockingIOError:\n"
        "    print('made', made)\n"
    )
    found = run(root, script, Limits(processes=20), is_sandboxed=is_sandboxed)
    made = int(found.tail.split()[1])
    assert 10 <= made <= 20


@pytest.mark.skipif(not IS_ROOT, reason="the kernel counts the processes of every other account")
@pytest.mark.parametrize("sandbox", [None, Sandbox()], ids=["open", "sandbox"])
def test_roots_processes_are_counted_from_outside(root: Path, sandbox: Sandbox | None) -> None:
    script = "import os, time\nfor _ in range(40): os.fork() or time.sleep(60)\ntime.sleep(60)"
    confinement = Confinement(limits=Limits(processes=20), sandbox=sandbox)
    assert not confinement.counts_processes
    with Interrupt() as interrupt:
        found = runner.run(
            [PYTHON, "-c", script],
            folder=root / "work",
            environment=environment.scrubbed(root),
            time_limit=timedelta(seconds=30),
            interrupt=interrupt,
            confinement=confinement,
            writable=environment.folders(root),
        )
    assert found.exceeded == "used more than 20 processes"
    assert found.seconds < 20
    assert _alive(script) == []


@both
def test_a_file_may_not_be_larger(root: Path, *, is_sandboxed: bool) -> None:
    script = "open('x', 'wb').write(bytes(2 << 20))"
    found = run(root, script, Limits(file_size=MEBI), is_sandboxed=is_sandboxed)
    assert found.exit_code == 1
    assert b"File too large" in found.tail
    assert (root / "work" / "x").stat().st_size == MEBI


def test_a_disk_that_gets_full_ends_it_and_is_no_verdict(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who filled it cannot be told."""
    disk = os.statvfs(root)
    free = disk.f_bavail * disk.f_frsize
    script = (
        "import time\n"
        "for number in range(10**6):\n"
        "    open(str(number), 'wb').write(bytes(1 << 20)); time.sleep(0.001)\n"
    )
    with pytest.raises(OSError, match="of the disk is free"):
        run(root, script, Limits(free_disk=free - 64 * MEBI), is_sandboxed=False)
    assert _alive(script) == []


def test_no_core_is_left(root: Path) -> None:
    script = "import resource; print(resource.getrlimit(resource.RLIMIT_CORE))"
    assert run(root, script, Limits(), is_sandboxed=False).tail == b"(0, 0)\n"


@pytest.mark.parametrize(
    ("given", "number"), [("1", 1), ("512m", 512 * MEBI), ("4G", 4096 * MEBI), ("3k", 3072)]
)
def test_a_size_is_read_and_written(given: str, number: int) -> None:
    assert parsed_size(given) == number
    assert size(number) == given.lower()


@pytest.mark.parametrize("given", ["", "0", "m", "-1", "1.5g", "1 gb", "9" * 20])
def test_what_is_no_size_is_refused(given: str) -> None:
    with pytest.raises(ValueError, match="not a size"):
        parsed_size(given)


def _alive(script: str) -> list[Path]:
    """Return the processes that run *script*; one that was killed may take an instant to go."""
    deadline = time.monotonic() + 5
    while True:
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if script.encode() in path.read_bytes():
                    found.append(path)
            except OSError:
                continue
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.1)
