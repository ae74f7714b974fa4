"""From what psycopg raises to what the kernel meant."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from .errors import KernelError, RaisedError


@contextmanager
def translated() -> Iterator[None]:
    """Raise an error of a known SQLSTATE as its own class, keeping the original as its cause."""
    try:
        yield
    except psycopg.Error as error:
        known = KernelError.by_code.get(error.sqlstate or "")
        if known is None or not issubclass(known, RaisedError):
            raise
        raise known(error) from error
