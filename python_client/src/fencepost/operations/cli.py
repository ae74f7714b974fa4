"""``fencepost operations``: verify a database, check the evidence, import, expire, prune."""

from __future__ import annotations

import importlib
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn
from uuid import uuid4

import psycopg
import typer

from fencepost.connection import (
    NoServer,
    NotAdmitted,
    SecretInTheOpen,
    conninfo,
    first_connection,
)
from fencepost.errors import Forbidden, KernelError, KernelUnfit
from fencepost.session import connect

from . import evidence, importing
from .adapter import Adapter, Client, formatted, numbered
from .base import OperationStore
from .errors import InvalidArgument
from .preflight import preflight
from .store import Store
from .verification import Findings, OpenStore, Verification, psycopg_stores, server_facts

OK: Final = 0
FAILED: Final = 1
USAGE: Final = 64
INVALID: Final = 65
NO_SERVER: Final = 69
KERNEL_UNFIT: Final = 76
WRONG_ROLE: Final = 77

_BATCH: Final = 100

app = typer.Typer(
    help="Operations outside the database: verify, evidence, import, expire, prune.",
    no_args_is_help=True,
)

_CLASS = typer.Option("--class", metavar="CLASS", help="The class; its name is the namespace.")
_DSN = typer.Option("--dsn", metavar="CONNINFO", help="The worker's, without a password.")
_SERVICE = typer.Option("--service", metavar="NAME", help="The worker's, in libpq's service file.")
_REAPER_DSN = typer.Option("--dsn", metavar="CONNINFO", help="The reaper's, without a password.")
_REAPER_SERVICE = typer.Option(
    "--service", metavar="NAME", help="The reaper's, in libpq's service file."
)
_KIND = typer.Option("--kind", metavar="KIND", help="What kind of operation.")
_TARGET = typer.Option("--target", metavar="TARGET", help="What they act on.")


@app.command()
def verify(
    *,
    environment: Annotated[str, typer.Option("--environment", help="production, staging …")],
    operator: Annotated[str, typer.Option("--operator", help="Who is responsible for this run.")],
    commit: Annotated[str, typer.Option("--commit", metavar="SHA", help="What is deployed.")],
    campaign_class: Annotated[str, _CLASS] = "verify-operations",
    kind: Annotated[str, _KIND] = "verification",
    target: Annotated[str, _TARGET] = "nowhere",
    service: Annotated[str | None, _SERVICE] = None,
    dsn: Annotated[str | None, _DSN] = None,
    reaper_service: Annotated[
        str | None, typer.Option("--reaper-service", metavar="NAME", help="The reaper's.")
    ] = None,
    reaper_dsn: Annotated[
        str | None, typer.Option("--reaper-dsn", metavar="CONNINFO", help="The reaper's.")
    ] = None,
    client: Annotated[
        str | None,
        typer.Option(
            "--client",
            metavar="MODULE:FUNCTION",
            help="Returns a new client of the application's, with query(text, values); it connects "
            "as the worker does.",
        ),
    ] = None,
    placeholders: Annotated[
        str, typer.Option("--placeholders", help="What that client reads: numbered or formatted.")
    ] = "numbered",
    output: Annotated[
        Path, typer.Option("--output", metavar="FILE", help="Where the evidence goes.")
    ] = Path("evidence.json"),
) -> None:
    """Run the verification list against a deployed database, and write the evidence.

    Exit code 0 only if every check passed. It is no evidence to run it against another server than
    the one that is used.
    """
    started = datetime.now(UTC)
    workers = _conninfo(dsn, service)
    reapers = _conninfo(reaper_dsn or dsn, reaper_service or service)
    named = {"kind": kind, "target": target, "label": f"{socket.gethostname()}:{os.getpid()}"}
    checks: dict[str, evidence.Check] = {}
    with _said():
        stores = (
            psycopg_stores(workers, campaign_class, **named)
            if client is None
            else _client_stores(client, placeholders, campaign_class, named)
        )
        found = {"preflight": preflight(workers, reapers)}
        facts = server_facts(workers)
        unfit = {f"{duty}:{what}" for duty in ("worker", "reaper") for what in ("role", "kernel")}
        if not found["preflight"].failed.keys() & unfit:
            verification = Verification(stores, psycopg_stores(reapers, campaign_class, **named))
            found |= {
                "postgres": verification.postgres(),
                "integration": verification.integration(),
                "queue": verification.queue(),
            }
        for name, findings in found.items():
            _show(name, findings)
            checks[name] = findings.check(**facts)
        if "integration" in found:
            _count(checks, found["integration"])
        written = evidence.Evidence(
            evidence.Target(
                environment=environment,
                commit_sha=commit,
                run_id=uuid4().hex,
                operator=operator,
                started_at=started,
            ),
            checks,
        )
        evidence.write(written, output)
    typer.echo(f"evidence {output}")
    raise typer.Exit(FAILED if any(each.failed for each in found.values()) else OK)


@app.command("evidence")
def check_evidence(
    file: Annotated[Path, typer.Argument(metavar="FILE")],
    *,
    require_success: Annotated[
        bool, typer.Option("--require-success", help="Every check must have succeeded.")
    ] = False,
) -> None:
    """Check that FILE is evidence; 65 if it is not, 1 if a check was no success."""
    document, wrong = evidence.read(file)
    if wrong:
        for each in wrong:
            typer.echo(each, err=True)
        raise typer.Exit(INVALID)
    left = evidence.incomplete(document)
    for each in left:
        typer.echo(each, err=True)
    raise typer.Exit(FAILED if left and require_success else OK)


@app.command("import")
def import_table(
    *,
    campaign_class: Annotated[str, _CLASS],
    kind: Annotated[str, _KIND],
    target: Annotated[str, _TARGET],
    source_service: Annotated[
        str | None,
        typer.Option("--source-service", metavar="NAME", help="Where the original's table is."),
    ] = None,
    source_dsn: Annotated[
        str | None,
        typer.Option("--source-dsn", metavar="CONNINFO", help="Where the original's table is."),
    ] = None,
    table: Annotated[
        str, typer.Option("--table", metavar="TABLE", help="Its name, with its schema or without.")
    ] = importing.TABLE,
    service: Annotated[str | None, _SERVICE] = None,
    dsn: Annotated[str | None, _DSN] = None,
) -> None:
    """Bring the original's table into a class. Stop its writers first. May be run again."""
    into, out_of = _conninfo(dsn, service), _conninfo(source_dsn, source_service)
    with _said(), connect(out_of) as source, first_connection(into) as connection:
        source.read_only = True
        store: OperationStore = Store(connection, campaign_class, kind=kind, target=target)
        done = importing.import_rows(
            store, importing.rows(_Psycopg(source), table, placeholders=formatted)
        )
    for state, count in sorted(done.counts.items()):
        typer.echo(f"{count} {state}")
    typer.echo(f"{done.repeated} imported before")
    for key, why in done.left.items():
        typer.echo(f"left unknown: {key}: {why}", err=True)
    for key, why in done.refused.items():
        typer.echo(f"not imported: {key}: {why}", err=True)
    raise typer.Exit(FAILED if done.refused or done.left else OK)


@app.command()
def expire(
    *,
    campaign_class: Annotated[str, _CLASS],
    service: Annotated[str | None, _REAPER_SERVICE] = None,
    dsn: Annotated[str | None, _REAPER_DSN] = None,
) -> None:
    """Take back what is past its lease; to be run every few seconds, by a reaper."""
    total = 0
    with _said(), first_connection(_conninfo(dsn, service)) as connection:
        store = Store(connection, campaign_class)
        while found := store.expire(limit=_BATCH):
            for operation in found:
                typer.echo(f"{operation.operation_state} {operation.key}")
            total += len(found)
            if len(found) < _BATCH:
                break
    typer.echo(f"{total} taken back")


@app.command()
def prune(
    *,
    campaign_class: Annotated[str, _CLASS],
    service: Annotated[str | None, _REAPER_SERVICE] = None,
    dsn: Annotated[str | None, _REAPER_DSN] = None,
) -> None:
    """Remove what ended longer ago than the class keeps it; to be run by a reaper."""
    with _said(), first_connection(_conninfo(dsn, service)) as connection:
        done = Store(connection, campaign_class).prune()
    typer.echo(f"{done.removed} removed{', and there is more' if done.is_more else ''}")


class _Psycopg:
    """A connection of psycopg as a client."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def query(self, text: str, values: Any, /) -> Any:
        """Run one statement in a transaction of its own."""
        with self._connection.transaction():
            return self._connection.execute(text.encode(), values).fetchall()


def _client_stores(
    name: str, placeholders: str, campaign_class: str, named: dict[str, Any]
) -> OpenStore:
    """Return what opens a store over a new client of the application's."""
    module, colon, function = name.partition(":")
    form = {"numbered": numbered, "formatted": formatted}.get(placeholders)
    if not colon or form is None:
        _end(USAGE, "--client is MODULE:FUNCTION, --placeholders is numbered or formatted")
    try:
        make: Callable[[], Client] = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        _end(USAGE, f"--client: {error}")

    @contextmanager
    def opened() -> Iterator[OperationStore]:
        client = make()
        try:
            yield Adapter(client, campaign_class, placeholders=form, **named)
        finally:
            close = getattr(client, "close", None)
            if callable(close):
                close()

    return opened


def _count(checks: dict[str, evidence.Check], found: Findings) -> None:
    result = checks["integration"].result
    if result is not None:
        result["numPassedTests"] = len(found.passed)
        result["numFailedTests"] = len(found.failed)
        result["numTotalTests"] = len(found.passed) + len(found.failed)


def _show(part: str, findings: Findings) -> None:
    for name in findings.passed:
        typer.echo(f"ok     {part} {name}")
    for name, why in findings.failed.items():
        typer.echo(f"FAILED {part} {name}: {why}")


def _conninfo(dsn: str | None, service: str | None) -> str:
    try:
        return conninfo(dsn=dsn, service=service, application="fencepost operations")
    except SecretInTheOpen as error:
        _end(USAGE, f"{error}: put it into a passfile (PGPASSFILE, ~/.pgpass) or a service file")
    except psycopg.ProgrammingError as error:
        _end(USAGE, f"not a connection string: {error}")


@contextmanager
def _said() -> Iterator[None]:
    """Turn what goes wrong into a sentence and an exit code."""
    try:
        yield
    except InvalidArgument as error:
        _end(USAGE, str(error))
    except NoServer as error:
        _end(NO_SERVER, f"no server: {error}")
    except NotAdmitted as error:
        _end(WRONG_ROLE, str(error))
    except KernelUnfit as error:
        _end(KERNEL_UNFIT, str(error))
    except (psycopg.errors.InsufficientPrivilege, Forbidden) as error:
        _end(WRONG_ROLE, str(error))
    except KernelError as error:
        _end(USAGE, f"{error} ({error.code})")
    except psycopg.OperationalError as error:
        _end(NO_SERVER, str(error))


def _end(code: int, sentence: str) -> NoReturn:
    typer.echo(f"fencepost: {' '.join(sentence.split())}", err=True)
    raise typer.Exit(code)
