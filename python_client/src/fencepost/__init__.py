"""Fencepost's client: claim, attempt, judge and reap campaigns kept in PostgreSQL.

``Worker``, ``Verifier``, ``Reaper`` and ``Collector`` have a method for each function of the kernel
that their role may call. ``runner`` runs a command that ends with this process, ``checkout`` is all
that is done with git. The command ``fencepost`` puts them together.

What talks to the database by psycopg is imported when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from .errors import (
    AppendOnly,
    ArgumentMalformed,
    ArgumentMissing,
    ArgumentOutOfRange,
    ArgumentTooLong,
    BundleMismatch,
    ConnectionBusy,
    DeadlockDetected,
    Expired,
    FencepostError,
    Forbidden,
    FrozenColumn,
    Illegal,
    KernelError,
    KernelUnfit,
    Limit,
    LockNotAvailable,
    Misuse,
    MoveRefused,
    NoEvidence,
    NotAMember,
    NotHolder,
    NotYetCommitted,
    OperationOpen,
    Paused,
    QueryCanceled,
    ReadOnly,
    Refused,
    Repeated,
    Retry,
    SameFamily,
    SelfVerdict,
    ServerUnreachable,
    Stale,
    UnknownCampaign,
    UnknownClass,
    UnknownObservation,
    UnknownOperation,
    UnknownPolicyKey,
    UnknownPrincipal,
    UnknownTarget,
    VerdictContradictsExitCode,
    WrongIsolation,
)
from .records import Assignment, Bundle, Checkpoint, Eviction, Lease, Receipt

if TYPE_CHECKING:
    from .async_collector import AsyncCollector
    from .async_reaper import AsyncReaper
    from .async_verifier import AsyncVerifier
    from .async_worker import AsyncWorker
    from .collector import Collector
    from .reaper import Reaper
    from .verifier import Verifier
    from .worker import Worker

__version__ = "0.1.0.dev0"

__all__ = [
    "AppendOnly",
    "ArgumentMalformed",
    "ArgumentMissing",
    "ArgumentOutOfRange",
    "ArgumentTooLong",
    "Assignment",
    "AsyncCollector",
    "AsyncReaper",
    "AsyncVerifier",
    "AsyncWorker",
    "Bundle",
    "BundleMismatch",
    "Checkpoint",
    "Collector",
    "ConnectionBusy",
    "DeadlockDetected",
    "Eviction",
    "Expired",
    "FencepostError",
    "Forbidden",
    "FrozenColumn",
    "Illegal",
    "KernelError",
    "KernelUnfit",
    "Lease",
    "Limit",
    "LockNotAvailable",
    "Misuse",
    "MoveRefused",
    "NoEvidence",
    "NotAMember",
    "NotHolder",
    "NotYetCommitted",
    "OperationOpen",
    "Paused",
    "QueryCanceled",
    "ReadOnly",
    "Reaper",
    "Receipt",
    "Refused",
    "Repeated",
    "Retry",
    "SameFamily",
    "SelfVerdict",
    "ServerUnreachable",
    "Stale",
    "UnknownCampaign",
    "UnknownClass",
    "UnknownObservation",
    "UnknownOperation",
    "UnknownPolicyKey",
    "UnknownPrincipal",
    "UnknownTarget",
    "VerdictContradictsExitCode",
    "Verifier",
    "Worker",
    "WrongIsolation",
    "__version__",
]

_LATE: Final = {
    "AsyncCollector": ".async_collector",
    "AsyncReaper": ".async_reaper",
    "AsyncVerifier": ".async_verifier",
    "AsyncWorker": ".async_worker",
    "Collector": ".collector",
    "Reaper": ".reaper",
    "Verifier": ".verifier",
    "Worker": ".worker",
}
"""What needs psycopg, and where it is."""

if not TYPE_CHECKING:  # or every misspelt name would pass for one of these

    def __getattr__(name: str) -> Any:
        if name not in _LATE:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        found = globals()[name] = getattr(import_module(_LATE[name], __name__), name)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
