"""Fencepost's client: claim, attempt, judge and reap campaigns kept in PostgreSQL."""

__version__ = "0.1.0.dev0"

__all__ = ["__version__"]
