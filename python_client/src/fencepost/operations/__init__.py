"""Operations outside the database: what was meant, what was done, and what nobody knows.

``Store`` keeps them over a connection of psycopg, ``Adapter`` over anything that has
``query(text, values)``. ``EffectRunner`` carries an effect out at most once and reconciles what is
unknown. Each of the three has a twin for ``asyncio``. ``http`` and ``command`` are effects ready to
be used, ``fingerprint`` names what is to be done, ``schema`` is the kernel as one text,
``evidence`` says what was verified where.

Only the stores need psycopg, and they are imported when they are first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from .adapter import Adapter, AsyncAdapter, formatted, numbered
from .async_runner import AsyncEffectRunner
from .base import (
    FENCING_CAPABILITY,
    AsyncOperationStore,
    OperationStore,
    has_fencing_capability,
)
from .errors import FenceChanged, InvalidArgument, NoKernelAnswer, OutcomeNotRecorded
from .fingerprint import fingerprint, fnv1a64, operation_key
from .records import (
    ABSENT,
    Claim,
    ClaimStatus,
    Completed,
    Cursor,
    Failed,
    Fence,
    Operation,
    Page,
    PruneResult,
    State,
    Step,
    StillUnknown,
    Unknown,
)
from .runner import (
    Context,
    EffectRunner,
    RecoverResult,
    Renewal,
    RunResult,
    run_http_effect,
    run_queue_effect,
)
from .schema import create_postgres_durable_operation_schema_sql

if TYPE_CHECKING:
    from .store import AsyncStore, Store

__all__ = [
    "ABSENT",
    "FENCING_CAPABILITY",
    "Adapter",
    "AsyncAdapter",
    "AsyncEffectRunner",
    "AsyncOperationStore",
    "AsyncStore",
    "Claim",
    "ClaimStatus",
    "Completed",
    "Context",
    "Cursor",
    "EffectRunner",
    "Failed",
    "Fence",
    "FenceChanged",
    "InvalidArgument",
    "NoKernelAnswer",
    "Operation",
    "OperationStore",
    "OutcomeNotRecorded",
    "Page",
    "PruneResult",
    "RecoverResult",
    "Renewal",
    "RunResult",
    "State",
    "Step",
    "StillUnknown",
    "Store",
    "Unknown",
    "create_postgres_durable_operation_schema_sql",
    "fingerprint",
    "fnv1a64",
    "formatted",
    "has_fencing_capability",
    "numbered",
    "operation_key",
    "run_http_effect",
    "run_queue_effect",
]

_LATE: Final = {"AsyncStore": ".store", "Store": ".store"}
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
