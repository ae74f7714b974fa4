# Made of async_session.py by tools/generate-sync: change that, and run it again.
"""A connection as the kernel wants it."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import IsolationLevel


def connect(conninfo: str) -> psycopg.Connection[Any]:
    """Open a connection on which any method may be called; also through PgBouncer.

    READ COMMITTED and read-write, whatever the role's defaults are. No statement is prepared: a
    pooler in transaction mode would give it to another session. In autocommit, what only looks is
    one statement; whatever writes is still a transaction with BEGIN and COMMIT. The client's
    encoding is not for PGCLIENTENCODING to say: under SQL_ASCII texts come as bytes.
    """
    connection = psycopg.Connection.connect(
        conninfo, autocommit=True, prepare_threshold=None, client_encoding="utf8"
    )
    connection.set_isolation_level(IsolationLevel.READ_COMMITTED)
    connection.set_read_only(False)
    return connection
