"""Another account of the machine, for what is not to run under the client's own."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


class NoSuchAccount(Exception):
    """A command cannot be run as that account, and the message says what to do."""


@dataclass(frozen=True, slots=True)
class Account:
    """Who runs a command that the client, as root, starts."""

    name: str
    user: int
    group: int

    @classmethod
    def named(cls, name: str) -> Account:
        """Return the account of that name.

        :raises NoSuchAccount: there is none, it is root, or this process may not become it.
        """
        if os.geteuid() != 0:
            message = "only root can run a command as another account: start the client as root"
            raise NoSuchAccount(message)
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            message = f"there is no account {name}: make one with `useradd --system {name}`"
            raise NoSuchAccount(message) from None
        if found.pw_uid == 0:
            message = f"{name} is root, which reads everything: name another account"
            raise NoSuchAccount(message)
        return cls(name, found.pw_uid, found.pw_gid)

    def own(self, paths: Iterable[Path]) -> None:
        """Give files, and folders with all that is in them, to the account; no link is followed."""
        for path in paths:
            os.chown(path, self.user, self.group, follow_symlinks=False)
            for top, folders, files in os.walk(path):
                for name in (*folders, *files):
                    os.chown(Path(top, name), self.user, self.group, follow_symlinks=False)
