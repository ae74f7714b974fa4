"""How the keyring of the client's session is left, and what is done where that cannot be."""

from __future__ import annotations

import ctypes
import os
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from fencepost import runner, supervisor
from fencepost.interrupt import Interrupt

_PER_LINUX32 = 8
_ASIDE = "/usr/bin/python3"

LEAVE = """
import ctypes, os, runpy, sys
client = runpy.run_path(sys.argv[1], run_name="supervisor")
libc = ctypes.CDLL(None, use_errno=True)
calls = client["_key_calls"]()[0][1]
{before}
try:
    client["leave_session_keyring"]()
except OSError as error:
    print(error.strerror)
else:
    print("left")
"""

UNDER_THE_FILTER = """
program = client["without_keyrings"]()
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]
assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
assert libc.prctl(22, 2, ctypes.byref(Program(len(program) // 8, program)), 0, 0) == 0
for number in calls:
    assert libc.syscall(ctypes.c_long(number), 0, -3, 0, 0, 0) == -1
    assert ctypes.get_errno() == 1, ctypes.get_errno()
assert os.getppid() > 0, "every other call is answered"
"""

WITHOUT_QUOTA = """
assert libc.syscall(ctypes.c_long(calls[2]), 1, None) != -1  # the first one may go beyond it
for count in range(1000):
    name = b"fencepost-test-%d" % count
    if libc.syscall(ctypes.c_long(calls[0]), b"user", name, b"x", ctypes.c_size_t(1), -2) == -1:
        break
assert ctypes.get_errno() == 122, ctypes.get_errno()  # EDQUOT
"""

has_keyrings = pytest.mark.skipif(
    not Path("/proc/keys").exists(), reason="the kernel has no keyrings (CONFIG_KEYS)"
)


def left(before: str, *, account: str | None = None) -> str:
    """Leave the keyring in a process of its own, after *before*; return how that ended."""
    source = Path(supervisor.__file__).read_text(encoding="utf-8")
    with Path("/proc/self/fd").joinpath(str(os.memfd_create("supervisor"))).open("w") as file:
        file.write(source)
        file.flush()
        done = subprocess.run(
            [_ASIDE, "-I", "-S", "-c", LEAVE.format(before=before), f"/dev/fd/{file.fileno()}"],
            pass_fds=[file.fileno()],
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            user=account,
        )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_where_no_key_can_be_asked_for_there_is_nothing_to_leave() -> None:
    assert left(UNDER_THE_FILTER) == "left"


@has_keyrings
@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes an account with a quota to fill")
def test_a_keyring_that_cannot_be_left_is_an_error_with_its_reason() -> None:
    said = left(WITHOUT_QUOTA, account="nobody")
    assert said == "the keyring of the session cannot be left: Disk quota exceeded"


def test_no_command_begins_on_a_machine_that_is_not_known(tmp_path: Path) -> None:
    """As a 64-bit kernel shows itself below ``setarch linux32``."""
    libc = ctypes.CDLL(None)
    was = libc.personality(_PER_LINUX32)
    try:
        machine = os.uname().machine
        with Interrupt() as interrupt, pytest.raises(OSError, match=f"a program on {machine}"):
            runner.run(
                ["touch", str(tmp_path / "begun")],
                folder=tmp_path,
                environment={"PATH": os.defpath},
                time_limit=timedelta(seconds=20),
                interrupt=interrupt,
            )
    finally:
        libc.personality(was)
    assert list(tmp_path.iterdir()) == []
