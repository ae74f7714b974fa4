"""What a command may not do, all together: sandbox, account and limits."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .account import Account
from .limits import Limits
from .sandbox import Sandbox
from .supervisor import Bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """How a command is kept from what is not its own; by default, only by its environment."""

    sandbox: Sandbox | None = None
    account: Account | None = None
    """Who it runs as; the client's own account if ``None``."""
    limits: Limits = field(default_factory=Limits)

    @property
    def hides_the_client(self) -> bool:
        """Whether what the client keeps beside the command's folder is out of its reach."""
        return self.sandbox is not None or self.account is not None

    @property
    def counts_processes(self) -> bool:
        """Whether the kernel enforces a limit on processes, which it does not for root."""
        return self.account is not None or os.geteuid() != 0

    def require(self) -> None:
        """Insist that this machine can do it.

        :raises NoSandbox: it cannot.
        """
        if self.sandbox is not None:
            self.sandbox.require(self.account)

    def command(
        self,
        command: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        writable: Sequence[Path],
        readable: Sequence[Path],
    ) -> list[str]:
        """Return what is to be started in place of *command*, after giving it what is its own.

        :param writable: the files and folders that it may change.
        :param readable: those that it may read.
        """
        if self.account is not None:
            self.account.own([*writable, *readable])
            for path in {path.parent for path in (*writable, *readable)}:
                path.chmod(0o711)  # to pass, not to look
        if self.sandbox is None:
            return list(command)
        return self.sandbox.wrap(
            command, folder=folder, environment=environment, writable=writable, readable=readable
        )

    def environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return *environment* with the name of the account that runs the command."""
        if self.account is None:
            return dict(environment)
        return dict(environment) | {"USER": self.account.name, "LOGNAME": self.account.name}

    def bounds(self) -> Bounds:
        """Return what the command's supervisor is to see to."""
        account = os.geteuid() if self.account is None else self.account.user
        return Bounds(
            user=None if self.account is None else self.account.user,
            group=None if self.account is None else self.account.group,
            limits=self.limits.for_each_process(account),
            is_wrapped=self.sandbox is not None,
        )
