"""Text of unknown origin, made fit for the ledger and for a terminal."""

from __future__ import annotations

import re

REASON_BYTES = 4096
"""The longest reason, approach or summary that the ledger takes, in bytes of UTF-8."""

_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def harmless(content: bytes | str) -> str:
    """Return *content* as text without anything that a database or a terminal chokes on.

    What is not UTF-8, NUL, lone surrogates and control characters other than tab and line feed
    become U+FFFD; colours and other terminal sequences are dropped.
    """
    text = content.decode("utf-8", "replace") if isinstance(content, bytes) else content
    text = _SEQUENCE.sub("", text.replace("\r\n", "\n"))
    return _CONTROL.sub("\ufffd", text)


def head(text: str, limit: int = REASON_BYTES) -> str:
    """Return the beginning of *text*, at most *limit* bytes of UTF-8, whole characters."""
    return text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")


def tail(text: str, limit: int = REASON_BYTES) -> str:
    """Return the end of *text*, at most *limit* bytes of UTF-8, whole characters."""
    encoded = text.encode("utf-8", "replace")
    return (encoded[-limit:] if limit > 0 else b"").decode("utf-8", "ignore")


def reason(summary: str, output: bytes | str = b"") -> str:
    """Return *summary* and, below it, as much of the end of *output* as a reason can hold."""
    first = head(harmless(summary))
    room = REASON_BYTES - len(first.encode()) - 1
    rest = tail(harmless(output).strip(), room).strip()
    return f"{first}\n{rest}" if rest and room > 0 else first
