"""A result moved to its target's own ref, as far as the ledger knows: no push is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fencepost.operations import Store

if TYPE_CHECKING:
    import psycopg

    from fencepost import Lease
    from fencepost.operations import Operation


def moved(connection: psycopg.Connection[Any], lease: Lease, target: str, commit: str) -> Operation:
    """Complete the operation that promotes *commit* to *target*, ``REPOSITORY#REF``."""
    store = Store(connection, lease.campaign_class)
    expected = {"before": "1" * 40, "after": {"commit": commit}, "fence": "0" * 40}
    claim = store.begin(lease, commit, kind="promote", target=target, expected=expected)
    store.start(claim)
    return store.complete(claim, read_back={"commit": commit, "ref": commit})
