"""JSON in exactly one form: RFC 8785, the JSON Canonicalization Scheme."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

_ESCAPED: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}


class NotCanonical(ValueError):
    """The value has no form that every reader of JSON takes for the same."""


def canonical(value: Any) -> str:
    """Return *value* as RFC 8785 writes it.

    :raises NotCanonical: it is none of ``None``, ``bool``, ``int``, ``float``, ``str``, ``list``,
        ``tuple`` and ``Mapping`` with ``str`` keys; a number is not finite, or an integer that a
        double cannot hold; a text holds half of a surrogate pair. Dates and sets in particular are
        refused rather than all made the same.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return text(value)
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, list | tuple):
        return f"[{','.join(canonical(each) for each in value)}]"
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                message = f"the key {key!r} is no text"
                raise NotCanonical(message)
        # By UTF-16 code units, as the scheme says; by code points U+FB33 would precede an emoji.
        order = sorted(value, key=_utf16)
        return f"{{{','.join(f'{text(key)}:{canonical(value[key])}' for key in order)}}}"
    message = f"{type(value).__name__} is no type of JSON"
    raise NotCanonical(message)


def text(value: str) -> str:
    """Return a JSON string with nothing escaped but what has to be."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        message = f"half of a surrogate pair at {error.start}"
        raise NotCanonical(message) from None
    return f'"{"".join(_character(each) for each in value)}"'


def number(value: float) -> str:
    """Return a number as ECMAScript prints it.

    :raises NotCanonical: it is infinite or not a number.
    """
    if not math.isfinite(value):
        message = f"{value} is no number of JSON"
        raise NotCanonical(message)
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    # repr gives the shortest digits that lead back to the same double, as ECMAScript asks for.
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    leading = len(whole + fraction) - len(digits)
    point = len(whole) - leading + int(exponent or 0)
    digits = digits.rstrip("0")
    if len(digits) <= point <= 21:
        shown = digits.ljust(point, "0")
    elif 0 < point <= 21:
        shown = f"{digits[:point]}.{digits[point:]}"
    elif -6 < point <= 0:
        shown = f"0.{'0' * -point}{digits}"
    else:
        rest = f".{digits[1:]}" if len(digits) > 1 else ""
        shown = f"{digits[0]}{rest}e{point - 1:+d}"
    return sign + shown


def _integer(value: int) -> str:
    """Return an integer that a double holds, or that one prints as."""
    try:
        printed = number(float(value))
    except OverflowError:
        printed = ""
    if not printed or (printed != str(value) and int(float(value)) != value):
        message = "an integer is not one that every reader of JSON can hold"
        raise NotCanonical(message)
    return printed


def _character(character: str) -> str:
    known = _ESCAPED.get(character)
    if known is not None:
        return known
    return f"\\u{ord(character):04x}" if character < " " else character


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")
