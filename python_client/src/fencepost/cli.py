"""The command ``fencepost``: a worker, a verifier, a reaper or a collector, until it is stopped.

Exit codes: 0 done, also when there was nothing to do; 64 wrong usage; 69 no server, or no sandbox;
75 with ``--once``, something stood in the way that may pass; 76 the kernel is missing, too old or
too new; 77 the principal may not do this.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, NoReturn

import psycopg

from . import __version__, connection, supervisor
from .account import Account, NoSuchAccount
from .confinement import Confinement
from .connection import Link, NoServer, NotAdmitted, SecretInTheOpen
from .doorbell import Doorbell, Ring, ring, silent
from .errors import Forbidden, KernelError, KernelUnfit, Retry, ServerUnreachable
from .interrupt import Interrupt
from .limits import Limits, parsed_size
from .polling import POLL, Step, poll
from .role import API_VERSIONS
from .sandbox import NoSandbox, Sandbox
from .session import connect

try:
    import typer

    from .attempt import Attempts
    from .collecting import Collecting
    from .console import Console
    from .evidence import default_folder
    from .operations.cli import app as operations_app
    from .reaping import Reaping
    from .verification import Verifications
except ModuleNotFoundError as missing:  # pragma: no cover - installed without the extra
    sys.exit(f"fencepost: {missing.name} is missing: pip install 'fencepost[cli]'")

OK = 0
USAGE = 64
NO_SERVER = 69
TROUBLE = 75
KERNEL_UNFIT = 76
WRONG_ROLE = 77

_USAGE_OF_TYPER = 2
_MOST_PROCESSES = 1024
_SHORTEST_EVICTION = timedelta(seconds=1)
_LONGEST_EVICTION = timedelta(days=1)

app = typer.Typer(
    name="fencepost",
    no_args_is_help=True,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.add_typer(operations_app, name="operations")

_DSN = typer.Option(
    "--dsn",
    metavar="CONNINFO",
    help="Where the ledger is: a libpq connection string without a password.",
)
_SERVICE = typer.Option(
    "--service", metavar="NAME", help="Where the ledger is: a name in the libpq service file."
)
_CLASS = typer.Option("--class", metavar="CLASS", help="The class of campaigns.")
_ONCE = typer.Option("--once", help="Do one thing, or find nothing to do, and end.")
_LABEL = typer.Option(
    "--label", metavar="TEXT", help="What people see in the ledger; by default host and process."
)
_LEASE_FOR = typer.Option(
    "--lease-for",
    metavar="DURATION",
    help="Length of a lease, like 90s, 15m or 2h; by default the class's.",
)
_NO_DOORBELL = typer.Option(
    "--no-doorbell",
    help="Neither listen for new work nor tell others of it: as behind a pooler in transaction "
    "mode. Looking every two seconds or so is all that is left.",
)
_SHARE = typer.Option(
    "--share",
    metavar="PATH",
    help="With --sandbox: let the command read this file or folder too. Repeatable.",
)
_RUN_AS = typer.Option(
    "--run-as",
    metavar="ACCOUNT",
    help="Run the command as this account of the machine. Only root can.",
)
_MAX_MEMORY = typer.Option(
    "--max-memory",
    metavar="SIZE",
    help="What all processes of the command may use together, like 512m or 4g.",
)
_MAX_PROCESSES = typer.Option(
    "--max-processes",
    metavar="NUMBER",
    min=1,
    help="How many there may be at a time; for a verifier 1024 by default.",
)
_MAX_FILE = typer.Option(
    "--max-file", metavar="SIZE", help="How large a file that the command writes may be."
)
_KEEP_FREE = typer.Option(
    "--keep-free", metavar="SIZE", help="Stop the command when less of the disk is free."
)
_PASS_ENV = typer.Option(
    "--pass-env", metavar="NAME", help="Let the command see this variable too. Repeatable."
)


@dataclass(frozen=True, slots=True)
class _Session:
    """What every command needs."""

    link: Link
    console: Console
    interrupt: Interrupt
    patience: timedelta | None
    conninfo: str = ""
    ring: Ring = silent


@app.callback()
def fencepost(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version, and end.", is_eager=True)
    ] = False,
) -> None:
    """Work on campaigns, judge what was done, take back what was lost, collect what was denied."""
    if version:
        print(f"fencepost {__version__}, kernel API {API_VERSIONS.start}")
        raise typer.Exit(OK)


@app.command()
def worker(
    *,
    campaign_class: Annotated[str, _CLASS],
    command: Annotated[
        list[str],
        typer.Argument(
            metavar="COMMAND", help="What makes an attempt, in a fresh clone of the target."
        ),
    ],
    once: Annotated[bool, _ONCE] = False,
    label: Annotated[str | None, _LABEL] = None,
    lease_for: Annotated[str | None, _LEASE_FOR] = None,
    pass_env: Annotated[list[str] | None, _PASS_ENV] = None,
    sandbox: Annotated[
        bool,
        typer.Option(
            "--sandbox", help="Show COMMAND its own folders and the system's programs, and no more."
        ),
    ] = False,
    no_network: Annotated[
        bool, typer.Option("--no-network", help="With --sandbox: no network either.")
    ] = False,
    share: Annotated[list[Path] | None, _SHARE] = None,
    run_as: Annotated[str | None, _RUN_AS] = None,
    max_memory: Annotated[str | None, _MAX_MEMORY] = None,
    max_processes: Annotated[int | None, _MAX_PROCESSES] = None,
    max_file: Annotated[str | None, _MAX_FILE] = None,
    keep_free: Annotated[str | None, _KEEP_FREE] = None,
    no_doorbell: Annotated[bool, _NO_DOORBELL] = False,
    service: Annotated[str | None, _SERVICE] = None,
    dsn: Annotated[str | None, _DSN] = None,
) -> None:
    """Claim campaigns and run COMMAND on each, in a fresh clone.

    COMMAND finds in FENCEPOST_BRIEF the name of a JSON file that says what is wanted and what was
    tried before, and may write to the file FENCEPOST_APPROACH what it tries. Exit code 0 with
    changed files is a result; anything else is a failed attempt, with the end of the output as its
    reason. COMMAND sees a scrubbed environment; without --sandbox or --run-as, what this account
    can read, it can read too.
    """
    command = [_program(command[0]), *command[1:]]
    _program("git")
    length = _duration(lease_for)
    if no_network and not sandbox:
        raise typer.BadParameter("--no-network goes with --sandbox")
    confinement = _confinement(
        sandbox=sandbox,
        network=not no_network,
        share=share,
        run_as=run_as,
        limits=Limits(
            memory=_size(max_memory),
            processes=max_processes,
            file_size=_size(max_file),
            free_disk=_size(keep_free),
        ),
    )
    with _session(
        "worker", service=service, dsn=dsn, label=label, once=once, no_doorbell=no_doorbell
    ) as session:
        if max_processes is not None:
            _tell_what_is_not_counted(confinement, session.console)
        attempts = Attempts(
            session.link,
            campaign_class=campaign_class,
            command=command,
            console=session.console,
            interrupt=session.interrupt,
            label=_label(label),
            lease_for=length,
            pass_env=_passed(pass_env, session.console),
            confinement=confinement,
            patience=session.patience,
            ring=session.ring,
        )
        with _bell(session, campaign_class, is_wanted=not (once or no_doorbell)) as bell:
            _run(
                session,
                attempts.step,
                once=once,
                idle=f"no campaign of class {campaign_class}",
                bell=bell,
                due_in=attempts.due_in,
            )


@app.command()
def verifier(
    *,
    campaign_class: Annotated[str, _CLASS],
    once: Annotated[bool, _ONCE] = False,
    evidence_dir: Annotated[
        Path | None,
        typer.Option(
            "--evidence-dir",
            metavar="FOLDER",
            help="Where the output of acceptance commands is kept; by default below "
            "$XDG_STATE_HOME or ~/.local/state.",
        ),
    ] = None,
    label: Annotated[str | None, _LABEL] = None,
    lease_for: Annotated[str | None, _LEASE_FOR] = None,
    pass_env: Annotated[list[str] | None, _PASS_ENV] = None,
    sandbox: Annotated[
        bool,
        typer.Option(
            "--sandbox",
            help="Show the acceptance command its own folders and the system's programs, and no "
            "more; without a network.",
        ),
    ] = False,
    share: Annotated[list[Path] | None, _SHARE] = None,
    run_as: Annotated[str | None, _RUN_AS] = None,
    max_memory: Annotated[str, _MAX_MEMORY] = "4g",
    max_processes: Annotated[int | None, _MAX_PROCESSES] = None,
    max_file: Annotated[str, _MAX_FILE] = "4g",
    keep_free: Annotated[str, _KEEP_FREE] = "256m",
    no_doorbell: Annotated[bool, _NO_DOORBELL] = False,
    service: Annotated[str | None, _SERVICE] = None,
    dsn: Annotated[str | None, _DSN] = None,
) -> None:
    """Judge submissions in clones of its own, and promote what is accepted.

    The acceptance command of the target is run on the submitted commit as it is, with a scrubbed
    environment. It runs what somebody else wrote; without --sandbox or --run-as, what this account
    can read, that can read too.
    """
    _program("git")
    length = _duration(lease_for)
    confinement = _confinement(
        sandbox=sandbox,
        network=False,
        share=share,
        run_as=run_as,
        limits=Limits(
            memory=_size(max_memory),
            processes=max_processes or _MOST_PROCESSES,
            file_size=_size(max_file),
            free_disk=_size(keep_free),
        ),
    )
    with _session(
        "verifier", service=service, dsn=dsn, label=label, once=once, no_doorbell=no_doorbell
    ) as session:
        if max_processes is not None:
            _tell_what_is_not_counted(confinement, session.console)
        verifications = Verifications(
            session.link,
            campaign_class=campaign_class,
            evidence=evidence_dir or default_folder(),
            console=session.console,
            interrupt=session.interrupt,
            label=_label(label),
            lease_for=length,
            pass_env=_passed(pass_env, session.console),
            confinement=confinement,
            patience=session.patience,
            ring=session.ring,
        )
        with _bell(session, campaign_class, is_wanted=not (once or no_doorbell)) as bell:
            _run(
                session,
                verifications.step,
                once=once,
                idle=f"no submission in class {campaign_class}",
                bell=bell,
                due_in=verifications.due_in,
            )


@app.command()
def reaper(
    *,
    interval: Annotated[
        float,
        typer.Option("--interval", metavar="SECONDS", min=0.1, help="How often to look; about."),
    ] = 5.0,
    once: Annotated[
        bool, typer.Option("--once", help="Look once at every class, and end.")
    ] = False,
    no_doorbell: Annotated[
        bool, typer.Option("--no-doorbell", help="Do not tell others what was taken back.")
    ] = False,
    evict_after: Annotated[
        str | None,
        typer.Option(
            "--evict-after",
            metavar="DURATION",
            help="End sessions that hold a transaction open for longer, like 2m; needs superuser/ "
            "to be deployed.",
        ),
    ] = None,
    service: Annotated[str | None, _SERVICE] = None,
    dsn: Annotated[str | None, _DSN] = None,
) -> None:
    """Take back expired leases, in every class. Needs nothing else to be alive."""
    evict = _duration(evict_after)
    if evict is not None and not _SHORTEST_EVICTION <= evict <= _LONGEST_EVICTION:
        raise typer.BadParameter("--evict-after is from 1s to 24h")
    with _session(
        "reaper", service=service, dsn=dsn, label=None, once=once, no_doorbell=no_doorbell
    ) as session:
        reaping = Reaping(
            session.link,
            console=session.console,
            interrupt=session.interrupt,
            patience=session.patience,
            ring=session.ring,
            evict_after=evict,
        )
        _run(
            session,
            reaping.step,
            once=once,
            idle="nothing to take back",
            every=timedelta(seconds=interval),
        )


@app.command()
def collector(
    *,
    log_dir: Annotated[
        Path,
        typer.Option(
            "--log-dir",
            metavar="FOLDER",
            help="Where the server writes its log, as jsonlog or csvlog.",
            exists=True,
            file_okay=False,
        ),
    ],
    state: Annotated[
        Path | None,
        typer.Option(
            "--state",
            metavar="FILE",
            help="Where to keep how far it was read; without it all of the log is read again when "
            "this starts, which changes nothing.",
            dir_okay=False,
        ),
    ] = None,
    interval: Annotated[
        float,
        typer.Option("--interval", metavar="SECONDS", min=0.1, help="How often to look; about."),
    ] = 5.0,
    once: Annotated[bool, typer.Option("--once", help="Read to the end, and end.")] = False,
    service: Annotated[str | None, _SERVICE] = None,
    dsn: Annotated[str | None, _DSN] = None,
) -> None:
    """Bring what the server itself denied from its log into the ledger."""
    with _session(
        "collector", service=service, dsn=dsn, label=None, once=once, no_doorbell=True
    ) as session:
        collecting = Collecting(
            session.link,
            folder=log_dir,
            state=state,
            console=session.console,
            interrupt=session.interrupt,
            patience=session.patience,
        )
        _run(
            session,
            collecting.step,
            once=once,
            idle="nothing new in the log",
            every=timedelta(seconds=interval),
        )


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command, and exit with its code."""
    try:
        supervisor.hide_memory()
        supervisor.adopt_orphans()
    except (OSError, AttributeError):
        print("fencepost: needs Linux: prctl(2) is missing", file=sys.stderr)
        sys.exit(NO_SERVER)
    try:
        app(args=arguments)
    except SystemExit as error:
        sys.exit(USAGE if error.code == _USAGE_OF_TYPER else error.code)
    sys.exit(OK)


@contextmanager
def _session(
    role: str,
    *,
    service: str | None,
    dsn: str | None,
    label: str | None,
    once: bool,
    no_doorbell: bool,
) -> Iterator[_Session]:
    """Connect, check the kernel, and turn what goes wrong into a sentence and an exit code."""
    console = Console(role)
    with Interrupt() as interrupt:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as below nohup
                signal.signal(number, lambda got, _: interrupt.set(signal.Signals(got).name))
        try:
            conninfo = connection.conninfo(
                dsn=dsn, service=service, application=f"fencepost {role} {label or ''}".strip()
            )
            link = Link(
                lambda: connect(conninfo),
                connection=connection.first_connection(conninfo),
                tell=lambda what: console.event("connection", state=what),
            )
            try:
                yield _Session(
                    link,
                    console,
                    interrupt,
                    patience=timedelta(minutes=1) if once else None,
                    conninfo=conninfo,
                    ring=silent
                    if no_doorbell
                    else partial(
                        ring, link, tell=lambda what: console.event("doorbell", state=what)
                    ),
                )
            finally:
                link.drop()
        except SecretInTheOpen as error:
            _end(
                USAGE,
                f"{error}: put it into a passfile (PGPASSFILE, ~/.pgpass) or a service file",
            )
        except psycopg.ProgrammingError as error:
            if isinstance(error, psycopg.errors.InsufficientPrivilege):
                _end(WRONG_ROLE, f"{error}: fencepost {role} needs a member of fencepost_{role}")
            if error.sqlstate is not None:
                raise
            _end(USAGE, f"--dsn is not a connection string: {error}")
        except NoServer as error:
            _end(NO_SERVER, f"no server: {error}")
        except ServerUnreachable as error:
            if interrupt:
                return
            _end(NO_SERVER, f"the server is gone: {error}")
        except NotAdmitted as error:
            _end(WRONG_ROLE, f"{error} (fencepost {role} needs a member of fencepost_{role})")
        except KernelUnfit as error:
            _end(KERNEL_UNFIT, str(error))
        except Forbidden as error:
            is_enrolled = role in {"worker", "verifier"}
            remedy = f": an admin enrols a principal as {role}" if is_enrolled else ""
            _end(WRONG_ROLE, f"{error}{remedy}")
        except KernelError as error:
            hint = getattr(error, "hint", None)
            _end(USAGE, f"{error}{f': {hint}' if hint else ''} ({error.code})")


@contextmanager
def _bell(session: _Session, campaign_class: str, *, is_wanted: bool) -> Iterator[Doorbell | None]:
    """Listen, if that is wanted."""
    if not is_wanted:
        yield None
        return
    with Doorbell(
        lambda: connect(session.conninfo),
        campaign_class,
        tell=lambda what: session.console.event("doorbell", state=what),
    ) as bell:
        yield bell


def _run(
    session: _Session,
    step: Callable[[], Step],
    *,
    once: bool,
    idle: str,
    every: timedelta = POLL,
    bell: Doorbell | None = None,
    due_in: Callable[[], float | None] = lambda: None,
) -> None:
    """Poll until the end, and exit with what ``--once`` found."""

    def guarded() -> Step:
        try:
            return step()
        except Retry as error:
            session.console.event("error", reason=f"still after several calls: {error}")
            return Step.TROUBLE

    last = poll(
        guarded,
        once=once,
        interrupt=session.interrupt,
        idle=lambda: session.console.event("idle", reason=idle),
        every=every,
        bell=bell,
        due_in=due_in,
    )
    if session.interrupt:
        session.console.event("stopped", reason=session.interrupt.reason)
    if once and last in {Step.PARTLY, Step.TROUBLE}:
        raise typer.Exit(TROUBLE)


def _end(code: int, sentence: str) -> NoReturn:
    """Say why, and exit."""
    print(f"fencepost: {' '.join(sentence.split())}", file=sys.stderr)
    raise typer.Exit(code)


def _label(label: str | None) -> str:
    return label or f"{socket.gethostname()}:{os.getpid()}"


def _program(name: str) -> str:
    """Return the command's first word as it is found from here; leave what a clone may hold."""
    if "/" in name:
        return str(Path(name).absolute()) if Path(name).is_file() else name
    if shutil.which(name) is None:
        raise typer.BadParameter(f"there is no program {name} on PATH")
    return name


def _passed(names: Sequence[str] | None, console: Console) -> list[str]:
    for name in names or ():
        if name not in os.environ:
            console.event("error", name, reason="--pass-env names a variable that is not set")
    return list(names or ())


def _confinement(
    *,
    sandbox: bool,
    network: bool,
    share: Sequence[Path] | None,
    run_as: str | None,
    limits: Limits,
) -> Confinement:
    """Put together what the command is kept from, and see that this machine can do it."""
    if share and not sandbox:
        raise typer.BadParameter("--share goes with --sandbox")
    try:
        confinement = Confinement(
            sandbox=Sandbox(network=network, shared=tuple(share or ())) if sandbox else None,
            account=None if run_as is None else Account.named(run_as),
            limits=limits,
        )
        confinement.require()
    except NoSuchAccount as error:
        raise typer.BadParameter(f"--run-as: {error}") from error
    except NoSandbox as error:
        _end(NO_SERVER, f"no sandbox: {error}")
    return confinement


def _tell_what_is_not_counted(confinement: Confinement, console: Console) -> None:
    """Say where a limit that was asked for is less than it seems."""
    if not confinement.counts_processes:
        reason = "the kernel lets root have as many processes as it likes: see --run-as"
        console.event("error", "--max-processes", reason=reason)


def _size(given: str | None) -> int | None:
    """Read a size like 512m or 4g, or a number of bytes."""
    try:
        return None if given is None else parsed_size(given)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _duration(given: str | None) -> timedelta | None:
    """Read a duration like 90s, 15m, 2h, or a number of seconds."""
    if given is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|h|)", given.strip())
    if found is None:
        raise typer.BadParameter(f"{given!r} is not a duration like 90s, 15m or 2h")
    seconds = {"": 1, "s": 1, "m": 60, "h": 3600}[found[2]]
    return timedelta(seconds=float(found[1]) * seconds)
