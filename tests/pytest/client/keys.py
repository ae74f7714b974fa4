"""Keys of the kernel's: one program puts them into keyrings, another looks for them. As scripts.

usage: keys.py hold WHERE SESSION ACCOUNT COMMAND...
       keys.py seek WHERE SEEN

The first has a session keyring of its own, puts a key with the content SESSION into it and one with
ACCOUNT into the account's, writes their numbers and those of the keyrings to the file WHERE, and
becomes COMMAND. The second tries every way to these keys, and writes what it read to the file SEEN,
in hexadecimal.
"""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from pathlib import Path

_CALLS = {"x86_64": (248, 249, 250), "aarch64": (217, 218, 219)}
_JOIN, _LINK, _SEARCH, _READ, _TIMEOUT, _ID = 1, 8, 10, 11, 15, 0
_PROCESS, _SESSION, _USER, _USER_SESSION = -2, -3, -4, -5
_LIBC = ctypes.CDLL(None, use_errno=True)
_NAME = b"fencepost-test"
_LIVES_FOR = 300


def call(which: int, *arguments: object) -> int:
    """Make add_key (0), request_key (1) or keyctl (2).

    :raises OSError: the kernel refused.
    """
    number = ctypes.c_long(_CALLS[os.uname().machine][which])
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    answer = int(_LIBC.syscall(number, *words))
    if answer == -1:
        failed = ctypes.get_errno()
        raise OSError(failed, os.strerror(failed))
    return answer


def hold(where: Path, session: bytes, account: bytes, command: list[str]) -> None:
    """Put the keys there, and become the command."""
    call(2, _JOIN, None)
    call(2, _LINK, _USER, _PROCESS)  # until it becomes the command: to give the key its end
    numbers = []
    for keyring, name, content in (
        (_SESSION, _NAME, session),
        (_USER, _NAME + b"-account", account),
    ):
        key = call(0, b"user", name, content, len(content), keyring)
        call(2, _TIMEOUT, key, _LIVES_FOR)
        numbers += [key, call(2, _ID, keyring, 0)]
    where.write_text(" ".join(map(str, numbers)))
    where.chmod(0o644)
    os.execvp(command[0], command)  # noqa: S606 - that is what it is for


def seek(where: Path, seen: Path) -> None:
    """Read every key that there is a way to."""
    numbers = {int(word) for word in where.read_text().split()}
    listed = b""
    with suppress(OSError):
        listed = Path("/proc/keys").read_bytes()
    numbers |= {int(line.split()[0], 16) for line in listed.splitlines()}
    for keyring in (*sorted(numbers), _USER, _USER_SESSION):
        for own in (_PROCESS, _SESSION):
            with suppress(OSError):
                call(2, _LINK, keyring, own)
    for name in (_NAME, _NAME + b"-account"):
        for keyring in (*sorted(numbers), _PROCESS, _SESSION, _USER, _USER_SESSION):
            with suppress(OSError):
                numbers.add(call(2, _SEARCH, keyring, b"user", name, 0))
        with suppress(OSError):
            numbers.add(call(1, b"user", name, None, 0))
    found = []
    for number in sorted(numbers):
        content = ctypes.create_string_buffer(256)
        with suppress(OSError):
            length = call(2, _READ, number, content, len(content))
            found.append(content.raw[:length])
    found += [_NAME] * (_NAME in listed)
    seen.write_text(b"\n".join(found).hex())


if __name__ == "__main__":
    if sys.argv[1] == "hold":
        session, account = map(os.fsencode, sys.argv[3:5])
        hold(Path(sys.argv[2]), session, account, sys.argv[5:])
    else:
        seek(Path(sys.argv[2]), Path(sys.argv[3]))
