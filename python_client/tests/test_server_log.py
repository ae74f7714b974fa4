"""Files of the server's log: cut, grown, replaced, and full of what looks like a log."""

from __future__ import annotations

import os
import stat
import tracemalloc
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fencepost import server_log
from fencepost.server_log import Denial, Position

DENIAL = Denial(
    session_id="6a9632e4.1f",
    line_no=3,
    denied_at=datetime(2026, 11, 30, 20, 0, 0, 123000, tzinfo=UTC),
    role="anna",
    sqlstate="42501",
    message="permission denied for table campaign",
    command="UPDATE",
    application="psql",
    raised_in="aclcheck_error",
)


def json_line(number: int = 3, **other: str) -> bytes:
    """Return a line as PostgreSQL 15 and 18 write it."""
    values = {
        "timestamp": '"2026-11-30 20:00:00.123 UTC"',
        "user": '"anna"',
        "dbname": '"ledger"',
        "pid": "31",
        "remote_host": '"[local]"',
        "session_id": '"6a9632e4.1f"',
        "line_num": str(number),
        "ps": '"UPDATE"',
        "session_start": '"2026-11-30 19:59:48 UTC"',
        "vxid": '"3/7"',
        "txid": "0",
        "error_severity": '"ERROR"',
        "state_code": '"42501"',
        "message": '"permission denied for table campaign"',
        "statement": '"update ledger.campaign set label = \'\\"\\\\ü\\n\'"',
        "func_name": '"aclcheck_error"',
        "file_name": '"aclchk.c"',
        "file_line_num": "2843",
        "application_name": '"psql"',
        "backend_type": '"client backend"',
        "query_id": "-1",
    } | other
    pairs = ",".join(f'"{key}":{value}' for key, value in values.items() if value)
    return f"{{{pairs}}}\n".encode()


def csv_line(number: int = 3, **other: str) -> bytes:
    """Return a record as PostgreSQL 15 and 18 write it."""
    values = {
        "timestamp": "2026-11-30 20:00:00.123 UTC",
        "user": '"anna"',
        "dbname": '"ledger"',
        "pid": "31",
        "remote_host": '"[local]"',
        "session_id": "6a9632e4.1f",
        "line_num": str(number),
        "ps": '"UPDATE"',
        "session_start": "2026-11-30 19:59:48 UTC",
        "vxid": "3/7",
        "txid": "0",
        "error_severity": "ERROR",
        "state_code": "42501",
        "message": '"permission denied for table campaign"',
        "detail": "",
        "hint": "",
        "internal_query": "",
        "internal_position": "",
        "context": "",
        "statement": '"update ledger.campaign\nset label = \'""\'"',
        "cursor_position": "",
        "location": '"aclcheck_error, aclchk.c:2843"',
        "application_name": '"psql"',
        "backend_type": '"client backend"',
        "leader_pid": "",
        "query_id": "0",
    } | other
    return (",".join(values.values()) + "\n").encode()


FORMATS = {".json": json_line, ".csv": csv_line}


class Log:
    """A file of the log, read from where it was left."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.line = FORMATS[path.suffix]
        self.position = Position()

    def write(self, *content: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(b"".join(content))

    def read(self) -> tuple[list[int], list[str]]:
        """Return the numbers of the lines that say of a denial, and what could not be read."""
        numbers: list[int] = []
        unreadable: list[str] = []
        for page in server_log.pages(self.path, self.position, database="ledger"):
            numbers += [denial.line_no for denial in page.denials]
            unreadable += page.unreadable
            self.position = page.position
        return numbers, unreadable


@pytest.fixture(params=FORMATS)
def log(tmp_path: Path, request: pytest.FixtureRequest) -> Log:
    """Return an empty log in each format."""
    path = tmp_path / f"postgresql{request.param}"
    path.touch()
    return Log(path)


def quoted(log: Log, text: str) -> str:
    """Return a text as the format has it."""
    if log.path.suffix == ".csv":
        return '"' + text.replace('"', '""') + '"'
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def test_a_line_is_a_denial(log: Log) -> None:
    log.write(log.line())
    (page,) = server_log.pages(log.path, Position(), database="ledger")
    assert page.denials == [DENIAL]
    assert page.unreadable == []
    assert page.position.offset == log.path.stat().st_size


def test_what_may_be_missing(log: Log) -> None:
    unnamed = {"func_name": ""} if log.path.suffix == ".json" else {"location": ""}
    log.write(log.line(3, **{"ps": '""', "application_name": '" "'} | unnamed))
    (page,) = server_log.pages(log.path, Position(), database="ledger")
    (denial,) = page.denials
    assert (denial.command, denial.application, denial.raised_in) == (None, None, None)


def test_nothing_is_as_long_as_the_kernel_does_not_take(log: Log) -> None:
    long = quoted(log, "ü" * 5000)
    log.write(log.line(message=long, application_name=long, ps=long))
    (page,) = server_log.pages(log.path, Position(), database="ledger")
    (denial,) = page.denials
    assert denial.message == "ü" * 2048
    assert (denial.application, denial.command) == ("ü" * 100, "ü" * 100)


@pytest.mark.parametrize(
    "other",
    [
        {"dbname": '"postgres"'},
        {"state_code": "42601"},
        {"error_severity": "WARNING"},
        {"error_severity": "LOG"},
        {"user": "", "dbname": ""},
    ],
)
def test_what_is_no_denial_here_is_passed_by(log: Log, other: dict[str, str]) -> None:
    if log.path.suffix == ".json":
        other = {k: v if v[:1] in {'"', ""} else f'"{v}"' for k, v in other.items()}
    log.write(log.line(1, **other), log.line(2))
    assert log.read() == ([2], [])


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"timestamp": "2026-11-30 20:00:00.123 CET"}, "log_timezone"),
        ({"timestamp": "2026-13-30 20:00:00.123 UTC"}, "time"),
        ({"timestamp": "2026-11-30 20:00:00 UTC"}, "time"),
        ({"error_severity": "FEHLER"}, "lc_messages"),
        ({"session_id": "6a9632e4"}, "who was denied"),
        ({"line_num": "0"}, "number"),
        ({"line_num": "9999999999999999999"}, "number"),
    ],
)
def test_what_cannot_be_read_is_told_and_left(log: Log, other: dict[str, str], why: str) -> None:
    if log.path.suffix == ".json":
        other = {k: v if k == "line_num" else f'"{v}"' for k, v in other.items()}
    log.write(log.line(1), log.line(2, **other), log.line(4))
    numbers, unreadable = log.read()
    assert numbers == [1, 4]
    assert len(unreadable) == 1
    assert why in unreadable[0]


def test_a_line_is_read_when_it_is_whole(log: Log) -> None:
    """Wherever the writer was interrupted, and the reader looked."""
    whole = log.line(7)
    for cut in range(len(whole)):
        log.write(whole[cut : cut + 1])
        assert log.read() == ([7] if cut == len(whole) - 1 else [], []), cut


def test_a_cut_line_costs_itself_and_the_one_that_goes_on_in_it(log: Log) -> None:
    """Its writer died; another appends to the same file. Wherever that was, the rest is read."""
    for cut in range(1, len(log.line()) - 1):
        log.path.write_bytes(b"")
        log.position = Position()
        log.write(log.line(1), log.line(2)[:cut], log.line(3), log.line(4), log.line(5))
        numbers, unreadable = log.read()
        assert numbers in ([1, 4, 5], [1, 3, 4, 5]), cut
        assert unreadable, cut


def test_a_cut_line_is_told_as_soon_as_it_is_seen(log: Log) -> None:
    log.write(log.line(1), log.line(2)[: log.line().index(b"denied")], log.line(3))
    numbers, unreadable = log.read()
    assert numbers == [1]
    assert len(unreadable) >= 1
    log.write(log.line(4))
    assert log.read()[0] == [4]


def test_a_file_that_took_the_name_is_read_from_its_beginning(log: Log) -> None:
    """As with log_filename = 'postgresql-%a.log': shorter, as long, and longer than before."""
    log.write(log.line(1), log.line(2))
    assert log.read() == ([1, 2], [])
    for numbers in ([3], [4, 5], [6, 7, 8]):
        log.path.write_bytes(b"")
        when = f"2026-12-0{numbers[0]} 20:00:00.123 UTC"
        when = f'"{when}"' if log.path.suffix == ".json" else when
        log.write(*(log.line(number, timestamp=when) for number in numbers))
        assert log.read() == (numbers, [])
    assert log.read() == ([], [])


def test_many_are_read_in_pages(log: Log) -> None:
    log.write(*(log.line(number) for number in range(1, 251)))
    found = list(server_log.pages(log.path, Position(), database="ledger"))
    assert [len(page.denials) for page in found] == [100, 100, 50]
    again = list(server_log.pages(log.path, found[0].position, database="ledger"))
    assert [denial.line_no for page in again for denial in page.denials] == list(range(101, 251))


@pytest.mark.parametrize("before", ["", "\n", '"\n', '",\n', '""\n', '"}\n', '\\"\n', "\\\n"])
def test_what_a_client_writes_is_no_line(log: Log, before: str) -> None:
    """Also where reading begins again after a line that was cut."""
    texts = [
        before + line(9, user='"victim"').decode() + before[::-1] for line in (json_line, csv_line)
    ]
    texts += [text.replace('"', "") for text in texts]
    for text in texts:
        for place in ("message", "statement", "application_name"):
            log.path.write_bytes(b"")
            log.position = Position()
            broken = log.line(1)[: log.line(1).index(b"denied")]
            log.write(broken, log.line(2), log.line(3, **{place: quoted(log, text)}), log.line(4))
            found = [
                denial
                for page in server_log.pages(log.path, Position(), database="ledger")
                for denial in page.denials
            ]
            assert {denial.role for denial in found} == {"anna"}, (place, text)
            assert [denial.line_no for denial in found][-2:] == [3, 4], (place, text)


def test_what_a_client_writes_in_the_line_after_a_cut_is_no_line(log: Log) -> None:
    """Reading begins again in the middle of its text, where quotes are doubled, or missing."""
    record = csv_line(9, user='"victim"', statement='"x"', location='"aclcheck_error"')
    for forged in (json_line(9, user='"victim"'), record):
        for text in (forged.decode(), forged.decode().replace('"', "")):
            log.path.write_bytes(b"")
            broken = log.line(1)[: log.line(1).index(b"denied")]
            log.write(broken, log.line(3, statement=quoted(log, f"\n{text}")), log.line(4))
            found = [
                (denial.role, denial.line_no)
                for page in server_log.pages(log.path, Position(), database="ledger")
                for denial in page.denials
            ]
            assert found == [("anna", 4)], text


def test_of_a_very_long_line_the_beginning_is_read(log: Log) -> None:
    for text in ("x" * 3_000_000, '"\n' * 1_000_000, "é\\" * 1_000_000):
        log.path.write_bytes(b"")
        log.position = Position()
        log.write(log.line(1), log.line(2, statement=quoted(log, text)), log.line(3))
        assert log.read() == ([1, 2, 3], [])


def bytes_read() -> int:
    """Return how much this process has read so far."""
    (line,) = [x for x in Path("/proc/self/io").read_text().splitlines() if x.startswith("rchar:")]
    return int(line.split()[1])


def pages_of(log: Log) -> list[server_log.Page]:
    return list(server_log.pages(log.path, log.position, database="ledger"))


@pytest.mark.parametrize("text", ["x", '"\n', "é\\", "\n"])
def test_of_a_line_longer_than_a_page_the_rest_is_passed_over_in_pages(
    log: Log, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was denied is told at once; wherever reading begins again, nothing else is a line."""
    monkeypatch.setattr(server_log, "_PAGE_BYTES", 1 << 17)
    monkeypatch.setattr(server_log, "_LONGEST", 1 << 17)
    monkeypatch.setattr(server_log, "_HEAD", 1 << 16)
    forged = log.line(9, user='"victim"').decode()
    long = quoted(log, text * 300_000 + f"\n{forged}" + text * 300_000)
    log.write(log.line(1), log.line(2, statement=long), log.line(3))
    found = pages_of(log)
    assert len(found) > 3
    assert [denial.line_no for denial in found[0].denials] == [1, 2]
    for page in found:
        assert page.unreadable == []
        log.position = page.position
        left = [denial.line_no for more in pages_of(log) for denial in more.denials]
        assert left == ([3] if page is not found[-1] else [])
    assert found[0].position.rest, "the rest of a line"
    assert [denial.role for page in found for denial in page.denials] == ["anna"] * 3


def test_a_line_without_an_end_is_told_and_costs_no_memory(log: Log) -> None:
    """A gigabyte of nothing; what follows its end, whenever that comes, is read."""
    log.write(log.line(1))
    with log.path.open("ab") as file:
        file.truncate(1 << 30)
    tracemalloc.start()
    found = pages_of(log)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 32 << 20
    assert [denial.line_no for page in found for denial in page.denials] == [1]
    assert len(found) > 60, "between two of these it is looked whether to go on"
    (reason,) = [reason for page in found for reason in page.unreadable]
    assert "longer than 16777216 bytes" in reason
    log.position = found[-1].position
    before = bytes_read()
    assert log.read() == ([], [])
    assert bytes_read() - before < 1 << 20, "it is not read again"
    log.write(b"\n", log.line(2))
    assert log.read() == ([2], [])


def test_a_position_of_before_is_one(log: Log) -> None:
    log.write(log.line(1), log.line(2))
    (page,) = pages_of(log)
    kept = asdict(page.position)
    del kept["rest"]
    log.position = Position(**kept)
    assert log.read() == ([], [])


@pytest.mark.parametrize("kind", ["FIFO", "symbolic link", "device", "folder", "socket"])
def test_what_is_no_file_is_told_and_not_opened(log: Log, kind: str) -> None:
    log.path.unlink()
    if kind == "FIFO":
        os.mkfifo(log.path)
    elif kind == "symbolic link":
        log.path.symlink_to("/dev/zero")
    elif kind == "folder":
        log.path.mkdir()
    elif kind == "socket":
        os.mknod(log.path, stat.S_IFSOCK | 0o600)
    elif os.geteuid() == 0:
        os.mknod(log.path, stat.S_IFCHR | 0o600, os.makedev(1, 5))  # /dev/zero
    else:
        pytest.skip("only root makes a device")
    with pytest.raises(OSError, match=f"it is a {kind}, .* move it elsewhere"):
        pages_of(log)


def test_a_fifo_that_takes_the_place_of_a_file_in_that_moment_is_not_waited_for(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is looked at in the end is what was opened."""
    real = log.path.with_name("real")
    log.path.rename(real)
    os.mkfifo(log.path)
    monkeypatch.setattr(type(log.path), "lstat", lambda _: real.stat())
    with pytest.raises(OSError, match="it is a FIFO"):
        pages_of(log)


def test_a_link_in_a_circle_hides_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "a.json").symlink_to("b.json")
    (tmp_path / "b.json").symlink_to("a.json")
    (tmp_path / "c.json").touch()
    assert {path.name for path in server_log.files(tmp_path)} == {"a.json", "b.json", "c.json"}


def test_files_of_both_formats_are_found_the_oldest_first(tmp_path: Path) -> None:
    for name in ("b.json", "a.csv", "c.log", "d.json.gz"):
        (tmp_path / name).touch()
    os.utime(tmp_path / "b.json", (1, 1))
    assert [path.name for path in server_log.files(tmp_path)] == ["b.json", "a.csv"]
