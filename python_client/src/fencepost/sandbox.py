"""Bubblewrap around a command: a view of the machine with no file in it but what it needs.

It sees the system's programs and its own folders, under the names that they have outside, and
nothing else of the account. It has processes, host name and message queues of its own, no
privileges, no keyrings, and a network only if that is wanted. Bubblewrap's own process is all that
stands between the command and its supervisor: when that ends, everything in it has ended.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .account import Account
from .supervisor import read_end, without_keyrings

PROGRAM = "bwrap"
_NEWEST_MISSING = (0, 8)
_SHARED_MEMORY = 64 << 20

_KEYS = ("/proc/keys", "/proc/key-users")

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")

_SETTINGS = (
    # Of /etc, what programs need to run at all. Most of what is secret on a machine stands there
    # too, and root could read it.
    "alternatives",
    "ca-certificates",
    "fonts",
    "gai.conf",
    "group",
    "host.conf",
    "hosts",
    "java*",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "magic",
    "mime.types",
    "nsswitch.conf",
    "passwd",
    "perl",
    "pki/ca-trust",
    "pki/tls/certs",
    "protocols",
    "python3*",
    "resolv.conf",
    "services",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
)


class NoSandbox(Exception):
    """There is no sandbox on this machine, and the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """What a command sees of the machine."""

    network: bool = False
    """Whether it reaches what the machine reaches."""
    shared: tuple[Path, ...] = ()
    """Further files and folders, to read only."""

    def require(self, account: Account | None) -> None:
        """Insist that there is a sandbox for *account*, or for the client's own if ``None``.

        :raises NoSandbox: bubblewrap is missing, too old, or not allowed what it needs.
        """
        for path in self.shared:
            if not path.exists():
                message = f"{path} is to be shared with the sandbox, and is not there"
                raise NoSandbox(message)
        if shutil.which(PROGRAM) is None:
            message = "there is no bwrap on PATH: apt-get install bubblewrap"
            raise NoSandbox(message)
        said = _run([PROGRAM, "--version"], None).stdout
        version = tuple(int(part) for part in re.findall(r"\d+", said)[:2])
        if version < _NEWEST_MISSING:
            message = f"{said.strip() or PROGRAM} is too old: bubblewrap 0.8 or newer is needed"
            raise NoSandbox(message)
        tried = _tried(
            self.wrap(["true"], folder=Path("/"), environment={"PATH": "/usr/bin:/bin"}), account
        )
        if tried.returncode != 0:
            message = (
                f"bubblewrap cannot make a sandbox here ({tried.stderr.strip()}): allow this "
                "account user namespaces (sysctl user.max_user_namespaces, "
                "kernel.unprivileged_userns_clone=1, or an AppArmor profile for bwrap where "
                "kernel.apparmor_restrict_unprivileged_userns=1; in a container, also of its "
                "runtime)"
            )
            raise NoSandbox(message)

    def wrap(
        self,
        command: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        writable: Iterable[Path] = (),
        readable: Iterable[Path] = (),
    ) -> list[str]:
        """Return what runs *command* in the sandbox.

        :param folder: the folder it begins in.
        :param environment: its environment, for PATH and TMPDIR.
        :param writable: files and folders that it may change.
        :param readable: files and folders that it may read.
        """
        words = [
            PROGRAM,
            *("--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-ipc"),
            *("--unshare-uts", "--hostname", "sandbox", "--unshare-cgroup-try"),
            *(() if self.network else ("--unshare-net",)),
            *("--cap-drop", "ALL", "--die-with-parent", "--new-session"),
            *("--proc", "/proc", "--dev", "/dev"),
            *_hidden(),
            # Memory that no process is seen to use.
            *("--size", str(_SHARED_MEMORY), "--tmpfs", "/dev/shm"),  # noqa: S108
            *_system(),
        ]
        temporary = environment.get("TMPDIR")
        if temporary is not None:
            for place in ("/tmp", "/var/tmp"):  # noqa: S108 - where the command finds its own
                words += ["--bind", temporary, place]
        for path in self.shared:
            words += ["--ro-bind", str(path.resolve()), str(path.absolute())]
        program, words_of_it = _program(command[0], environment.get("PATH"))
        words += words_of_it
        for path in readable:
            words += ["--ro-bind", str(path), str(path)]
        for path in writable:
            words += ["--bind", str(path), str(path)]
        # What bubblewrap made to mount things on is memory as well; and the kernel's settings are
        # root's to write, which it stays for them if it started the client.
        words += [
            "--remount-ro",
            "/proc",
            "--remount-ro",
            "/dev",
            "--remount-ro",
            "/",
            "--chdir",
            str(folder),
        ]
        return [*words, "--", program, *command[1:]]


def _hidden() -> list[str]:
    """Return the options that hide the names of the account's keys, which are not namespaced."""
    shown = [name for name in _KEYS if Path(name).exists()]
    return [word for name in shown for word in ("--ro-bind", "/dev/null", name)]


def _system() -> list[str]:
    """Return the options that show the system's programs, and the settings these read."""
    words: list[str] = []
    for name in _SYSTEM:
        place = Path(name)
        if place.is_symlink():
            words += ["--symlink", str(place.readlink()), name]
        elif place.is_dir():
            words += ["--ro-bind", name, name]
    for pattern in _SETTINGS:
        for place in sorted(Path("/etc").glob(pattern)):
            if place.exists():  # a link may lead to where nothing is mounted, or nowhere
                words += ["--ro-bind", str(place.resolve()), str(place)]
    return words


def _program(name: str, path: str | None) -> tuple[str, list[str]]:
    """Return a program's name, and the options that show it if it is not one of the system's."""
    if "/" in name and not name.startswith("/"):
        return name, []  # from the command's folder
    found = shutil.which(name, path=path)
    if found is None or _is_system(Path(found)):
        return name, []
    return found, ["--ro-bind", str(Path(found).resolve()), found]


def _is_system(place: Path) -> bool:
    return any(place.is_relative_to(folder) for folder in _SYSTEM)


def _tried(wrapped: list[str], account: Account | None) -> subprocess.CompletedProcess[str]:
    """Run what :meth:`Sandbox.wrap` returned as a supervisor would."""
    try:
        filtering = read_end(without_keyrings())
    except OSError as error:
        raise NoSandbox(error.strerror) from error
    try:
        options = ("--seccomp", str(filtering))
        return _run([wrapped[0], *options, *wrapped[1:]], account, filtering)
    finally:
        os.close(filtering)


def _run(
    command: list[str], account: Account | None, *passed: int
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        pass_fds=passed,
        cwd="/",
        env={"PATH": os.environ.get("PATH", os.defpath)},
        user=None if account is None else account.user,
        group=None if account is None else account.group,
        extra_groups=None if account is None else [],
    )
