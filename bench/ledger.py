"""Databases to measure in, who acts in them, and how a load is put on them."""

from __future__ import annotations

import os
import re
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, LiteralString, NamedTuple

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from tests.pytest.invariants import broken

if TYPE_CHECKING:
    from psycopg.rows import TupleRow

PROJECT = Path(__file__).resolve().parent.parent
CLASS = "bench"
TEMPLATE = "bench"

# Targets, each with a campaign that is ready.
FILL = """
select count(*)
from generate_series(%(from)s::integer, %(to)s::integer) as n
cross join lateral kernel.define_target(
    p_class => 'bench', p_target => 'target ' || n, p_location => '{}',
    p_desired_state => '{"tests": "green"}', p_acceptance => '{"command": ["make", "test"]}'
) as t
cross join lateral kernel.open_campaign(
    p_class => t.class, p_target => 'target ' || n, p_token => gen_random_uuid()
) as c
where c.outcome = 'ok'
"""

# Targets, each by a call and a transaction of its own.
DEFINE = """
select t.outcome from kernel.define_target(
    p_class => 'bench', p_target => %s, p_location => '{}',
    p_desired_state => '{"tests": "green"}', p_acceptance => '{"command": ["make", "test"]}'
) as t
"""

# What only a function of the owner's may do.
REWRITE = """
create function public.rewrite() returns bigint language sql security definer as $$
    with written as (update ledger.target set location = location returning 1)
    select count(*) from written
$$;
alter function public.rewrite() owner to fencepost_owner
"""

# Campaigns of one target, one after the other, each cancelled before the next opens.
BURY = """
select count(*)
from generate_series(1, %(count)s::integer) as n
cross join lateral kernel.open_campaign(
    p_class => 'bench', p_target => 'closed', p_token => md5(%(batch)s || ' ' || n)::uuid
) as o
cross join lateral kernel.cancel(
    p_class => o.class, p_campaign_id => o.campaign_id, p_generation => 0
) as c
where c.outcome = 'ok'
"""


class Broken(Exception):
    """A benchmark did not do what it says it measures, or an invariant does not hold after it."""


class Load(NamedTuple):
    """What came of a number of calls."""

    done: int
    seconds: float

    @property
    def rate(self) -> float:
        """How many were done in a second."""
        return self.done / self.seconds


def connect(database: str, name: str = "postgres") -> psycopg.Connection[TupleRow]:
    """Connect a principal, in autocommit."""
    passfile = Path(os.environ["FENCEPOST_CLUSTER"]) / "pass" / name
    return psycopg.connect(
        make_conninfo(dbname=database, user=name, passfile=str(passfile)), autocommit=True
    )


def one(database: str, query: LiteralString, *values: object) -> TupleRow:
    """Return the one row that the superuser finds."""
    with closing(connect(database)) as god:
        row = god.execute(query, values).fetchone()
    if row is None:
        raise Broken(query)
    return row


def prepare(source: str | None) -> None:
    """Make the principals, and the database that the others are copies of: itself one of *source*.

    Without *source* the plan is deployed.
    """
    if source is None:
        subprocess.run([PROJECT / "tools" / "deploy", TEMPLATE], check=True, capture_output=True)
    else:
        copy(TEMPLATE, source)
    for duty in ("admin", "worker"):
        subprocess.run(
            [PROJECT / "tools" / "principal", duty, f"fencepost_{duty}"],
            check=True,
            capture_output=True,
        )
    with closing(connect(TEMPLATE, "admin")) as admin:
        admin.execute(
            'select kernel.define_class(\'bench\', \'{"reopen_within": "0", "lease_max": "24 h"}\')'
        )
        admin.execute("select kernel.register_principal('worker')")
        admin.execute("select kernel.enrol('bench', 'worker', 'worker')")


def copy(name: str, source: str = TEMPLATE) -> str:
    """Make a database that is what another one is; CONNECT is PUBLIC's there, as by default."""
    drop(name)
    with closing(connect("postgres")) as god:
        god.execute(
            sql.SQL("create database {} template {}").format(
                sql.Identifier(name), sql.Identifier(source)
            )
        )
    return name


def drop(name: str) -> None:
    """Remove a database."""
    with closing(connect("postgres")) as god:
        god.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))


def fill(database: str, count: int, first: int = 1) -> None:
    """Open so many campaigns, each on a target of its own."""
    with closing(connect(database, "admin")) as admin:
        row = admin.execute(FILL, {"from": first, "to": first + count - 1}).fetchone()
    if row != (count,):
        message = f"of {count} campaigns {row} were opened"
        raise Broken(message)


def bury(database: str, count: int, batch: int = 1000) -> None:
    """Open and cancel so many campaigns of one target."""
    with closing(connect(database, "admin")) as admin:
        admin.execute(
            "select kernel.define_target(p_class => 'bench', p_target => 'closed', "
            "p_location => '{}', p_desired_state => '{}', "
            """p_acceptance => '{"command": ["true"]}')"""
        )
        for first in range(0, count, batch):
            given = min(batch, count - first)
            row = admin.execute(BURY, {"count": given, "batch": str(first)}).fetchone()
            if row != (given,):
                message = f"of {given} campaigns {row} were cancelled"
                raise Broken(message)


def settle(database: str) -> None:
    """Let a measurement begin with vacuumed tables, and nothing to be written but its own."""
    with closing(connect(database)) as god:
        god.execute("vacuum (analyze)")
        god.execute("checkpoint")


def leased(database: str) -> int:
    """Return how many campaigns are held."""
    return int(one(database, "select count(*) from ledger.campaign where state = 'leased'")[0])


def claims(database: str, claimers: int, each: int) -> Load:
    """Let so many sessions of the worker claim, each so often; pgbench is the load."""
    script = "select outcome from kernel.claim(p_class => 'bench', p_token => gen_random_uuid());\n"
    before = leased(database)
    passfile = Path(os.environ["FENCEPOST_CLUSTER"]) / "pass" / "worker"
    run = subprocess.run(
        [
            *("pgbench", "--no-vacuum", "--protocol=prepared", "--file=/dev/stdin"),
            *(f"--client={claimers}", f"--jobs={min(claimers, 2)}", f"--transactions={each}"),
            *("--username=worker", database),
        ],
        input=script,
        env={**os.environ, "PGPASSFILE": str(passfile)},
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r"^tps = ([0-9.]+) \(without", run.stdout, re.MULTILINE)
    if run.returncode != 0 or found is None:
        raise Broken(run.stdout + run.stderr)
    return Load(leased(database) - before, claimers * each / float(found[1]))


def define(database: str, count: int, first: int) -> Load:
    """Define so many targets, one after the other."""
    with closing(connect(database, "admin")) as admin:
        begun = time.perf_counter()
        for number in range(first, first + count):
            row = admin.execute(DEFINE, (f"defined {number}",)).fetchone()
            if row != ("ok",):
                message = f"a definition was answered {row}"
                raise Broken(message)
        return Load(count, time.perf_counter() - begun)


def let_rewrite(database: str) -> None:
    """Make the function that writes every target anew."""
    with closing(connect(database)) as god:
        god.execute(REWRITE.encode())


def rewrite(database: str, times: int) -> Load:
    """Write every target anew so often, each time all of them by one statement."""
    written, seconds = 0, 0.0
    with closing(connect(database)) as god:
        god.execute("set synchronous_commit = off")
        for _ in range(times):
            god.execute("vacuum ledger.target")
            begun = time.perf_counter()
            row = god.execute("select public.rewrite()").fetchone()
            seconds += time.perf_counter() - begun
            written += int(row[0]) if row else 0
    return Load(written, seconds)


def let_hands_write(database: str) -> None:
    """Drop the triggers that refuse what is written by hand; those for TRUNCATE stay."""
    with closing(connect(database)) as god:
        found = god.execute(
            "select format('drop trigger %I on %s', t.tgname, t.tgrelid::regclass)"
            " from pg_trigger as t where t.tgname like '%\\_not\\_by\\_hand'"
        ).fetchall()
        if not found:
            message = f"{database} has no trigger against hands"
            raise Broken(message)
        for (statement,) in found:
            god.execute(statement.encode())


def replace(database: str, function: LiteralString, old: str, new: str) -> None:
    """Deploy a function again with one thing in it changed."""
    (text,) = one(database, "select pg_get_functiondef(%s::regprocedure)", function)
    if text.count(old) != 1:
        message = f"{function} has no {old!r}, or several"
        raise Broken(message)
    with closing(connect(database)) as god:
        god.execute(text.replace(old, new).encode())


def examine(database: str) -> None:
    """Ask for every invariant of tests/invariants.sql."""
    with closing(connect(database)) as god:
        complaints = broken(god, PROJECT)
    if complaints:
        raise Broken("\n".join(complaints))
