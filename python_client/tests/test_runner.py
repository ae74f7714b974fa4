"""What happens to a command, and to all that it started."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest

from fencepost import environment, runner, supervisor
from fencepost.interrupt import Interrupt
from fencepost.runner import Run

# Three generations, each in a session of its own, that do not want to end.
STUBBORN = (
    'trap "" TERM; echo $$ >> pids; '
    'setsid sh -c \'trap "" TERM; echo $$ >> pids; (setsid sh -c "echo \\$\\$ >> pids; '
    "trap : TERM; while :; do sleep 0.1; done\" &); while :; do sleep 0.1; done' & "
    "while :; do sleep 0.1; done"
)


def run(
    tmp_path: Path,
    *command: str,
    limit: float | None = None,
    stop_after: float | None = None,
    grace: float = 0.5,
    output: io.BytesIO | None = None,
) -> Run:
    with Interrupt() as interrupt:
        timer = threading.Timer(stop_after or 0, interrupt.set, ["enough"])
        if stop_after is not None:
            timer.start()
        try:
            return runner.run(
                command,
                folder=tmp_path,
                environment=environment.scrubbed(tmp_path),
                time_limit=None if limit is None else timedelta(seconds=limit),
                interrupt=interrupt,
                grace=timedelta(seconds=grace),
                output=output,
            )
        finally:
            timer.cancel()
            if stop_after is not None:
                timer.join()


def lives(process: int) -> bool:
    try:
        stat = Path("/proc", str(process), "stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in {"Z", "X"}


def wait_for_pids(path: Path, count: int) -> list[int]:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if path.exists() and len(found := path.read_text().split()) >= count:
            return [int(line) for line in found]
        time.sleep(0.02)
    pytest.fail("the command did not start in time")


def wait_until_gone(processes: list[int], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while any(lives(process) for process in processes):
        assert time.monotonic() < deadline, "still alive"
        time.sleep(0.02)


def test_exit_code_and_output_of_both_streams(tmp_path: Path) -> None:
    found = run(tmp_path, "sh", "-c", "echo out; echo err >&2; exit 3")
    assert found.exit_code == 3
    assert found.tail == b"out\nerr\n"
    assert str(found) == "exit code 3"
    assert not found.is_success


def test_success(tmp_path: Path) -> None:
    assert run(tmp_path, "true").is_success


def test_a_program_that_does_not_exist_is_not_an_exit_code(tmp_path: Path) -> None:
    found = run(tmp_path, "no-such-program")
    assert found.exit_code is None
    assert found.errno is not None
    assert "no-such-program" in str(found)


def test_a_signal_has_its_name(tmp_path: Path) -> None:
    found = run(tmp_path, "sh", "-c", "kill -SEGV $$")
    assert found.exit_code == -signal.SIGSEGV
    assert str(found) == "ended by SIGSEGV"


def test_the_time_limit_ends_it(tmp_path: Path) -> None:
    found = run(tmp_path, "sleep", "60", limit=0.2)
    assert found.timed_out
    assert not found.is_success
    assert found.seconds < 5


def test_term_comes_first_and_a_command_may_use_it(tmp_path: Path) -> None:
    script = 'trap "echo bye; exit 0" TERM; echo $$ > pids; while :; do sleep 0.05; done'
    found = run(tmp_path, "sh", "-c", script, stop_after=0.5, grace=10)
    assert found.stopped == "enough"
    assert found.tail.endswith(b"bye\n")
    assert not found.is_success
    assert found.seconds < 5


def test_everything_it_started_ends_with_it_whatever_its_session(tmp_path: Path) -> None:
    found = run(tmp_path, "sh", "-c", STUBBORN, stop_after=1.0)
    processes = wait_for_pids(tmp_path / "pids", 3)
    assert found.stopped == "enough"
    assert not [process for process in processes if lives(process)]


def test_a_stopped_process_is_ended_too(tmp_path: Path) -> None:
    found = run(tmp_path, "sh", "-c", "echo $$ > pids; kill -STOP $$", stop_after=0.5)
    assert found.stopped == "enough"
    assert not lives(wait_for_pids(tmp_path / "pids", 1)[0])


def test_what_it_leaves_behind_is_ended(tmp_path: Path) -> None:
    found = run(tmp_path, "sh", "-c", "setsid sh -c 'echo $$ > pids; sleep 60' & sleep 0.3")
    assert found.is_success
    assert not lives(wait_for_pids(tmp_path / "pids", 1)[0])


# Each link forks, so that no look at a list of processes finds the same one twice.
CHAIN = """
import os, signal, sys, time
if os.fork():
    time.sleep(0.2)
    sys.exit()
os.setsid()
for number in range(1, 32):
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_IGN)
end = time.monotonic() + 20
while time.monotonic() < end:
    if os.fork():
        os._exit(0)
    with open("links", "a") as file:
        file.write(".")
"""


def test_a_chain_of_forks_does_not_get_away(tmp_path: Path) -> None:
    found = run(tmp_path, sys.executable, "-c", CHAIN)
    links = tmp_path / "links"
    count = links.stat().st_size
    assert found.is_success
    assert found.seconds < 15
    time.sleep(0.3)
    assert links.stat().st_size == count


@pytest.mark.parametrize("limit", [0.5, None], ids=["limit", "stop"])
def test_a_command_that_stops_its_supervisor_is_ended_on_time(
    tmp_path: Path, limit: float | None
) -> None:
    script = "echo $$ > pids; kill -STOP $PPID; sleep 60"
    stop_after = 0.5 if limit is None else None
    found = run(tmp_path, "sh", "-c", script, limit=limit, stop_after=stop_after)
    assert found.timed_out == (limit is not None)
    assert found.stopped == (None if limit else "enough")
    assert found.seconds < 8
    assert not lives(wait_for_pids(tmp_path / "pids", 1)[0])


def test_a_command_that_keeps_its_supervisor_stopped_is_killed_with_the_true_reason(
    tmp_path: Path,
) -> None:
    """As if something stopped it again each time that it is woken."""
    code = f"""
import sys
from datetime import timedelta
from pathlib import Path
from fencepost import environment, runner, supervisor
from fencepost.interrupt import Interrupt
supervisor.adopt_orphans()
runner.MARGIN = timedelta(seconds=1)
runner._Supervised._wake = lambda self: None
folder = Path({str(tmp_path)!r})
command = ["sh", "-c", "echo $$ >> pids; setsid sh -c 'echo $$ >> pids; sleep 60' & "
           "sleep 0.3; kill -STOP $PPID; sleep 60"]
with Interrupt() as interrupt:
    print(runner.run(command, folder=folder, environment=environment.scrubbed(folder),
                     time_limit=timedelta(seconds=1), interrupt=interrupt,
                     grace=timedelta(seconds=0.5)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=30
    )
    assert done.stdout.startswith("stopped at its time limit"), done.stderr
    assert not [process for process in wait_for_pids(tmp_path / "pids", 2) if lives(process)]


def test_output_without_end_neither_blocks_nor_fills_memory(tmp_path: Path) -> None:
    output = io.BytesIO()
    found = run(tmp_path, "sh", "-c", "head -c 5000000 /dev/zero; echo; echo end", output=output)
    assert found.is_success
    assert len(found.tail) == runner.TAIL_BYTES
    assert found.tail.endswith(b"\nend\n")
    assert len(output.getvalue()) == 5000005


def test_the_file_for_the_output_has_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "OUTPUT_BYTES", 1000)
    output = io.BytesIO()
    found = run(tmp_path, "sh", "-c", "head -c 5000 /dev/zero; echo end", output=output)
    assert output.getvalue().startswith(b"\0" * 1000)
    assert len(output.getvalue()) < 1200
    assert found.tail.endswith(b"end\n")


def test_it_has_no_terminal_no_input_no_descriptors_and_default_signals(tmp_path: Path) -> None:
    with Path("/dev/null").open("rb") as file:
        os.set_inheritable(file.fileno(), True)
        script = (
            "import os, signal, sys\n"
            "assert os.read(0, 1) == b''\n"
            "assert os.getsid(0) == os.getpgid(0) == os.getpid()\n"
            "held = [int(n) for n in os.listdir('/proc/self/fd')]\n"
            "print(sorted(n for n in held if os.path.exists(f'/proc/self/fd/{n}')))\n"
            "for n in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):\n"
            "    assert signal.getsignal(n) is signal.SIG_DFL, n\n"
        )
        found = run(tmp_path, "python3", "-c", script)
    assert found.tail == b"[0, 1, 2]\n"
    assert found.is_success


def test_a_command_that_kills_its_supervisor_dies_and_its_end_is_not_known(tmp_path: Path) -> None:
    code = f"""
import sys
from datetime import timedelta
from pathlib import Path
from fencepost import environment, runner, supervisor
from fencepost.interrupt import Interrupt
supervisor.adopt_orphans()
folder = Path({str(tmp_path)!r})
command = ["sh", "-c", "echo $$ >> pids; setsid sh -c 'echo $$ >> pids; sleep 60' & "
           "sleep 0.3; kill -9 $PPID; sleep 60"]
with Interrupt() as interrupt:
    found = runner.run(command, folder=folder, environment=environment.scrubbed(folder),
                       time_limit=None, interrupt=interrupt)
print(found)
assert found.exit_code is None and found.errno is None and not found.is_success
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=30
    )
    assert done.stdout == "its supervisor was killed\n", done.stderr
    wait_until_gone(wait_for_pids(tmp_path / "pids", 2), 2)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("first", ["", "kill -STOP $PPID; "], ids=["", "stopped supervisor"])
def test_it_dies_with_this_process_and_its_folder_goes_too(
    tmp_path: Path, number: signal.Signals, first: str
) -> None:
    folder = tmp_path / "root"
    folder.mkdir()
    pids = tmp_path / "pids"
    code = f"""
from pathlib import Path
from fencepost import environment, runner, supervisor
from fencepost.interrupt import Interrupt
supervisor.hide_memory()
folder = Path({str(folder)!r})
script = {first + STUBBORN.replace("pids", str(pids))!r}
with Interrupt() as interrupt:
    runner.run(["sh", "-c", script], folder=folder, environment=environment.scrubbed(folder),
               time_limit=None, interrupt=interrupt, discard=folder)
"""
    with subprocess.Popen([sys.executable, "-c", code]) as worker:
        processes = wait_for_pids(pids, 3)
        worker.send_signal(number)
        worker.wait(timeout=10)
        wait_until_gone(processes, 4)
    deadline = time.monotonic() + 5
    while folder.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_discarding_what_was_made_unremovable(tmp_path: Path) -> None:
    folder = tmp_path / "root"
    deep = folder
    for _ in range(300):
        deep = deep / "d"
    deep.mkdir(parents=True)
    (folder / "locked").mkdir()
    (folder / "locked" / "file").touch()
    (folder / "locked").chmod(0)
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o700)
    (folder / "link").symlink_to(outside)
    supervisor.discard(folder)
    assert not folder.exists()
    assert outside.exists()


def test_what_a_command_starts_to_clear_up_has_its_time(tmp_path: Path) -> None:
    script = "trap 'sleep 1 && echo cleared; exit 3' TERM; while :; do sleep 0.1; done"
    found = run(tmp_path, "sh", "-c", script, limit=0.5, grace=10)
    assert found.timed_out
    assert b"cleared" in found.tail
