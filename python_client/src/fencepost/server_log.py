"""What PostgreSQL denied, as its own log says: ``jsonlog`` or ``csvlog``, as it is written.

The log is written by the server, but much of what is in it a client chose: the statement, the text
of an error that it raised itself, the name of its application. A line is therefore taken apart
exactly as the server puts it together. What stands inside of a value is never read as a line or as
another value, whatever it looks like, also where reading begins again after a line that was cut.

Nor does anything in the folder hold the reader: what is no file is not opened, and of a line that
is longer than a page the beginning is read and the rest passed over, a page at a time.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from . import text

DENIED = "42501"
"""``insufficient_privilege``, the one SQLSTATE of a permission that is missing."""

_ENDED = {"ERROR", "FATAL", "PANIC"}
_WENT_ON = {"LOG", "INFO", "NOTICE", "WARNING", *(f"DEBUG{n}" for n in range(1, 6))}

_LABEL = 200  # bytes that the kernel takes of a command, an application, a function
_HEAD = 1 << 20  # what is kept of a line; all that is needed of one stands before its statement
_PIECE = 1 << 16
_PAGE_DENIALS = 100
_PAGE_BYTES = 1 << 24
_LONGEST = _PAGE_BYTES
_KNOWN_BY = 256

_LINE = "line"
_VALUE = "value"

_TIME = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) (\S+)")
_SESSION = re.compile(r"[0-9a-f]{1,16}\.[0-9a-f]{1,8}")
_NUMBER = re.compile(r"[1-9]\d{0,17}")

_PAIR = re.compile(rb'"([a-z_]+)":(?:"([^"\\]*(?:\\.[^"\\]*)*)"|(-?\d+))([,}])')
_FIELD = re.compile(rb'(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))([,\n])')
_COLUMNS = (
    *("timestamp", "user", "dbname", "pid", "remote_host", "session_id", "line_num", "ps"),
    *("session_start", "vxid", "txid", "error_severity", "state_code", "message", "detail"),
    *("hint", "internal_query", "internal_position", "context", "statement", "cursor_position"),
    *("location", "application_name", "backend_type", "leader_pid", "query_id"),
)
"""The columns of ``csvlog``, by the names that they have in ``jsonlog``."""
_QUOTED = {"user", "dbname", "message", "application_name"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """One line of the log that says what was denied to whom; the arguments of the kernel's call."""

    session_id: str
    line_no: int
    denied_at: datetime
    role: str
    sqlstate: str
    message: str
    command: str | None = None
    application: str | None = None
    raised_in: str | None = None


@dataclass(frozen=True, slots=True)
class Position:
    """How far a file was read, and by what it is known again where another takes its name."""

    offset: int = 0
    known_by: int = 0
    sha256: str = ""
    rest: str = ""
    """What stands there is the rest of a long line, to be passed over, or of a value in one."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some of a file: what was denied, and where to go on when that is reported."""

    position: Position
    denials: list[Denial] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    """Of each line that could not be read, why."""


class _Unreadable(Exception):
    """A line that is not what the server writes; says why."""


def files(folder: Path) -> list[Path]:
    """Return the files of *folder* that the server may have written in these formats, oldest first.

    :raises OSError: the folder cannot be read.
    """
    found = []
    for path in folder.iterdir():
        if path.suffix not in _FORMATS:
            continue
        try:
            found.append((path.lstat().st_mtime_ns, path.name, path))
        except FileNotFoundError:  # removed since
            continue
    return [path for *_, path in sorted(found)]


def pages(path: Path, position: Position, *, database: str) -> Iterator[Page]:
    """Read on in a file, and yield what was denied in *database*, a page at a time.

    Ends where the file does, before a last line that is not yet whole. A file that is not the one
    of *position* any more, since the server has begun another under its name, is read from its
    beginning.

    :raises OSError: the file cannot be read, or is none.
    """
    form = _FORMATS[path.suffix]
    with _opened(path) as file:
        if not _is_known(file, position):
            position = Position()
        file.seek(position.offset)
        rest = position.rest
        while True:
            begin = file.tell()
            until = begin + _PAGE_BYTES
            denials: list[Denial] = []
            unreadable: list[str] = []
            rest = _passed_over(file, form, rest, until)
            while not rest and len(denials) < _PAGE_DENIALS and file.tell() < until:
                line = form.line(file)
                if line is None:
                    break
                rest = line.rest
                try:
                    denial = _denial(form, line, database)
                except _Unreadable as error:
                    length = f", and is longer than {_LONGEST} bytes" if rest else ""
                    unreadable.append(f"{error}{length}")
                else:
                    denials += [denial] if denial else []
            end = file.tell()
            if end == begin:
                return
            yield Page(_position(file, end, rest), denials, unreadable)
            file.seek(end)


def _opened(path: Path) -> BinaryIO:
    """Open a file for reading, and nothing else: no link, and nothing that could keep one waiting.

    :raises OSError: it is none.
    """
    _require_file(path.lstat().st_mode)  # a device may do something when it is opened
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    file = os.fdopen(os.open(path, flags), "rb")
    try:
        _require_file(os.fstat(file.fileno()).st_mode)
    except OSError:
        file.close()
        raise
    return file


def _require_file(mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "no file")
        message = f"it is {kind}, and no file that the server writes: move it elsewhere"
        raise OSError(errno.EINVAL, message)


_KINDS = {
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFSOCK: "a socket",
}


def _position(file: BinaryIO, offset: int, rest: str) -> Position:
    length = min(offset, _KNOWN_BY)
    file.seek(0)
    return Position(offset, length, hashlib.sha256(file.read(length)).hexdigest(), rest)


def _is_known(file: BinaryIO, position: Position) -> bool:
    """Return whether the file has the beginning that it had at *position*, and is that long."""
    file.seek(0)
    begins = hashlib.sha256(file.read(position.known_by)).hexdigest()
    is_long_enough = file.seek(0, 2) >= position.offset
    return is_long_enough and (not position.offset or begins == position.sha256)


# -- the two formats -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Line:
    """A line as it stands in the file; of a very long one only its beginning."""

    head: bytes
    is_whole: bool
    is_broken: bool = False
    """It was cut; what follows it is another's."""
    rest: str = ""
    """It is longer than ``_LONGEST``; what follows is the rest of it, or of a value in it."""


@dataclass(frozen=True, slots=True)
class _Format:
    """How lines are found, and taken apart."""

    line: Callable[[BinaryIO], _Line | None]
    values: Callable[[_Line], dict[str, str]]
    has_line_feeds: bool
    """Whether there are line feeds within quotes."""
    begins: re.Pattern[bytes]
    mark: bytes
    """Stands in every line that has the SQLSTATE."""


def _json_line(file: BinaryIO) -> _Line | None:
    begin, head, length = file.tell(), b"", 0
    while piece := file.readline(_PIECE):
        length += len(piece)
        if len(head) < _HEAD:
            head += piece
        if piece.endswith(b"\n"):
            return _Line(head, len(head) == length)
        if length >= _LONGEST:
            return _Line(head, is_whole=False, rest=_LINE)
    file.seek(begin)
    return None


def _json_values(line: _Line) -> dict[str, str]:
    found: dict[str, str] = {}
    at, end = len(b"{"), b","
    while end == b"," and (pair := _PAIR.match(line.head, at)):
        name, quoted, number, end = pair.groups()
        if number is None:
            try:
                value = json.loads(f'"{quoted.decode("utf-8", "replace")}"', strict=False)
            except ValueError:
                raise _Unreadable("it is no line of jsonlog") from None
        else:
            value = number.decode()
        found.setdefault(name.decode(), value)
        at = pair.end()
    if line.is_whole and (end != b"}" or line.head[at:] != b"\n"):
        raise _Unreadable("it is no line of jsonlog")
    if "func_name" in found:
        found["location"] = found["func_name"]
    return found


def _csv_line(file: BinaryIO) -> _Line | None:
    """Find the end of a record: a line feed outside of quotes.

    A record that was cut when its writer died leaves its quote open, and the next one goes on in
    the same line. Then that line alone is left, and the next is taken for a record. Inside of a
    value every quote is doubled, so that no record can be read there that has a quoted value.
    """
    begin, head, rest = file.tell(), bytearray(), ""  # of as many pieces as it has line feeds
    length = quotes = first = 0
    while piece := file.readline(_PIECE):
        if len(head) < _HEAD:
            head += piece
        quotes += piece.count(b'"')
        length += len(piece)
        if piece.endswith(b"\n"):
            first = first or length
            if quotes % 2 == 0:
                whole = _Line(bytes(head), len(head) == length)
                if length == first or not _is_broken(whole):
                    return whole
                break
        if length >= _LONGEST:
            rest = _VALUE if quotes % 2 else _LINE
            break
    if first and _is_broken(_Line(bytes(head), is_whole=False)):
        file.seek(begin + first)
        return _Line(b"", is_whole=True, is_broken=True)
    if rest:
        return _Line(bytes(head), is_whole=False, rest=rest)
    file.seek(begin)
    return None


def _passed_over(file: BinaryIO, form: _Format, rest: str, until: int) -> str:
    """Go on to the end of a long line, or to *until*; return what is there then."""
    left = until - file.tell()
    while rest and left > 0 and (piece := file.readline(_PIECE)):
        left -= len(piece)
        if form.has_line_feeds and piece.count(b'"') % 2:
            rest = _LINE if rest == _VALUE else _VALUE
        if rest == _LINE and piece.endswith(b"\n"):
            return ""
    return rest


def _is_broken(line: _Line) -> bool:
    """Return whether a record is none, however it may go on."""
    try:
        _csv_values(line)
    except _Unreadable:
        return True
    return False


def _csv_values(line: _Line) -> dict[str, str]:
    found: dict[str, str] = {}
    at, end = 0, b","
    for name in _COLUMNS:
        value = _FIELD.match(line.head, at)
        if value is None:
            break
        quoted, bare, end = value.groups()
        if bare and name in _QUOTED:
            raise _Unreadable("it is no record of csvlog")
        if quoted is not None:
            found[name] = quoted.replace(b'""', b'"').decode("utf-8", "replace")
        elif bare:
            found[name] = bare.decode("utf-8", "replace")
        at = value.end()
        if end == b"\n":
            break
    rest = line.head[at:]
    is_complete = name == _COLUMNS[-1] and end == b"\n" and not rest
    if not is_complete and (line.is_whole or end == b"\n" or not _may_go_on(rest)):
        raise _Unreadable("it is no record of csvlog")
    return found


def _may_go_on(rest: bytes) -> bool:
    """Return whether the rest of a record can be a value of which the end is not yet there."""
    if not rest.startswith(b'"'):
        return re.fullmatch(rb'[^",\r\n]*', rest) is not None
    return re.fullmatch(rb'"[^"]*(?:""[^"]*)*"?', rest) is not None


_FORMATS = {
    ".json": _Format(
        _json_line,
        _json_values,
        has_line_feeds=False,
        begins=re.compile(rb'{"timestamp":"\d{4}-'),
        mark=b'"state_code":"42501"',
    ),
    ".csv": _Format(
        _csv_line,
        _csv_values,
        has_line_feeds=True,
        begins=re.compile(rb"\d{4}-"),
        mark=b",42501,",
    ),
}


# -- what a line says ------------------------------------------------------------------------------


def _denial(form: _Format, line: _Line, database: str) -> Denial | None:
    """Return what a line says that was denied in *database*; nothing where it says anything else.

    :raises _Unreadable: it is no line of the server's, or one that says less than is needed.
    """
    if line.is_broken:
        raise _Unreadable("it was cut, and another goes on in it")
    if not form.begins.match(line.head):
        raise _Unreadable("it does not begin with a time")
    if form.mark not in line.head:
        return None
    found = form.values(line)
    if found.get("state_code") != DENIED or found.get("dbname") != database:
        return None
    severity = found.get("error_severity", "")
    if severity not in _ENDED | _WENT_ON:
        raise _Unreadable(f"it is {severity!r}, in a language: set lc_messages = 'C'")
    if severity in _WENT_ON:
        return None
    session, number = found.get("session_id", ""), found.get("line_num", "")
    if "user" not in found or "message" not in found or not _SESSION.fullmatch(session):
        raise _Unreadable("it does not say who was denied what")
    if not _NUMBER.fullmatch(number):
        raise _Unreadable("it has no number")
    raised_in = found.get("location", "").partition(",")[0]
    return Denial(
        session_id=session,
        line_no=int(number),
        denied_at=_time(found.get("timestamp", "")),
        role=found["user"],
        sqlstate=DENIED,
        message=text.head(text.harmless(found["message"])),
        command=_label(found.get("ps")),
        application=_label(found.get("application_name")),
        raised_in=_label(raised_in),
    )


def _label(value: str | None) -> str | None:
    """Return a short text as the kernel takes it, or nothing where there is nothing to see."""
    plain = text.head(text.harmless(value or ""), _LABEL)
    return plain if plain.strip() else None


def _time(value: str) -> datetime:
    found = _TIME.fullmatch(value)
    if found is None:
        raise _Unreadable("it does not begin with a time")
    if found[2] not in {"UTC", "GMT"}:
        raise _Unreadable(f"its time is one in {found[2]}: set log_timezone = 'UTC'")
    try:
        return datetime.fromisoformat(found[1]).replace(tzinfo=UTC)
    except ValueError:
        raise _Unreadable("it does not begin with a time") from None
