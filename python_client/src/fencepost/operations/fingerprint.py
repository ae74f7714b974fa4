"""What two calls have in common that are the same call: a fingerprint, and a key.

``fingerprint`` is what to use. ``fnv1a64`` is what the original wrote, for keys that are already in
use; it is 64 bits long and no protection against whoever wants two calls to look alike.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from .blank import is_blank
from .canonical import NotCanonical, canonical, number

_OFFSET: Final = 0xCBF29CE484222325
_PRIME: Final = 0x100000001B3
_KEY_UNITS: Final = 256


def fingerprint(tool: str, arguments: Any) -> str:
    """Return ``sha256:`` and 64 hexadecimal digits for a call of *tool* with *arguments*.

    They are the SHA-256 of the UTF-8 of ``[tool, arguments]`` in the form of RFC 8785, so that
    anything that can write that form gets the same.

    :raises NotCanonical: see :func:`.canonical.canonical`.
    """
    return f"sha256:{hashlib.sha256(canonical([tool, arguments]).encode()).hexdigest()}"


def fnv1a64(tool: str, arguments: Any) -> str:
    """Return the fingerprint in the original's form, ``fnv1a64:<16 digits>:<length>``.

    :raises NotCanonical: the arguments hold what JSON does not; the original gave those tags.
    """
    text = f"{tool}:{_stable(arguments)}"
    units = text.encode("utf-16-le", "surrogatepass")
    value = _OFFSET
    for low, high in zip(units[::2], units[1::2], strict=True):
        value = (value ^ (low | high << 8)) * _PRIME % 2**64
    return f"fnv1a64:{value:016x}:{len(units) // 2}"


def operation_key(session: str | None, tool: str, key: str) -> str:
    """Return the key of an operation: the JSON of session, tool and the caller's own key.

    :param session: ``None`` is the session ``default``.
    :param key: names the call within them; at most 256 UTF-16 units, and not blank.
    :raises ValueError: *key* is blank or too long.
    """
    if is_blank(key):
        message = "the key is blank"
        raise ValueError(message)
    if len(key.encode("utf-16-le", "surrogatepass")) > 2 * _KEY_UNITS:
        message = f"the key has more than {_KEY_UNITS} UTF-16 units"
        raise ValueError(message)
    return _json([session or "default", tool, key])


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _stable(value: Any) -> str:
    """Return JSON with sorted keys, as ``JSON.stringify`` writes each part."""
    if isinstance(value, Mapping):
        order = sorted(value, key=lambda key: str(key).encode("utf-16-be", "surrogatepass"))
        return f"{{{','.join(f'{_json(str(key))}:{_stable(value[key])}' for key in order)}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_stable, value))}]"
    if isinstance(value, str):
        return _json(value)
    if value is None or isinstance(value, bool):
        return _json(value)
    if isinstance(value, int | float):
        return number(float(value))
    message = f"{type(value).__name__} is no type of JSON"
    raise NotCanonical(message)
