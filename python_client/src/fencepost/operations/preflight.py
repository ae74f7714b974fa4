"""What is deployed, as those see it who will use it, held against this client's own scripts."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any, Final

import psycopg

from fencepost.connection import NotAdmitted, first_connection
from fencepost.errors import KernelUnfit
from fencepost.role import Role
from fencepost.session import connect

from .schema import changes, script
from .verification import Findings

Connection = psycopg.Connection[Any]

_NEEDED: Final = {
    "worker": (
        *("begin_operation", "start_operation", "complete_operation", "fail_operation"),
        *("mark_operation_unknown", "release_operation", "resolve_operation", "get_operation"),
    ),
    "reaper": ("expire_operations", "prune_operations"),
}
_REMEDIES: Final = {
    "worker": ("give DSN=, --dsn or --service of a login in", "give-dsn-of-fencepost_worker"),
    "reaper": (
        "give REAPER_DSN=, --reaper-dsn or --reaper-service of a login in",
        "give-reaper-dsn-of-fencepost_reaper",
    ),
}
_SCHEMAS: Final = ["kernel", "ledger", "audit"]
_FUNCTION: Final = re.compile(
    r"create or replace function ([a-z0-9_.]+)\((.*?)\)\s+returns\b.*?\bas (\$\w*\$)(.*?)\3",
    re.DOTALL,
)
_RELATION: Final = re.compile(
    r"^create (?:or replace )?(?:table|view|type) ((?:kernel|ledger|audit)\.[a-z0-9_]+)",
    re.MULTILINE,
)
_PARAMETER: Final = re.compile(r"(\w+)\s+([a-z0-9_.]+(?:\[\])?)(?:\s+default\s+[^,]+)?\s*(?:,|$)")
_LONG: Final = {"timestamptz": "timestamp with time zone"}
_SHOWN: Final = 3

_FUNCTIONS: Final = """
    select n.nspname || '.' || p.proname,
           coalesce(array_to_string(p.proargnames[1 : p.pronargs], ', '), ''),
           pg_catalog.oidvectortypes(p.proargtypes),
           p.prosrc
    from pg_catalog.pg_proc as p
    join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
    where n.nspname = any (%s)
"""
_RELATIONS: Final = """
    select n.nspname || '.' || c.relname
    from pg_catalog.pg_class as c
    join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
    where n.nspname = any (%s)
"""
_CALLABLE: Final = """
    select p.proname
    from pg_catalog.pg_proc as p
    join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
    where n.nspname = 'kernel' and pg_catalog.has_function_privilege(p.oid, 'execute')
"""
_REGISTRY: Final = """
    select c.change_id, c.change, t.tag
    from sqitch.changes as c
    left join sqitch.tags as t on t.change_id = c.change_id
    where c.project = 'fencepost'
    order by c.committed_at
"""


def preflight(workers: str, reapers: str) -> Findings:
    """Check that what the verification needs is there, and is what this client's scripts make.

    The names of the checks hold the revision that was found. Nothing is written.

    :param workers: the worker's connection string.
    :param reapers: the reaper's.
    :raises NoServer: nobody answers there.
    :raises NotAdmitted: the server does not let one of them in.
    """
    found = Findings()
    _role(found, "worker", workers)
    _role(found, "reaper", reapers)
    with connect(workers) as connection:
        _functions(found, connection)
        _relations(found, connection)
        _registry(found, connection)
    return found


def _role(found: Findings, duty: str, conninfo: str) -> None:
    """Check that a login may call what its part takes."""
    advice, remedy = _REMEDIES[duty]
    try:
        connection = first_connection(conninfo)
    except KernelUnfit as error:
        found.fail(f"{duty}:kernel", str(error), "deploy-the-kernel")
        return
    except NotAdmitted as error:
        if not isinstance(error.__cause__, psycopg.errors.InsufficientPrivilege):
            raise
        found.fail(f"{duty}:role", f"{error}; {advice} fencepost_{duty}", remedy)
        return
    with connection:
        found.passed.append(f"{duty}:kernel-api-{Role(connection).api_version()}")
        allowed = {name for (name,) in connection.execute(_CALLABLE)}
        lacking = [f"kernel.{name}" for name in _NEEDED[duty] if name not in allowed]
        if lacking:
            why = f"{connection.info.user} may not call {', '.join(lacking)}"
            found.fail(f"{duty}:role", f"{why}; {advice} fencepost_{duty}", remedy)
        else:
            found.passed.append(f"{duty}:role")


def _functions(found: Findings, connection: Connection) -> None:
    """Check that every function has the parameters and the body that its script gives it."""
    wanted = {
        name: _declared(parameters, body)
        for change in changes()
        for name, parameters, _, body in _FUNCTION.findall(script(change))
    }
    there: dict[str, str] = {}
    with connection.transaction():
        # With it, types of other schemas are named with theirs.
        connection.execute("set local search_path = pg_catalog, pg_temp")
        rows = connection.execute(_FUNCTIONS, [_SCHEMAS]).fetchall()
    for name, *form in rows:
        # Two of one name are not what any script makes.
        there[name] = there.get(name, "") + _form(*form)
    wrong = _differences(wanted, there)
    if wrong:
        found.fail("migration:functions", wrong, "deploy-this-commit")
    else:
        revision = sha256(repr(sorted(there.items())).encode()).hexdigest()
        found.passed.append(f"migration:functions:{revision[:40]}")


def _relations(found: Findings, connection: Connection) -> None:
    """Check that every table, view and composite type is there."""
    wanted = {name: "" for change in changes() for name in _RELATION.findall(script(change))}
    there = {name: "" for (name,) in connection.execute(_RELATIONS, [_SCHEMAS]) if name in wanted}
    wrong = _differences(wanted, there)
    if wrong:
        found.fail("migration:relations", wrong, "deploy-this-commit")
    else:
        found.passed.append("migration:relations")


def _registry(found: Findings, connection: Connection) -> None:
    """Check what sqitch says was deployed, where this login may read that; else say so."""
    try:
        rows = connection.execute(_REGISTRY).fetchall()
    except psycopg.errors.InsufficientPrivilege:
        found.passed.append("migration:registry-not-readable")
        return
    except psycopg.errors.UndefinedTable:
        found.passed.append("migration:registry-not-there")
        return
    wrong = _differences(dict.fromkeys(changes(), ""), {change: "" for _, change, _ in rows})
    if wrong:
        found.fail("migration:registry", f"sqitch: {wrong}", "deploy-this-commit")
        return
    last, change, _ = rows[-1]
    found.passed += [f"migration:change:{last}", f"migration:change:{_plain(change)}"]
    tags = [tag for _, _, tag in rows if tag]
    found.passed.append(f"migration:tag:{_plain(tags[-1])}" if tags else "migration:no-tag")


def _declared(parameters: str, body: str) -> str:
    """Return the form of a function as its script has it."""
    pairs = _PARAMETER.findall(parameters)
    types = [_LONG.get(kind, kind) for _, kind in pairs]
    return _form(", ".join(name for name, _ in pairs), ", ".join(types), body)


def _form(names: str, types: str, body: str) -> str:
    return f"({names}) ({types}) {sha256(body.encode()).hexdigest()}"


def _differences(wanted: dict[str, str], there: dict[str, str]) -> str:
    """Return in a sentence what is not as it should be; nothing where all is."""
    kinds = {
        "missing": sorted(set(wanted) - set(there)),
        "another": sorted(name for name in wanted if there.get(name, wanted[name]) != wanted[name]),
        "of no script here": sorted(set(there) - set(wanted)),
    }
    return "; ".join(
        f"{len(names)} {kind}: {', '.join(names[:_SHOWN])}{' …' if len(names) > _SHOWN else ''}"
        for kind, names in kinds.items()
        if names
    )


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9:_-]", "-", name.lower().replace("/", ":"))[:64]
