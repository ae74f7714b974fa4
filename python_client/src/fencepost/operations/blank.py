"""What counts as blank: what JavaScript's ``trim`` leaves nothing of."""

from __future__ import annotations

from typing import Final

WHITE: Final = "".join(
    map(
        chr,
        (
            *range(0x09, 0x0E),
            0x20,
            0xA0,
            0x1680,
            *range(0x2000, 0x200B),
            0x2028,
            0x2029,
            0x202F,
            0x205F,
            0x3000,
            0xFEFF,
        ),
    )
)
"""White space and line ends of ECMAScript.

It is not Python's: ``str.strip`` also takes U+001C to U+001F and U+0085, and leaves U+FEFF.
"""


def trimmed(text: str) -> str:
    """Return *text* without white space at its ends."""
    return text.strip(WHITE)


def is_blank(text: str) -> bool:
    """Return whether there is nothing in *text* but white space."""
    return not trimmed(text)
