"""What the deploy scripts never do, read from their parse trees: no server is needed.

pglast parses PL/pgSQL without a catalogue, and knows the schemas ``pg_catalog`` and ``public``
only: names in our schemas are written as names in ``public`` before, ``ledger.campaign`` as
``public.ledger__campaign``.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pglast import ast, enums, parse_plpgsql, parse_sql
from pglast.visitors import Skip, Visitor

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = Path(__file__).resolve().parents[3]
SCRIPTS = sorted((PROJECT / "deploy").rglob("*.sql"))
# What is deployed beside the kernel, by a superuser: its functions are bound by the same rules.
PRIVILEGED = sorted((PROJECT / "superuser" / "deploy").rglob("*.sql"))
OURS = re.compile(r"\b(ledger|kernel|audit|watchdog|fencepost_superuser)\.(\w+)")

# Statements of PL/pgSQL that run text as SQL, end a transaction, or vanish with a setting.
NEVER = {
    "PLpgSQL_stmt_dynexecute": "EXECUTE",
    "PLpgSQL_stmt_dynfors": "EXECUTE",
    "PLpgSQL_stmt_assert": "ASSERT",
    "PLpgSQL_stmt_open": "a cursor",
    "PLpgSQL_stmt_forc": "a cursor",
    "PLpgSQL_stmt_fetch": "a cursor",
    "PLpgSQL_stmt_call": "CALL or DO",
    "PLpgSQL_stmt_commit": "COMMIT",
    "PLpgSQL_stmt_rollback": "ROLLBACK",
}

# What RAISE is told by USING, as PL/pgSQL numbers it, and its level for an exception.
ERRCODE, DETAIL, HINT = 0, 2, 3
EXCEPTION = 21

# Functions that lock beside the rows, notify, reach other servers, keep a linter from looking, or
# read a time that stands still or is read before the lock is held.
NEVER_CALLED = re.compile(
    r"pg_(try_)?advisory_.*|pg_notify|pg_sleep.*|dblink.*|lo_.*|query_to_xml.*|cursor_to_xml.*"
    r"|plpgsql_check_pragma|now|statement_timestamp|transaction_timestamp|clock_timestamp|timeofday"
)
# What every function is to look into, in this order.
PATH = ["pg_catalog", "pg_temp"]

CALLED_AFTER_ALL = {
    ("ledger.clock", "clock_timestamp"),  # the one place where time is read
    ("kernel.ring", "pg_notify"),  # the doorbell, a transaction of its own
    ("watchdog.evict", "clock_timestamp"),  # its owner has no right on schema ledger
}

# What a function of superuser/ has all the same. GRANT and REVOKE take no parameters; nobody but a
# superuser calls what executes them. And the codes of the kernel are the kernel's.
EXCEPTED = {
    ("fencepost_superuser.take", "EXECUTE"),
    ("fencepost_superuser.give", "EXECUTE"),
    ("fencepost_superuser.restore", "EXECUTE"),
    ("fencepost_superuser.tg__refuse_client_ddl", "an exception without a code of the kernel's"),
    ("watchdog.evict", "an exception without a code of the kernel's"),
}


def change(script: Path) -> str:
    """Return the name of a script's change, after that of its plan if it is not the kernel's."""
    *plan, _ = script.relative_to(PROJECT).parts[:-2]
    return "/".join((*plan, script.parent.name, script.stem))


of_the_kernel = pytest.mark.parametrize("script", SCRIPTS, ids=change)
of_every_plan = pytest.mark.parametrize("script", [*SCRIPTS, *PRIVILEGED], ids=change)


@dataclass(frozen=True)
class Function:
    """One CREATE FUNCTION of a script."""

    name: str
    node: Any
    text: str

    @property
    def options(self) -> dict[str, Any]:
        return {option.defname: option.arg for option in self.node.options}

    @property
    def body(self) -> str:
        return str(self.options["as"][0].sval)

    @property
    def is_plpgsql(self) -> bool:
        return bool(self.options["language"].sval == "plpgsql")


def statements(text: str) -> Iterator[tuple[Any, str]]:
    """Yield each statement of *text*, parsed and as it is written.

    Where psql puts in the value of a variable, the parser is given a string of the same length.
    """
    for raw in parse_sql(re.sub(r"(?<!:):('\w+')", r" \1", text)):
        begin = raw.stmt_location or 0
        yield raw.stmt, text[begin : begin + raw.stmt_len if raw.stmt_len else len(text)]


def functions(text: str) -> list[Function]:
    """Return the functions that a script makes."""
    return [
        Function(".".join(part.sval for part in node.funcname or ()), node, written)
        for node, written in statements(text)
        if isinstance(node, ast.CreateFunctionStmt)
    ]


@cache
def names() -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of all our functions, and of all our types and relations, unqualified."""
    made: dict[bool, set[str]] = {True: set(), False: set()}
    for script in (*SCRIPTS, *PRIVILEGED):
        for kind, name in re.findall(
            r"(?m)^create (?:or replace )?(function|table|type|view) \w+\.(\w+)", script.read_text()
        ):
            made[kind == "function"].add(name)
    return frozenset(made[True]), frozenset(made[False])


# -- inside a function -----------------------------------------------------------------------------


def parts(function: Function) -> tuple[list[tuple[str, dict[str, Any]]], list[Any]]:
    """Return the nodes of a PL/pgSQL body by their kind, and all SQL in a body, parsed."""
    if not function.is_plpgsql:
        return [], list(parse_sql(OURS.sub(r"public.\1__\2", function.body)))
    nodes = list(walk(parse_plpgsql(OURS.sub(r"public.\1__\2", function.text))))
    sql: list[Any] = []
    for kind, node in nodes:
        if kind == "PLpgSQL_expr":
            query = node["query"]
            if node["parseMode"] >= 3:  # an assignment
                query = query.partition(":=")[2]
            sql += parse_sql(query if node["parseMode"] == 0 else f"select {query}")
    return nodes, sql


def walk(tree: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every node of pglast's PL/pgSQL tree with its kind."""
    if isinstance(tree, dict):
        for kind, node in tree.items():
            if kind.startswith("PLpgSQL_") and isinstance(node, dict):
                yield kind, node
            yield from walk(node)
    elif isinstance(tree, list):
        for node in tree:
            yield from walk(node)


class Complaints(Visitor):
    """Collects what a piece of SQL in a body has that it must not have."""

    def __init__(self, function: Function, queries: list[Any]) -> None:
        self.function = function
        self.found: list[str] = []
        self.ctes = {
            cte.ctename for query in queries for cte in collect(query.stmt, ast.CommonTableExpr)
        }

    def visit_RangeVar(self, _ancestors: Any, node: Any) -> None:  # noqa: N802
        if node.relpersistence == "t":
            self.found.append(f"temporary table {node.relname}")
        if node.schemaname is None and node.relname not in self.ctes:
            self.found.append(f"unqualified relation {node.relname}")

    def visit_FuncCall(self, _ancestors: Any, node: Any) -> None:  # noqa: N802
        *schema, name = (part.sval for part in node.funcname)
        if not schema and name in names()[0]:
            self.found.append(f"unqualified function {name}")
        if schema and schema[0] not in ("pg_catalog", "public"):
            self.found.append(f"function of schema {schema[0]}")
        allowed = (self.function.name, name) in CALLED_AFTER_ALL
        if NEVER_CALLED.fullmatch(name) and not allowed:
            self.found.append(f"{name}()")

    def visit_TypeName(self, _ancestors: Any, node: Any) -> None:  # noqa: N802
        *schema, name = (part.sval for part in node.names)
        if not schema and name in names()[1]:
            self.found.append(f"unqualified type {name}")
        if schema and schema[0] not in ("pg_catalog", "public"):
            self.found.append(f"type of schema {schema[0]}")

    def visit_SQLValueFunction(self, _ancestors: Any, node: Any) -> None:  # noqa: N802
        # Identity is session_user; the others are the owner, or a time that stands still.
        if node.op != enums.SQLValueFunctionOp.SVFOP_SESSION_USER:
            self.found.append(enums.SQLValueFunctionOp(node.op).name)


def collect(tree: Any, kind: type | tuple[type, ...]) -> list[Any]:
    """Return every node of *kind* in *tree*."""
    found: list[Any] = []

    class Collector(Visitor):
        def visit(self, _ancestors: Any, node: Any) -> None:
            if isinstance(node, kind):
                found.append(node)

    Collector()(tree)
    return found


def complaints(function: Function) -> list[str]:
    """Return what *function* has that no function of the kernel may have."""
    found = []

    for parameter in function.node.parameters or ():
        kind = ".".join(name.sval for name in parameter.argType.names)
        if re.search(r"\bany|\brecord$|\brefcursor$|\binternal$", kind):
            found.append(f"argument of type {kind}")
        if parameter.mode not in (
            enums.FunctionParameterMode.FUNC_PARAM_DEFAULT,
            enums.FunctionParameterMode.FUNC_PARAM_IN,
        ):
            found.append("OUT, VARIADIC or TABLE")
    if function.node.returnType is not None:
        kind = ".".join(name.sval for name in function.node.returnType.names)
        if re.search(r"\bany|\brecord$|\brefcursor$", kind):
            found.append(f"result of type {kind}")

    nodes, queries = parts(function)
    found += unqualified_declarations(function, nodes)
    rows = {node["refname"] for kind, node in nodes if kind == "PLpgSQL_rec"}
    for kind, node in nodes:
        if kind in NEVER:
            found.append(NEVER[kind])
        if kind == "PLpgSQL_stmt_execsql" and node.get("strict"):
            found.append("INTO STRICT")
        if kind == "PLpgSQL_stmt_return_query" and "dynquery" in node:
            found.append("EXECUTE")
        if kind == "PLpgSQL_condition" and node["condname"] == "others":
            found.append("WHEN OTHERS")
        if kind == "PLpgSQL_stmt_raise":
            found += says_too_little(node)
            found += says_too_much(node, rows)
        if kind == "PLpgSQL_type" and "refcursor" in node["typname"]:
            found.append("a cursor")

    visitor = Complaints(function, queries)
    for query in queries:
        if not isinstance(
            query.stmt, (ast.SelectStmt, ast.InsertStmt, ast.UpdateStmt, ast.DeleteStmt)
        ):
            found.append(type(query.stmt).__name__)
        visitor(query)
    return found + visitor.found


def unqualified_declarations(
    function: Function, nodes: list[tuple[str, dict[str, Any]]]
) -> Iterator[str]:
    """Yield the types in DECLARE that stand without their schema and are not built in.

    Such a name is looked for in the temporary schema as well. pglast takes every type that it does
    not know for a row's, and does not keep its name: that is read from the text.
    """
    lines = function.body.split("\n")
    for kind, node in nodes:
        if kind == "PLpgSQL_rec" and "lineno" in node:
            declared = re.search(
                rf"(?i)\b{node['refname']}\s+(?:constant\s+)?([\w.\"]+)", lines[node["lineno"] - 1]
            )
            type_ = declared[1] if declared else lines[node["lineno"] - 1].strip()
            if type_.lower() != "record" and "." not in type_:
                yield f"unqualified type {type_} in DECLARE"
        if kind == "PLpgSQL_type" and "%" in node["typname"] and "." not in node["typname"]:
            yield f"unqualified type {node['typname']} in DECLARE"


def says_too_much(node: dict[str, Any], rows: set[str]) -> Iterator[str]:
    """Yield what a RAISE tells of a whole row: it would show columns that nobody chose to show.

    A query within it chooses what it tells.
    """
    found: list[str] = []

    class Rows(Visitor):
        def visit_SubLink(self, _ancestors: Any, _node: Any) -> Any:  # noqa: N802
            return Skip

        def visit_RowExpr(self, _ancestors: Any, _node: Any) -> None:  # noqa: N802
            found.append("RAISE with a row")

        def visit_ColumnRef(self, _ancestors: Any, node: Any) -> None:  # noqa: N802
            *before, last = node.fields
            if isinstance(last, ast.A_Star) or (not before and last.sval in rows):
                found.append("RAISE with a row")

    told = [*node.get("params", ())]
    told += [option["PLpgSQL_raise_option"]["expr"] for option in node.get("options", ())]
    for each in told:
        Rows()(parse_sql(f"select {each['PLpgSQL_expr']['query']}"))
    yield from found


def says_too_little(node: dict[str, Any]) -> Iterator[str]:
    """Yield what a RAISE lacks that raises an exception; one that passes it on lacks nothing."""
    if node["elog_level"] != EXCEPTION or not node.keys() & {"message", "condname", "options"}:
        return
    said = {
        option["PLpgSQL_raise_option"]["opt_type"]: option["PLpgSQL_raise_option"]["expr"]
        for option in node.get("options", ())
    }
    code = said[ERRCODE]["PLpgSQL_expr"]["query"] if ERRCODE in said else ""
    if not re.fullmatch(r"'KN\d{3}'", code):
        yield "an exception without a code of the kernel's"
    for kind, name in ((DETAIL, "DETAIL"), (HINT, "HINT")):
        query = said[kind]["PLpgSQL_expr"]["query"] if kind in said else "''"
        if not query.strip("' "):
            yield f"an exception without {name}"


# -- tests -----------------------------------------------------------------------------------------


@of_every_plan
def test_no_function_does_what_none_may(script: Path) -> None:
    found = {
        (each.name, complaint)
        for each in functions(script.read_text())
        for complaint in complaints(each)
    }

    assert found - EXCEPTED == set()


def test_every_exception_is_one() -> None:
    found = {
        (each.name, complaint)
        for script in PRIVILEGED
        for each in functions(script.read_text())
        for complaint in complaints(each)
    }

    assert found == EXCEPTED


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("execute 'select 1'", "EXECUTE"),
        ("return query execute 'select 1'", "EXECUTE"),
        ("assert true", "ASSERT"),
        ("select c.class into strict v from ledger.class as c", "INTO STRICT"),
        ("begin null; exception when others then null; end", "WHEN OTHERS"),
        ("create temporary table t (i integer)", "CreateStmt"),
        ("perform pg_advisory_xact_lock(1)", "pg_advisory_xact_lock()"),
        ("perform pg_catalog.pg_notify('fencepost', '')", "pg_notify()"),
        ("notify fencepost", "NotifyStmt"),
        ("lock table ledger.class", "LockStmt"),
        ("v := now()", "now()"),
        ("v := current_user", "SVFOP_CURRENT_USER"),
        ("v := current_timestamp", "SVFOP_CURRENT_TIMESTAMP"),
        ("v := digest('{}')", "unqualified function digest"),
        ("v := evil.f()", "function of schema evil"),
        ("perform from campaign", "unqualified relation campaign"),
        ("v := null::receipt", "unqualified type receipt"),
        ("declare w receipt; begin null; end", "unqualified type receipt in DECLARE"),
        (
            "declare w constant receipt := null; begin null; end",
            "unqualified type receipt in DECLARE",
        ),
        (
            "declare w refusal%rowtype; begin null; end",
            "unqualified type refusal%rowtype in DECLARE",
        ),
        ("perform plpgsql_check_pragma('disable:all')", "plpgsql_check_pragma()"),
        ("declare w ledger.refusal; begin raise log '%', w; end", "RAISE with a row"),
        ("declare w record; begin raise log 'x' using detail = w::text; end", "RAISE with a row"),
        ("raise log '%', row(1, 2)", "RAISE with a row"),
        ("commit", "COMMIT"),
        ("raise exception 'm' using errcode = 'KN101', hint = 'h'", "an exception without DETAIL"),
        ("raise exception 'm' using errcode = 'KN101', detail = 'd'", "an exception without HINT"),
        (
            "raise exception 'm' using errcode = 'KN101', detail = '', hint = 'h'",
            "an exception without DETAIL",
        ),
        ("raise sqlstate 'KN101' using detail = 'detail = d'", "an exception without HINT"),
        (
            "raise exception 'm' using detail = 'd', hint = 'h'",
            "an exception without a code of the kernel's",
        ),
    ],
)
def test_what_none_may_do_is_found(body: str, complaint: str) -> None:
    text = f"""
        create function ledger.planted(p_class text) returns setof text language plpgsql
        as $fn$ declare v text; begin {body}; end $fn$
    """

    assert complaint in complaints(functions(text)[0])


def test_an_exception_that_says_everything_is_none_to_complain_of() -> None:
    text = """
        create function ledger.planted(p_class text) returns void language plpgsql as $fn$
        begin
            raise exception 'm' using errcode = 'KN101', detail = format('%s', 1), hint = 'h';
            raise log 'm';
        exception when lock_not_available then raise;
        end $fn$
    """

    assert complaints(functions(text)[0]) == []


def test_every_misuse_says_what_was_found_and_what_to_do() -> None:
    """None of them escapes the parser: as many are found in the trees as stand in the text."""
    raised = [
        node
        for script in SCRIPTS
        for function in functions(script.read_text())
        for kind, node in parts(function)[0]
        if kind == "PLpgSQL_stmt_raise" and node["elog_level"] == EXCEPTION
    ]
    written = re.findall(
        r"\berrcode\s*=\s*'KN\d{3}'", "".join(script.read_text() for script in SCRIPTS)
    )

    assert len(raised) == len(written) > 90
    assert [lack for node in raised for lack in says_too_little(node)] == []


@pytest.mark.parametrize("kind", ["anyelement", "record", "refcursor", "anyarray"])
def test_an_argument_without_a_plain_type_is_found(kind: str) -> None:
    text = f"create function ledger.planted(p {kind}) returns void language sql as 'select 1'"

    assert complaints(functions(text)[0]) == [f"argument of type {kind}"]


@pytest.mark.parametrize("kind", ["anyelement", "record", "refcursor"])
def test_a_result_without_a_plain_type_is_found(kind: str) -> None:
    text = f"create function ledger.planted() returns setof {kind} language sql as 'select 1'"

    assert complaints(functions(text)[0]) == [f"result of type {kind}"]


@of_every_plan
def test_every_function_pins_this_path_and_no_other(script: Path) -> None:
    """A schema of ours before pg_temp would do today; a CREATE on it tomorrow would end that."""
    pinned = {
        each.name: [
            [value.val.sval for value in option.arg.args or ()]
            for option in each.node.options
            if option.defname == "set" and option.arg.name == "search_path"
        ]
        for each in functions(script.read_text())
    }

    assert {name: paths for name, paths in pinned.items() if paths != [PATH]} == {}


@of_every_plan
def test_nothing_is_granted_to_public(script: Path) -> None:
    """Nor is EXECUTE left to it: no default privilege is touched but where it is taken away."""
    granted = []
    for node, written in statements(script.read_text()):
        defaults = isinstance(node, ast.AlterDefaultPrivilegesStmt)
        grant = node.action if defaults else node
        if not isinstance(grant, ast.GrantStmt) or not grant.is_grant:
            continue
        public = enums.RoleSpecType.ROLESPEC_PUBLIC
        if defaults or any(grantee.roletype == public for grantee in grant.grantees or ()):
            granted.append(written.strip())

    assert granted == []


@of_every_plan
def test_what_grows_without_end_has_room(script: Path) -> None:
    """32 bits hold what a policy bounds: counts, budgets, attempts of a campaign, seats, epochs."""
    tables: list[Any] = [
        node for node, _ in statements(script.read_text()) if isinstance(node, ast.CreateStmt)
    ]
    narrow = [
        f"{table.relation.relname}.{column.colname}"
        for table in tables
        for column in collect(table, ast.ColumnDef)
        if column.typeName.names[-1].sval in ("int4", "int2")
        and re.search(r"_(id|no)$|^generation$", column.colname)
        and column.colname not in ("attempt_no", "seat_no")
    ]

    assert narrow == []


def test_no_name_stands_for_two_functions() -> None:
    scripts = (*SCRIPTS, *PRIVILEGED)
    made = Counter(each.name for script in scripts for each in functions(script.read_text()))

    assert [name for name, count in made.items() if count > 1] == []
    assert len(made) > 70


@of_the_kernel
def test_a_deploy_script_is_one_transaction_of_the_owner(script: Path) -> None:
    first, path, *rest, last = (written.strip() for _, written in statements(script.read_text()))

    assert first.endswith("begin")
    assert path == "set local search_path = pg_catalog, pg_temp"
    assert last == "commit"
    if change(script) == "foundation/roles":  # makes the owner
        return
    if change(script) == "foundation/schemas":  # makes schemas, which takes the database's owner
        assert all("create schema" in each for each in rest[:3])
        rest = rest[3:]
    assert rest[0] == "set local role fencepost_owner"


@pytest.mark.parametrize("kind", ["deploy", "revert", "verify"])
def test_no_script_shrugs_or_reaches_further_than_it_says(kind: str) -> None:
    """No IF EXISTS: what is not as the plan says must fail. No CASCADE: nothing goes unnamed."""
    loose = re.compile(r"\bif (not )?exists\s+(?!\()[a-z]|\bcascade\b")
    wrong = [
        f"{path.relative_to(PROJECT)}: {line.strip()}"
        for plan in (PROJECT, PROJECT / "superuser")
        for path in sorted((plan / kind).rglob("*.sql"))
        for line in path.read_text().splitlines()
        if loose.search(line.partition("--")[0])
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("kind", ["deploy", "revert", "verify"])
def test_no_psql_variable_stands_in_a_body(kind: str) -> None:
    """Nothing is put in there by psql: the variable would reach the server as it is written."""
    variable = re.compile(r"(?<![:\w\"\[]):(?:'\w+'|\"\w+\"|[a-z_]\w*)")
    bodies = {
        path: re.findall(r"(?s)(\$(?:do|fn|verify)\$)(.*?)\1", path.read_text())
        for plan in (PROJECT, PROJECT / "superuser")
        for path in sorted((plan / kind).rglob("*.*sql"))
    }
    wrong = [path for path, found in bodies.items() for _, body in found if variable.search(body)]

    assert wrong == []
    assert variable.search("where c.class = :'name'")
    assert kind == "revert" or sum(map(len, bodies.values())) > 10


def test_every_trigger_fires_always_and_at_once() -> None:
    triggers: list[Any] = []
    always: list[Any] = []
    later: list[str] = []
    for script in SCRIPTS:
        for node, _ in statements(script.read_text()):
            if isinstance(node, ast.CreateTrigStmt):
                if any((node.deferrable, node.initdeferred, node.isconstraint)):
                    later.append(f"{script.relative_to(PROJECT)}: deferrable {node.trigname}")
                triggers.append(node.trigname)
            if isinstance(node, ast.AlterTableStmt):
                always += [
                    command.name
                    for command in node.cmds or ()
                    if command.subtype == enums.AlterTableType.AT_EnableAlwaysTrig
                ]

    assert later == []
    assert sorted(always) == sorted(triggers)
    assert triggers


@of_the_kernel
def test_a_change_that_makes_a_table_makes_no_function(script: Path) -> None:
    """A function's script can be run again, and so be reworked after a release. A table's not."""
    kinds = {type(node) for node, _ in statements(script.read_text())}

    assert not {ast.CreateStmt, ast.CreateFunctionStmt} <= kinds
