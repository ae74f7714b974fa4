"""Measure ratios, and print them as tables.

usage: python -m bench [--claims N] [--renewals N] [--closed N] [--rounds N] [--from DATABASE]
                       [NAME ...]

NAME is one of the benchmarks, by default all: class_lock, renewals, history, by_hand. Needs the
environment that tools/with-postgres gives its command (`make bench`). What is compared is measured
in turns, in one run, on one server; nothing is asserted of a figure. The plan is deployed first,
unless --from names a database that has it, to be copied. After each benchmark the invariants of
tests/invariants.sql are asked for.

Exit status: 0; 1 an invariant does not hold, or a benchmark did not do what it measures; 64 wrong
usage; 69 not below tools/with-postgres.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import closing
from statistics import median
from typing import TYPE_CHECKING
from uuid import uuid4

from bench import ledger
from bench.ledger import Broken, Load, connect, copy, drop, examine, fill, leased, settle

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EX_USAGE = 64
EX_UNAVAILABLE = 69
CLAIMERS = (1, 4, 16)
REWRITES = 20


def main(arguments: Sequence[str]) -> int:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(
        prog="python -m bench", usage=(__doc__ or "").split("usage: ", 1)[1], add_help=True
    )
    parser.add_argument("--claims", type=positive, default=3200)
    parser.add_argument("--renewals", type=positive, default=5000)
    parser.add_argument("--closed", type=positive, default=100000)
    parser.add_argument("--rounds", type=positive, default=5)
    parser.add_argument("--from", dest="source")
    parser.add_argument("names", nargs="*", choices=[[], *BENCHMARKS], metavar="NAME")
    parser.error = wrong_usage  # type: ignore[assignment]
    options = parser.parse_args(arguments)
    if "FENCEPOST_CLUSTER" not in os.environ:
        print("bench: run this below tools/with-postgres, or `make bench`", file=sys.stderr)
        return EX_UNAVAILABLE
    try:
        ledger.prepare(options.source)
        print(where())
        for name in options.names or BENCHMARKS:
            BENCHMARKS[name](options)
        drop(ledger.TEMPLATE)
    except Broken as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    return 0


def positive(text: str) -> int:
    """Read a number that counts something."""
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def wrong_usage(message: str) -> None:
    """Say what is wrong with the command line."""
    print(f"bench: {message}; --help says more", file=sys.stderr)
    raise SystemExit(EX_USAGE)


def where() -> str:
    """Return what the figures depend on most."""
    version, fsync, buffers = ledger.one(
        "postgres",
        "select split_part(current_setting('server_version'), ' ', 1), "
        "current_setting('fsync'), current_setting('shared_buffers')",
    )
    load = os.getloadavg()[0]
    return (
        f"PostgreSQL {version}, fsync {fsync}, shared_buffers {buffers}, {os.cpu_count()} CPUs, "
        f"load {load:.1f} when it began"
    )


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print figures below one another."""
    widths = [max(len(line[at]) for line in (head, *rows)) for at in range(len(head))]
    print(f"\n{title}")
    for line in (head, *rows):
        print("  " + "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))
    sys.stdout.flush()


def in_turns(rounds: int, ours: Callable[[int], Load], rival: Callable[[int], Load]) -> list[str]:
    """Measure two in turns, the order changing; return their medians, and of the ratios three."""
    measured: list[tuple[float, float]] = []
    for number in range(rounds):
        if number % 2:
            theirs, mine = rival(number), ours(number)
        else:
            mine, theirs = ours(number), rival(number)
        measured.append((mine.rate, theirs.rate))
    ratios = sorted(mine / theirs for mine, theirs in measured)
    return [
        f"{median(mine for mine, _ in measured):.0f}",
        f"{median(theirs for _, theirs in measured):.0f}",
        f"{median(ratios):.2f}",
        f"{ratios[0]:.2f} to {ratios[-1]:.2f}",
    ]


# -- the benchmarks --------------------------------------------------------------------------------


def class_lock(options: argparse.Namespace) -> None:
    """Claims with the class row's lock, and without it in a scratch database."""
    fill(copy("bench_filled"), options.claims)
    settle("bench_filled")

    def measure(claimers: int, *, with_lock: bool) -> Load:
        database = copy("bench_with" if with_lock else "bench_without", "bench_filled")
        if not with_lock:
            ledger.replace(database, "ledger.hold_class(text)", "\n    for key share;", ";")
        settle(database)
        load = ledger.claims(database, claimers, max(options.claims // claimers, 1))
        examine(database)
        return load

    rows = []
    for claimers in CLAIMERS:
        figures = in_turns(
            options.rounds,
            lambda _, claimers=claimers: measure(claimers, with_lock=True),  # type: ignore[misc]
            lambda _, claimers=claimers: measure(claimers, with_lock=False),  # type: ignore[misc]
        )
        rows.append([str(claimers), *figures])
    table(
        f"Claims a second in one class, {options.claims} ready; median of {options.rounds} rounds",
        ["claimers", "with the lock", "without", "ratio", "lowest to highest"],
        rows,
    )
    for name in ("bench_with", "bench_without", "bench_filled"):
        drop(name)


def renewals(options: argparse.Namespace) -> None:
    """Renewals as they are, and with the expiry in an index."""
    held = max(options.renewals // 50, 1)
    fill(copy("bench_filled"), held)
    databases = [copy("bench_plain", "bench_filled"), copy("bench_indexed", "bench_filled")]
    with closing(connect("bench_indexed")) as god:
        god.execute("create index rival_ix on ledger.campaign (class, lease_expires_at)")
    shares: dict[str, list[float]] = {name: [] for name in databases}
    leases = {name: take(name, held) for name in databases}

    def measure(database: str) -> Load:
        settle(database)
        before = updates(database)
        load = renew(database, leases[database], options.renewals)
        updated, hot = (now - then for now, then in zip(updates(database), before, strict=True))
        if updated < options.renewals:
            message = f"of {options.renewals} renewals the server counted {updated}"
            raise Broken(message)
        shares[database].append(100 * hot / updated)
        return load

    figures = in_turns(
        options.rounds, lambda _: measure("bench_plain"), lambda _: measure("bench_indexed")
    )
    hot = [f"{median(shares[name]):.1f} %" for name in databases]
    table(
        f"Renewals a second of {held} leases, one session; median of {options.rounds} rounds",
        ["as it is", "expiry indexed", "ratio", "lowest to highest", "heap-only", "if indexed"],
        [[*figures, *hot]],
    )
    examine("bench_plain")
    for name in (*databases, "bench_filled"):
        drop(name)


def take(database: str, count: int) -> list[tuple[int, int, str]]:
    """Claim so many campaigns; return what names each lease."""
    found = []
    with closing(connect(database, "worker")) as worker:
        for _ in range(count):
            token = str(uuid4())
            row = worker.execute(
                "select campaign_id, generation from kernel.claim('bench', %s::uuid)", (token,)
            ).fetchone()
            if row is None:
                message = "there was nothing to claim"
                raise Broken(message)
            found.append((int(row[0]), int(row[1]), token))
    return found


def renew(database: str, leases: Sequence[tuple[int, int, str]], count: int) -> Load:
    """Renew one lease after the other, each to a later time than before."""
    with closing(connect(database, "worker")) as worker:
        begun = time.perf_counter()
        for number in range(count):
            row = worker.execute(
                "select outcome from kernel.renew('bench', %s, %s, %s::uuid)",
                leases[number % len(leases)],
            ).fetchone()
            if row != ("ok",):
                message = f"a renewal was answered {row}"
                raise Broken(message)
        seconds = time.perf_counter() - begun
        worker.execute("select pg_stat_force_next_flush()")
    return Load(count, seconds)


def updates(database: str) -> tuple[int, int]:
    """Return how many campaigns were updated in all, and how many of these heap-only."""
    updated, hot = ledger.one(
        database,
        "select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables "
        "where relid = 'ledger.campaign'::regclass",
    )
    return updated, hot


def history(options: argparse.Namespace) -> None:
    """Claims where nothing was done before, and where much is closed."""
    each = max(options.claims // 8, 1)
    databases = [copy("bench_closed"), copy("bench_empty")]
    ledger.bury("bench_closed", options.closed)
    supply = options.rounds * each * 4
    for name in databases:
        fill(name, supply, first=2)

    def measure(database: str) -> Load:
        settle(database)
        return ledger.claims(database, 4, each)

    figures = in_turns(
        options.rounds, lambda _: measure("bench_closed"), lambda _: measure("bench_empty")
    )
    table(
        f"Claims a second, 4 claimers, {options.closed} closed campaigns and none; median of "
        f"{options.rounds} rounds",
        ["with them", "without", "ratio", "lowest to highest"],
        [figures],
    )
    for name in databases:
        if leased(name) == 0:
            message = f"nothing was claimed in {name}"
            raise Broken(message)
        examine(name)
        drop(name)


def by_hand(options: argparse.Namespace) -> None:
    """Write with the triggers that refuse a hand's, and without them in a scratch database."""
    databases = [copy("bench_with"), copy("bench_without")]
    ledger.let_hands_write("bench_without")
    for name in databases:
        ledger.let_rewrite(name)

    def define(database: str, number: int) -> Load:
        settle(database)
        return ledger.define(database, options.claims, first=number * options.claims)

    def rewrite(database: str) -> Load:
        settle(database)
        return ledger.rewrite(database, REWRITES)

    rows = [
        [
            "one a call",
            *in_turns(
                options.rounds, lambda n: define(databases[0], n), lambda n: define(databases[1], n)
            ),
        ],
        [
            "all at once",
            *in_turns(
                options.rounds, lambda _: rewrite(databases[0]), lambda _: rewrite(databases[1])
            ),
        ],
    ]
    table(
        f"Targets written a second, {options.claims} of them; median of {options.rounds} rounds",
        ["rows", "with the triggers", "without", "ratio", "lowest to highest"],
        rows,
    )
    for name in databases:
        examine(name)
        drop(name)


BENCHMARKS: dict[str, Callable[[argparse.Namespace], None]] = {
    "class_lock": class_lock,
    "renewals": renewals,
    "history": history,
    "by_hand": by_hand,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
