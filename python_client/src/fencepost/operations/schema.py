"""The kernel's schema as one text, for an application that owns its migrations.

The text is made of the scripts of ``deploy/`` in the order of ``sqitch.plan``, and there is no
other copy of them. Nothing in this package runs it. An application puts it into a migration of its
own, whose author may create roles and schemas, and runs it once, in a transaction of its own or as
one query of several statements. Whoever can deploy with sqitch should: that verifies and reverts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from .errors import InvalidArgument

_PACKAGE: Final = Path(__file__).resolve().parents[1]
_CHECKOUT: Final = Path(__file__).resolve().parents[4]

KERNEL: Final = "kernel"
_FOOTINGS: Final = ("shared", "dedicated")
_SCHEMAS: Final = ("kernel", "ledger", "audit")
_LONGEST_SUFFIX: Final = len("_ledger")
_NAME: Final = re.compile(r"[a-z_][a-z0-9_]*")

_TOKEN: Final = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<comment>--[^\n]* | /\*.*?\*/)
    | (?P<dollar>(?P<tag>\$(?:[A-Za-z_]\w*)?\$).*?(?P=tag))
    | (?P<escape>[eE]'(?:[^'\\]|''|\\.)*')
    | (?P<string>'(?:[^']|'')*')
    | (?P<quoted>"(?:[^"]|"")*")
    | (?P<word>[A-Za-z_\u0080-\U0010ffff][\w$\u0080-\U0010ffff]*)
    | (?P<number>\d[\w.]*)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a script."""

    kind: str
    text: str


def tokens(script: str) -> Iterator[Token]:
    """Yield the pieces of a script, which together are the script."""
    for found in _TOKEN.finditer(script):
        yield Token(found.lastgroup or "other", found[0])


def create_postgres_durable_operation_schema_sql(
    schema: str = KERNEL, *, footing: str = "shared"
) -> str:
    """Return the statements that make the kernel, with its functions in *schema*.

    The private tables are in ``SCHEMA_ledger`` and the views in ``SCHEMA_audit``; for ``kernel``
    they are in ``ledger`` and ``audit``. The roles belong to the cluster and keep their names.

    With ``footing="dedicated"`` the database is closed to everybody else: PUBLIC loses CONNECT and
    TEMPORARY on it, and schema ``public``. Left at ``shared``, nothing of the application's is
    touched.

    :raises InvalidArgument: *schema* is not a name in lower case of at most 56 bytes, or *footing*
        is neither.
    """
    if not _NAME.fullmatch(schema) or len(schema) > 63 - _LONGEST_SUFFIX:
        message = f"{schema!r} is no name of a schema in lower case of at most 56 bytes"
        raise InvalidArgument(message)
    if schema.startswith("pg_"):
        message = f"{schema!r}: names that begin with pg_ are the server's"
        raise InvalidArgument(message)
    if footing not in _FOOTINGS:
        message = f"{footing!r} is no footing: {' or '.join(_FOOTINGS)}"
        raise InvalidArgument(message)
    if schema == KERNEL:
        names = {name: name for name in _SCHEMAS}
    else:
        names = {KERNEL: schema, "ledger": f"{schema}_ledger", "audit": f"{schema}_audit"}
    head = (
        f"-- Fencepost: deploy/ in the order of sqitch.plan, with its functions in {schema}.\n"
        "-- Run it in a transaction of its own, or as one query.\n"
    )
    parts = [head]
    known = _objects()
    for change in changes():
        text = _renamed(_bare(script(change)), names, known)
        # The one variable that sqitch has psql put in.
        text = text.replace(":'footing'", f"'{footing}'")
        # What a script sets until its commit must not reach the next one.
        parts.append(f"-- {change}\nset local role none;\n{text}")
    parts.append("set local role none;\n")
    return "\n".join(parts)


def changes() -> list[str]:
    """Return the plan's changes in their order: ``NAME``, or ``NAME@TAG`` where it was reworked.

    That is how sqitch deploys: first what was released, and where the plan names the change again,
    its next version.
    """
    lines = (_root() / "sqitch.plan").read_text(encoding="utf-8").splitlines()
    words = [word for line in lines if (word := line.partition(" ")[0]) and word[0] not in "%#"]
    return [
        _version(word, words[number + 1 :]) for number, word in enumerate(words) if word[0] != "@"
    ]


def _version(change: str, later: list[str]) -> str:
    """Return a change under the tag that its scripts were kept with, if it was reworked later."""
    if change not in later:
        return change
    tags = [word for word in later[: later.index(change)] if word[0] == "@"]
    for tag in tags:
        if _file(f"{change}{tag}").is_file():
            return f"{change}{tag}"
    message = f"{change} was reworked, and no script of it is kept: {_file(f'{change}@TAG')}"
    raise FileNotFoundError(message)


def _file(change: str) -> Path:
    """Return where the script is that deploys a change."""
    folder = Path("reworked", "deploy") if "@" in change else Path("deploy")
    return _root() / folder / f"{change}.sql"


@cache
def _root() -> Path:
    """Return where the scripts are: inside the package as it is installed, or beside it."""
    for folder in (_PACKAGE / "sql", _CHECKOUT):
        if (folder / "sqitch.plan").is_file():
            return folder
    message = f"neither {_PACKAGE / 'sql'} nor {_CHECKOUT} has a sqitch.plan"
    raise FileNotFoundError(message)


@cache
def script(change: str) -> str:
    """Return the text that deploys a change."""
    return _file(change).read_text(encoding="utf-8")


@cache
def _objects() -> frozenset[str]:
    """Return every ``schema.name`` that stands in the scripts as a name, not in a text."""
    found: set[str] = set()
    for change in changes():
        found.update(_names(script(change)))
    return frozenset(found)


def _names(script: str) -> Iterator[str]:
    pieces = [piece for piece in tokens(script) if piece.kind not in {"space", "comment"}]
    for first, dot, second in zip(pieces, pieces[1:], pieces[2:], strict=False):
        if first.text in _SCHEMAS and dot.text == "." and second.kind == "word":
            yield f"{first.text}.{second.text}"
    for piece in pieces:
        if piece.kind == "dollar":
            yield from _names(_body(piece.text)[1])


def _bare(script: str) -> str:
    """Return a script without its own transaction, and without sqitch's first line."""
    kept: list[str] = []
    for line in script.splitlines(keepends=True):
        if line in {"begin;\n", "commit;\n", "commit;"} or line.startswith("-- Deploy fencepost:"):
            continue
        kept.append(line)
    return "".join(kept).strip("\n") + "\n"


def _renamed(script: str, names: dict[str, str], known: frozenset[str]) -> str:
    """Return *script* with other schemas.

    A name is renamed where it is one: before a dot, and after the word ``schema``. In a text, a
    schema's name together with that of one of its objects is that object; a schema's name that is
    all of the text is one where it is cast to ``regnamespace`` or compared with a schema's name.
    """
    if all(name == new for name, new in names.items()):
        return script
    pieces = list(tokens(script))
    made: list[str] = []
    for number, piece in enumerate(pieces):
        if piece.kind == "word" and piece.text in names:
            is_name = _next(pieces, number) == "." or _after_schema(pieces, number)
            made.append(names[piece.text] if is_name else piece.text)
        elif piece.kind == "dollar":
            tag, body = _body(piece.text)
            made.append(f"{tag}{_renamed_body(body, names, known)}{tag}")
        elif piece.kind in {"string", "escape"}:
            whole = piece.text[1:-1]
            if whole in names and _names_schema(pieces, number):
                made.append(f"'{names[whole]}'")
            else:
                made.append(_renamed_text(piece.text, names, known))
        elif piece.kind == "comment":
            made.append(_renamed_text(piece.text, names, known))
        else:
            made.append(piece.text)
    return "".join(made)


def _renamed_body(body: str, names: dict[str, str], known: frozenset[str]) -> str:
    """Rename in what stands between two dollar tags: a program, or the text of a comment."""
    # A program has a semicolon at the end of a line; prose between $doc$ has none.
    if re.search(r";\s*(--.*)?$", body, re.MULTILINE) and re.search(r"\b(begin|select)\b", body):
        return _renamed(body, names, known)
    return _renamed_text(body, names, known)


def _renamed_text(text: str, names: dict[str, str], known: frozenset[str]) -> str:
    return re.sub(
        rf"\b({'|'.join(_SCHEMAS)})\.(\w+|%)",
        lambda found: (
            f"{names[found[1]]}.{found[2]}" if found[2] == "%" or found[0] in known else found[0]
        ),
        text,
    )


def _body(dollar: str) -> tuple[str, str]:
    tag = dollar[: dollar.index("$", 1) + 1]
    return tag, dollar[len(tag) : -len(tag)]


def _around(pieces: list[Token], number: int, step: int) -> Iterator[str]:
    number += step
    while 0 <= number < len(pieces):
        if pieces[number].kind not in {"space", "comment"}:
            yield pieces[number].text
        number += step


def _next(pieces: list[Token], number: int) -> str:
    return next(_around(pieces, number, 1), "")


def _after_schema(pieces: list[Token], number: int) -> bool:
    """Whether a word stands in a list of names after the word ``schema``."""
    expects_comma = False
    for text in _around(pieces, number, -1):
        if text == "schema":
            return True
        if expects_comma != (text != ","):
            return False
        expects_comma = not expects_comma
    return False


def _names_schema(pieces: list[Token], number: int) -> bool:
    """Whether a text that is a schema's name is meant as one."""
    after = "".join(part for part, _ in zip(_around(pieces, number, 1), range(3), strict=False))
    if after.startswith("::regnamespace"):
        return True
    before = list(zip(_around(pieces, number, -1), range(30), strict=False))
    for text, _ in before:
        if text in {"schemaname", "nspname", "table_schema", "routine_schema"}:
            return True
        if text not in {"=", "<>", "(", ",", "in", "any", "array", "["} and text[0] != "'":
            return False
    return False


def __getattr__(name: str) -> str:
    if name == "POSTGRES_DURABLE_OPERATION_SCHEMA_SQL":
        return create_postgres_durable_operation_schema_sql()
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
