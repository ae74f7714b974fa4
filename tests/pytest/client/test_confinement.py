"""What a command in a sandbox, or under another account, cannot see, reach or leave behind."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pwd
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

import fencepost
from tests.pytest.client import keys, spy
from tests.pytest.client.conftest import Process, git

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.pytest.client.conftest import World

FIX = "echo right > answer"
PYTHON = "/usr/bin/python3"
LARGE = ("*mypy*", "asyncpg*", "embedded*", "hypothesis*", "pglast*", "pip*", "setuptools*")
"""Packages that the tests have and the client does not need."""
IS_ROOT = os.geteuid() == 0

needs_root = pytest.mark.skipif(not IS_ROOT, reason="only root can run a command as another")


@dataclass
class Machine:
    """An account with everything that a command is not to see, and a client that runs under it."""

    world: World
    folder: Path
    program: list[str]
    """The client's own command, as the account can run it."""
    account: str | None = None
    """Whose processes they are; the tests' own account if ``None``."""
    hidden: dict[str, str] = field(default_factory=dict)
    """What must not be seen, by the file that it stands in."""
    environment: dict[str, str] = field(
        default_factory=lambda: {
            name: secrets.token_hex(16)
            for name in ("AWS_SECRET_ACCESS_KEY", "FENCEPOST_PLANTED", "GITHUB_TOKEN")
        }
    )
    """What the client's own environment has beside what it needs; no command is to see it."""
    application: str = field(default_factory=lambda: secrets.token_hex(16))
    """What the client's connection string holds."""

    @property
    def home(self) -> Path:
        """The account's own folder."""
        return self.folder / "home"

    def settle(self) -> None:
        """Write the files, with a secret in each, and move the target to where all may go."""
        for name in ("home", "home/.ssh", "evidence"):
            (self.folder / name).mkdir(mode=0o700)
        (self.folder / "tmp").mkdir(mode=0o755)
        for duty in ("worker", "verifier"):
            passfile = self.world.people[duty].passfile.read_text()
            self.hide(f"home/{duty}.pass", passfile, passfile.strip().rpartition(":")[2])
        marker = secrets.token_hex(16)
        services = "".join(
            f"[{duty}]\nhost={os.environ['PGHOST']}\nport={os.environ['PGPORT']}\n"
            f"user={self.world.people[duty].name}\ndbname={self.world.database}\n"
            f"passfile={self.home}/{duty}.pass\nsslkey={marker}\n"
            for duty in ("worker", "verifier")
        )
        self.hide("home/.pg_service.conf", services, marker)
        for name in ("home/.ssh/id_ed25519", "evidence/earlier.log"):
            marker = secrets.token_hex(16)
            self.hide(name, marker, marker)
        marker = secrets.token_hex(16)
        store = self.home / ".git-credentials"
        self.hide("home/.git-credentials", f"https://me:{marker}@example.org\n", marker)
        helper = f"[credential]\n\thelper = store --file={store}\n"
        self.hide("home/.gitconfig", f"{helper}[user]\n\temail={marker}\n", marker)
        target = self.folder / "target.git"
        git(self.folder, "clone", "--quiet", "--mirror", str(self.world.repository), str(target))
        self.world.repository = target
        self.world.define_target()
        if self.account is not None:
            user = pwd.getpwnam(self.account)
            for top, folders, files in os.walk(self.folder):
                for path in (top, *(os.path.join(top, n) for n in (*folders, *files))):  # noqa: PTH118
                    os.chown(path, user.pw_uid, user.pw_gid, follow_symlinks=False)

    def hide(self, name: str, content: str, marker: str) -> None:
        """Write a file that only the account can read."""
        path = self.folder / name
        path.write_text(content)
        path.chmod(0o600)
        self.hidden[name] = marker

    def start(self, duty: str, *arguments: str, **more: str) -> Process:
        """Start ``fencepost DUTY`` as the account, with a service file and a passfile."""
        log = self.folder / f"{duty}-{len(self.world.running)}.log"
        command = [*self.program, duty, "--class", "upkeep", "--once", "--service", duty]
        command += ["--dsn", f"application_name={self.application}"]
        if duty == "verifier":
            command += ["--evidence-dir", str(self.folder / "evidence")]
        environment = {
            "PATH": "/usr/bin:/bin",
            "PYTHONDONTWRITEBYTECODE": "1",
            "LANG": "C.UTF-8",
            "HOME": str(self.home),
            "TMPDIR": str(self.folder / "tmp"),
            "PGSERVICEFILE": str(self.home / ".pg_service.conf"),
            "FENCEPOST_GIT_CONFIG": str(self.home / ".gitconfig"),
        }
        user = None if self.account is None else pwd.getpwnam(self.account)
        with log.open("w") as file:
            popen = subprocess.Popen(
                [*command, *arguments],
                env=self.environment | environment | more,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                text=True,
                cwd=self.folder,
                user=None if user is None else user.pw_uid,
                group=None if user is None else user.pw_gid,
                extra_groups=None if user is None else [],
            )
        process = Process(popen, log)
        self.world.running.append(process)
        return process

    def work(self, *command: str, options: Sequence[str] = (), code: int = 0) -> str:
        """Run a worker once; return what it printed."""
        return self.start("worker", *options, "--", *command).ends(code, seconds=60)

    def verify(self, *options: str, code: int = 0) -> str:
        """Run a verifier once; return what it printed."""
        return self.start("verifier", *options).ends(code, seconds=60)

    def spied(self, *options: str) -> tuple[bytes, bytes, dict[str, list[str]]]:
        """Let a worker's command look around.

        Return what it was given, what it saw with that, and what it could do.
        """
        script = self.folder / "spy.py"
        shutil.copy(spy.__file__, script)
        script.chmod(0o755)
        paths = [str(self.folder / name) for name in self.hidden]
        paths.append(f"{os.environ['PGHOST']}/.s.PGSQL.{os.environ['PGPORT']}")
        shown = ["--share", str(script)] if "--sandbox" in options else []
        self.world.open_campaign()
        said = self.work(PYTHON, str(script), ".", *paths, options=[*options, *shown])
        attempt = self.world.attempt()
        assert attempt["result"], f"{said}{attempt['reason']}"
        ref = attempt["result"]["pushed_ref"]
        given, seen, done = (
            git(self.world.repository, "show", f"{ref}:{name}")
            for name in ("given", "seen", "done")
        )
        return base64.b64decode(given), base64.b64decode(seen), json.loads(done)

    def evidence(self) -> str:
        """Return what the acceptance command printed the last time."""
        path = self.world.campaign()["evidence_uri"].removeprefix("file://")
        return Path(path).read_text()


@pytest.fixture(scope="session")
def copied() -> Iterator[list[str]]:
    """Yield a command that starts the client from a copy that any account can read."""
    with tempfile.TemporaryDirectory(prefix="fencepost-client-", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        packages = Path(psycopg.__file__).parents[1]
        ignored = shutil.ignore_patterns(*LARGE, "__pycache__")
        shutil.copytree(packages, folder, ignore=ignored, dirs_exist_ok=True)
        shutil.copytree(Path(fencepost.__file__).parent, folder / "fencepost")
        start = f"import sys; sys.path.insert(0, {name!r}); from fencepost.cli import main; main()"
        yield [PYTHON, "-c", start]


@pytest.fixture(params=["own", "plain"])
def machine(request: pytest.FixtureRequest, world: World, copied: list[str]) -> Iterator[Machine]:
    """Yield a machine: under the tests' own account, and if that is root under a plain one too."""
    account, program = None, [str(Path(sys.executable).with_name("fencepost"))]
    if request.param == "plain":
        if not IS_ROOT:
            pytest.skip("the tests' own account is a plain one")
        # The cluster's: nobody else reaches its socket. Root's Python may be out of its reach.
        account, program = "postgres", copied
    folder = Path(tempfile.mkdtemp(prefix="fencepost-test-", dir="/tmp"))
    folder.chmod(0o755)
    made = Machine(world, folder, program, account)
    made.settle()
    yield made
    for process in world.running:
        if process.popen.poll() is None:
            process.popen.kill()
            process.popen.wait()
    shutil.rmtree(folder)


@pytest.fixture
def door(cluster: Path) -> Iterator[int]:
    """Yield a TCP port behind which the server is, as behind ``listen_addresses``."""
    server = f"{cluster}/.s.PGSQL.{os.environ['PGPORT']}"
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    with client, socket.socket(socket.AF_UNIX) as behind:
                        behind.connect(server)
                        behind.sendall(client.recv(4096))
                        client.sendall(behind.recv(4096))

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


MODES: list[Any] = [
    pytest.param(["--sandbox"], id="sandbox"),
    pytest.param(["--sandbox", "--no-network"], id="sandbox-without-network"),
]


AS_NOBODY = ["--run-as", "nobody"]


def test_without_either_a_command_reads_what_the_account_can(machine: Machine) -> None:
    """What the tests below show is not there, the same command finds where nothing hides it."""
    given, seen, done = machine.spied()
    for name, marker in machine.hidden.items():
        assert marker.encode() in seen, name
    assert machine.application.encode() in seen, "the command line of the client above it"
    for name, marker in machine.environment.items():
        # Root alone reads it from the client, which others cannot look into.
        assert (marker.encode() in seen) == (IS_ROOT and machine.account is None), name
    assert_given_nothing(machine, given)
    assert done["connected"], "and reaches the server's socket"


@pytest.mark.parametrize("options", MODES)
def test_in_a_sandbox_it_sees_no_credentials(machine: Machine, options: list[str]) -> None:
    assert_blind(machine, *options)


@needs_root
@pytest.mark.parametrize("options", [[], ["--sandbox"]], ids=["", "and a sandbox"])
@pytest.mark.parametrize("machine", ["own"], indirect=True)
def test_under_another_account_it_sees_none_either(machine: Machine, options: list[str]) -> None:
    assert_blind(machine, *AS_NOBODY, *options)


def assert_given_nothing(machine: Machine, given: bytes) -> None:
    """Insist that a command was started with nothing of the client's own."""
    assert b"FENCEPOST_BRIEF=" in given, "it is the command's environment"
    for name, marker in machine.environment.items():
        assert marker.encode() not in given, name
    for marker in (*machine.hidden.values(), machine.application):
        assert marker.encode() not in given


def assert_blind(machine: Machine, *options: str) -> None:
    """Insist that a spy under *options* finds nothing."""
    given, seen, done = machine.spied(*options)
    assert_given_nothing(machine, given)
    for name, marker in (machine.hidden | machine.environment).items():
        assert marker.encode() not in seen, name
    # Without a sandbox every account sees every command line: this is why no password stands there.
    assert (machine.application.encode() in seen) == ("--sandbox" not in options)
    assert done["read"] == []
    assert done["connected"] == []
    if "--sandbox" in options:
        assert set(done["visible"]) <= {"bwrap", Path(PYTHON).name, Path(PYTHON).resolve().name}
    assert set(done["traced"]) <= {"bwrap"}, "what holds the sandbox, and knows nothing"
    assert set(done["descriptors"]) == {"/dev/null", "pipe"}


has_keyrings = pytest.mark.skipif(
    not Path("/proc/keys").exists(), reason="the kernel has no keyrings (CONFIG_KEYS)"
)


def keys_found(machine: Machine, options: Sequence[str]) -> tuple[bytes, bytes, bytes]:
    """Let a worker whose account holds keys run a command that looks for them.

    Return the one of the worker's session, that of its account, and what the command found.
    """
    script = machine.folder / "keys.py"
    shutil.copy(keys.__file__, script)
    script.chmod(0o755)
    where = machine.folder / "tmp" / "numbers"
    session, account = secrets.token_hex(8), secrets.token_hex(8)
    machine.program = [PYTHON, str(script), "hold", str(where), session, account, *machine.program]
    machine.world.open_campaign()
    seek = [PYTHON, str(script), "seek", str(where), "seen"]
    shown = ["--share", str(script), "--share", str(where)] if "--sandbox" in options else []
    where.touch()
    if machine.account is not None:
        os.chown(where, pwd.getpwnam(machine.account).pw_uid, -1)
    command = ["sh", "-c", '"$@" && touch done', "sh", *seek]
    said = machine.work(*command, options=[*options, *shown])
    where.unlink()
    attempt = machine.world.attempt()
    assert attempt["result"], f"{said}{attempt['reason']}"
    ref = attempt["result"]["pushed_ref"]
    found = git(machine.world.repository, "show", f"{ref}:seen")
    return session.encode(), account.encode(), bytes.fromhex(found)


@has_keyrings
def test_the_keyring_of_the_session_is_not_the_commands(machine: Machine) -> None:
    session, account, found = keys_found(machine, [])
    assert session not in found
    assert account in found, "what every process of the account has; so it looks in the right way"


@has_keyrings
@pytest.mark.parametrize("options", MODES)
def test_in_a_sandbox_there_is_no_keyring(machine: Machine, options: list[str]) -> None:
    assert keys_found(machine, options)[2] == b"", "neither the keys nor their names"


@needs_root
@has_keyrings
@pytest.mark.parametrize("options", [[], ["--sandbox"]], ids=["", "and a sandbox"])
@pytest.mark.parametrize("machine", ["own"], indirect=True)
def test_under_another_account_there_is_none_of_the_clients(
    machine: Machine, options: list[str]
) -> None:
    session, account, found = keys_found(machine, [*AS_NOBODY, *options])
    assert session not in found
    assert account not in found


@pytest.mark.parametrize("options", MODES)
def test_in_a_sandbox_a_worker_does_what_it_does_elsewhere(
    machine: Machine, options: list[str]
) -> None:
    """Git, commits of its own, a file that takes another's place, and a program from elsewhere."""
    agent = machine.home / "agent"
    agent.write_text(
        "#!/bin/sh\necho right > answer && git add -A && git commit -qm mine || exit 1\n"
        'echo "say right" > new && mv new "$FENCEPOST_APPROACH"\n'
        'test -s "$FENCEPOST_BRIEF" && test -z "$(find "$HOME" -type f)" && ls "$TMPDIR" > tmp\n'
    )
    agent.chmod(0o755)
    machine.world.open_campaign()
    machine.work(str(agent), options=options)
    attempt = machine.world.attempt()
    assert attempt["result"] is not None, attempt["reason"]
    assert attempt["approach"] == "say right"
    assert attempt["result"]["base"] == machine.world.value()
    assert list((machine.folder / "tmp").iterdir()) == []
    assert "verified" in machine.verify("--sandbox")
    assert machine.world.value() == attempt["result"]["commit"]


@needs_root
@pytest.mark.parametrize("machine", ["own"], indirect=True)
def test_another_account_is_the_commands_own_in_everything(machine: Machine) -> None:
    machine.world.open_campaign()
    script = 'id > answer; echo $USER $LOGNAME >> answer; echo x > "$HOME/x"; mv answer check.txt'
    machine.work("sh", "-c", f'{script}; echo ok > "$FENCEPOST_APPROACH"', options=AS_NOBODY)
    attempt = machine.world.attempt()
    assert attempt["approach"] == "ok", attempt["reason"]
    seen = git(machine.world.repository, "show", f"{attempt['result']['commit']}:check.txt")
    nobody = pwd.getpwnam("nobody")
    assert f"uid={nobody.pw_uid}(nobody)" in seen
    assert f"groups={nobody.pw_gid}(" in seen, "no group but its own"
    assert "," not in seen
    assert seen.endswith("nobody nobody")
    assert list((machine.folder / "tmp").iterdir()) == []


JUDGED = r"""
import json, os, socket, subprocess, sys
done = {}
unix, port, repository, *files = sys.argv[1:]
for name, family, address in (
    ("unix", socket.AF_UNIX, unix), ("tcp", socket.AF_INET, ("127.0.0.1", int(port)))
):
    with socket.socket(family) as client:
        client.settimeout(5)
        done[name] = False
        if client.connect_ex(address) == 0:
            client.sendall(bytes.fromhex("00000008 04d2162f"))  # may we use TLS?
            done[name] = client.recv(1) in (b"S", b"N")
done["read"] = [name for name in files if os.access(name, os.R_OK)]
push = ["git", "push", repository, "HEAD:refs/heads/stolen"]
done["push"] = subprocess.run(push, capture_output=True).returncode == 0
print("found:", json.dumps(done))
"""


@pytest.mark.parametrize("options", [[], ["--sandbox"]], ids=["open", "sandbox"])
def test_what_is_judged_reaches_neither_ledger_nor_evidence_nor_target(
    machine: Machine, door: int, options: list[str]
) -> None:
    world = machine.world
    files = [str(machine.folder / name) for name in machine.hidden]
    socket_of_it = f"{os.environ['PGHOST']}/.s.PGSQL.{os.environ['PGPORT']}"
    world.define_target(
        command=[*(PYTHON, "-c", JUDGED, socket_of_it, str(door), str(world.repository), *files)]
    )
    world.open_campaign()
    machine.work("sh", "-c", FIX)
    machine.verify(*options)
    (line,) = [x for x in machine.evidence().splitlines() if x.startswith("found: ")]
    done = json.loads(line.removeprefix("found: "))
    stolen = git(world.repository, "for-each-ref", "refs/heads/stolen")
    if options:
        assert done == {"unix": False, "tcp": False, "read": [], "push": False}
        assert stolen == ""
    else:
        assert done == {"unix": True, "tcp": True, "read": files, "push": True}
        assert stolen != "", "what the sandbox prevents is possible without it"
    assert world.campaign()["state"] == "verified"


@pytest.mark.parametrize(("options", "reached"), [([], True), (["--no-network"], False)])
@pytest.mark.parametrize("machine", ["own"], indirect=True)
def test_a_sandboxed_worker_has_the_network_unless_it_is_taken(
    machine: Machine, door: int, options: list[str], *, reached: bool
) -> None:
    machine.world.open_campaign()
    connect = f"import socket; socket.create_connection(('127.0.0.1', {door}), 5)"
    machine.work(PYTHON, "-c", connect, options=["--sandbox", *options])
    reason = machine.world.attempt()["reason"]
    assert ("nothing was changed" in reason) == reached
    assert ("refused" in reason) != reached


@needs_root
@pytest.mark.parametrize("machine", ["own"], indirect=True)
def test_in_a_sandbox_root_does_not_set_what_the_kernel_does(machine: Machine) -> None:
    machine.world.open_campaign()
    opened = "open('/proc/sys/kernel/core_pattern', 'r+')"  # for writing; nothing is written
    machine.work(PYTHON, "-c", opened, options=["--sandbox"])
    assert "Read-only file system" in machine.world.attempt()["reason"]


@pytest.mark.parametrize("options", [[], ["--sandbox"]], ids=["open", "sandbox"])
def test_a_daemon_does_not_survive(machine: Machine, options: list[str]) -> None:
    mark = f"fencepost-daemon-{secrets.token_hex(8)}"
    daemon = f"trap '' TERM HUP INT; echo $$ > alive; sleep 600; : {mark}"
    script = (
        '(setsid sh -c "$0" &); while ! test -s alive; do sleep 0.1; done; '
        'echo "daemon $(cat alive)"'
    )
    machine.world.define_target(command=["sh", "-c", script, daemon])
    machine.world.open_campaign()
    machine.work("sh", "-c", FIX)
    machine.verify(*options)
    assert re.search(r"^daemon \d+$", machine.evidence(), re.MULTILINE), "it was there"
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert mark.encode() not in path.read_bytes(), path
        except OSError:
            continue


@pytest.mark.parametrize("machine", ["own"], indirect=True)
def test_in_a_sandbox_there_is_time_between_term_and_kill(machine: Machine) -> None:
    """More than what is left of a sandbox would have whose own process got TERM as well."""
    last = "trap 'sleep 2; echo last $((6 * 7)); exit 0' TERM"
    script = f"{last}; echo begun; while :; do sleep 0.1; done"
    machine.world.define_target(command=["sh", "-c", script], time_limit_s=2)
    machine.world.open_campaign()
    machine.work("sh", "-c", FIX)
    machine.verify("--sandbox")
    attempt = machine.world.attempt()
    assert (attempt["verdict"], attempt["exit_code"]) == ("rejected", 124)
    assert "last 42" in machine.evidence()


@pytest.mark.parametrize("machine", ["own"], indirect=True)
def test_in_a_sandbox_too_a_command_that_cannot_be_run_is_no_verdict(machine: Machine) -> None:
    machine.world.define_target(command=["./none.sh"])
    machine.world.open_campaign()
    machine.work("sh", "-c", FIX)
    machine.verify("--sandbox", code=75)
    (event,) = machine.world.audit("select detail from audit.events where transition = 'abstain'")
    reason = event["detail"]["reason"]
    assert "could not be started: bwrap: execvp ./none.sh: No such file" in reason


@pytest.mark.parametrize("machine", ["own"], indirect=True)
def test_in_a_sandbox_too_a_command_that_the_submission_broke_is_a_rejection(
    machine: Machine,
) -> None:
    machine.world.define_target(command=["./check.sh"], protected=[])
    machine.world.open_campaign()
    machine.work("sh", "-c", "echo '#!/none' > check.sh; chmod +x check.sh")
    machine.verify("--sandbox")
    assert "the submission changed check.sh" in machine.world.attempt()["reason"]


# What bubblewrap finds where the account may make no namespace of users.
FORBIDDEN = """
if test "$1" = --version; then echo bubblewrap 0.8.0; exit; fi
exec /usr/bin/bwrap --unshare-user --disable-userns --dev-bind / / -- /usr/bin/bwrap "$@"
"""


@pytest.mark.parametrize("machine", ["own"], indirect=True)
@pytest.mark.parametrize(
    ("bwrap", "said"),
    [
        (None, "apt-get install bubblewrap"),
        ("echo bubblewrap 0.6.1", "0.8 or newer is needed"),
        (
            FORBIDDEN,
            "kernel.unprivileged_userns_clone",
        ),
    ],
    ids=["missing", "old", "forbidden"],
)
def test_no_sandbox_is_69_and_the_remedy_is_named(
    machine: Machine, bwrap: str | None, said: str
) -> None:
    programs = machine.folder / "bin"
    programs.mkdir()
    for name in ("git", "sh"):
        (programs / name).symlink_to(f"/usr/bin/{name}")
    if bwrap is not None:
        (programs / "bwrap").write_text(f"#!/usr/bin/sh\n{bwrap}\n")
        (programs / "bwrap").chmod(0o755)
    number = machine.world.open_campaign()
    for duty, rest in (("worker", ["--", "sh", "-c", FIX]), ("verifier", [])):
        process = machine.start(duty, "--sandbox", *rest, PATH=str(programs))
        assert said in process.ends(69)
    assert machine.world.campaign()["campaign_id"] == number
    assert machine.world.transitions() == ["open"], "nothing was claimed"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--no-network"], "--no-network goes with --sandbox"),
        (["--share", "/usr"], "--share goes with --sandbox"),
        (["--max-memory", "much"], "is not a size like 512m or 4g"),
        (["--max-processes", "0"], "--max-processes"),
        (["--run-as", "no-such-account"], "useradd" if IS_ROOT else "only root"),
        (["--run-as", "root"], "name another account" if IS_ROOT else "only root"),
    ],
)
@pytest.mark.parametrize("machine", ["own"], indirect=True)
def test_wrong_options_are_64_and_the_remedy_is_named(
    machine: Machine, options: list[str], said: str
) -> None:
    output = machine.start("worker", *options, "--", "true", COLUMNS="200").ends(64)
    assert said in " ".join(output.split())


@needs_root
@pytest.mark.parametrize("machine", ["plain"], indirect=True)
def test_only_root_can_run_a_command_as_another(machine: Machine) -> None:
    output = machine.start("worker", *AS_NOBODY, "--", "true", COLUMNS="200").ends(64)
    assert "only root" in output


@pytest.mark.parametrize("machine", ["own"], indirect=True)
def test_a_judged_command_that_uses_too_much_is_rejected(machine: Machine) -> None:
    hog = "import time; x = [bytes([i]) * (8 << 20) for i in range(1, 16)]; time.sleep(60)"
    script = f"for i in 1 2 3 4; do {PYTHON} -c '{hog}' & done; wait"
    machine.world.define_target(command=["sh", "-c", script])
    machine.world.open_campaign()
    machine.work("sh", "-c", FIX)
    machine.verify("--sandbox", "--max-memory", "256m")
    attempt = machine.world.attempt()
    assert (attempt["verdict"], attempt["exit_code"]) == ("rejected", 137)
    assert attempt["reason"] == "acceptance: stopped: used more than 256m of memory"


@pytest.mark.parametrize("machine", ["own"], indirect=True)
def test_of_what_a_judged_command_prints_a_part_is_kept(machine: Machine) -> None:
    machine.world.define_target(command=["sh", "-c", "yes | head -c 80000000"], time_limit_s=240)
    machine.world.open_campaign()
    machine.work("sh", "-c", FIX)
    machine.verify("--sandbox")
    assert machine.world.campaign()["state"] == "verified"
    assert 64 << 20 < len(machine.evidence()) < (64 << 20) + 4096
    assert "the rest is left out" in machine.evidence()


@pytest.mark.parametrize("machine", ["own"], indirect=True)
def test_a_disk_that_is_nearly_full_is_no_verdict(machine: Machine) -> None:
    machine.world.open_campaign()
    machine.work("sh", "-c", FIX)
    machine.verify("--sandbox", "--keep-free", "900t", code=75)
    (event,) = machine.world.audit("select detail from audit.events where transition = 'abstain'")
    assert "less than 900t of the disk is free" in event["detail"]["reason"]


@needs_root
@pytest.mark.parametrize("machine", ["own"], indirect=True)
def test_root_is_told_that_its_processes_are_not_counted(machine: Machine) -> None:
    said = machine.work("true", options=["--max-processes", "50"])
    assert "the kernel lets root have as many processes as it likes" in said
    assert "the kernel" not in machine.work("true", options=["--max-processes", "50", *AS_NOBODY])
