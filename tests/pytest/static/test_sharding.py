"""Every statement of the kernel is one that a sharded ledger could run on one node.

Class is the shard key: each statement says of which class it is, for every table that it touches,
but for the tables that every node would have and the functions that speak of a whole node. And no
volatile function is called inside a statement that writes: its value is taken into a variable
before, since on another node it would be another one.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from pglast import ast, enums

from tests.pytest.static.test_deploy_scripts import (
    SCRIPTS,
    Function,
    collect,
    functions,
    parts,
)

if TYPE_CHECKING:
    from pathlib import Path

# Tables that every node has a copy of.
REFERENCE = {"answer", "operation_transition", "origin", "principal", "transition"}
# Functions that speak of a node: of every class that is on it, or of none. What ledger.refuse
# bounds is a principal's, whichever classes it names, and they need not exist.
NODE = {
    *("kernel.api_version", "kernel.classes", "kernel.health", "kernel.register_principal"),
    "ledger.refuse",
}
# Of the server's own those that somebody might call in a statement.
VOLATILE = {
    *("clock_timestamp", "random", "gen_random_uuid", "nextval", "setval", "set_config"),
    *("pg_notify", "timeofday", "statement_timestamp", "txid_current"),
}


@cache
def volatile() -> frozenset[str]:
    """Return the volatile functions, ours as ``ledger__clock``."""
    ours = {
        each.name.replace(".", "__")
        for script in SCRIPTS
        for each in functions(script.read_text())
        if each.options["volatility"].sval == "volatile"
    }
    return frozenset(ours | VOLATILE)


def sources(tree: Any) -> list[Any]:
    """Return the relations among the items of a FROM list, joins taken apart."""
    if tree is None:
        return []
    if isinstance(tree, (tuple, list)):
        return [each for item in tree for each in sources(item)]
    if isinstance(tree, ast.JoinExpr):
        return sources(tree.larg) + sources(tree.rarg)
    return [tree] if isinstance(tree, ast.RangeVar) else []


def conditions(tree: Any) -> list[Any]:
    """Return the conditions that all hold: WHERE and ON, taken apart at AND."""
    if isinstance(tree, (tuple, list)):
        return [each for item in tree for each in conditions(item)]
    if isinstance(tree, ast.JoinExpr):
        return conditions(tree.larg) + conditions(tree.rarg) + conditions(tree.quals)
    if isinstance(tree, ast.BoolExpr) and tree.boolop == enums.BoolExprType.AND_EXPR:
        return conditions(tree.args)
    return [tree] if tree is not None and not isinstance(tree, ast.RangeVar) else []


def name_of(column: Any) -> tuple[str, ...]:
    """Return the parts of a column's name; none for what is no column."""
    if not isinstance(column, ast.ColumnRef):
        return ()
    parts_of_it = column.fields or ()
    return tuple(str(part.sval) for part in parts_of_it if isinstance(part, ast.String))


def classless(statement: Any, ctes: set[str]) -> list[str]:
    """Return the tables of one statement of which it does not say the class."""
    if isinstance(statement, ast.SelectStmt):
        tables = sources(statement.fromClause)
        where = conditions(statement.fromClause or ()) + conditions(statement.whereClause)
    else:
        using = getattr(statement, "fromClause", None) or getattr(statement, "usingClause", None)
        tables = [statement.relation, *sources(using)]
        where = conditions(using or ()) + conditions(statement.whereClause)
    named = {
        name_of(side)[0]
        for each in where
        if isinstance(each, ast.A_Expr) and each.name and each.name[-1].sval == "="
        for side in (each.lexpr, each.rexpr)
        if name_of(side)[1:] == ("class",)
    }
    return [
        table.relname
        for table in tables
        if table.relname.startswith("ledger__")
        and table.relname.removeprefix("ledger__") not in REFERENCE
        and table.relname not in ctes
        and (table.alias.aliasname if table.alias else table.relname) not in named
    ]


def complaints(function: Function) -> list[str]:
    """Return what *function* has that could not be run on one node."""
    found: list[str] = []
    _, queries = parts(function)
    for query in queries:
        ctes = {cte.ctename for cte in collect(query.stmt, ast.CommonTableExpr)}
        if function.name not in NODE:
            for kind in (ast.SelectStmt, ast.UpdateStmt, ast.DeleteStmt):
                for statement in collect(query.stmt, kind):
                    found += [f"{table} of any class" for table in classless(statement, ctes)]
            for statement in collect(query.stmt, ast.InsertStmt):
                table = statement.relation.relname.removeprefix("ledger__")
                columns = [column.name for column in statement.cols or ()]
                if table not in REFERENCE and columns and "class" not in columns:
                    found.append(f"{table} of no class")
        for writing in (ast.InsertStmt, ast.UpdateStmt, ast.DeleteStmt):
            for statement in collect(query.stmt, writing):
                for call in collect(statement, ast.FuncCall):
                    if call.funcname[-1].sval in volatile():
                        found.append(f"{call.funcname[-1].sval}() in a statement that writes")
    return found


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_statement_says_of_which_class_it_is(script: Path) -> None:
    found = {each.name: complaints(each) for each in functions(script.read_text())}

    assert {name: list_ for name, list_ in found.items() if list_} == {}


def test_the_exceptions_are_such() -> None:
    """A function is listed only as long as there is one, and a table likewise."""
    text = "".join(script.read_text() for script in SCRIPTS)

    assert all(f"function {name}(" in text for name in NODE)
    assert all(f"create table ledger.{name} (" in text for name in REFERENCE)
    assert {"ledger__clock", "ledger__move", "kernel__claim"} <= volatile()


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("perform from ledger.campaign as c where c.campaign_id = 1", "ledger__campaign of any"),
        ("perform from ledger.campaign as c where c.class = p_class or true", "ledger__campaign"),
        ("perform from ledger.campaign as c where c.class <> p_class", "ledger__campaign of any"),
        (
            (
                "perform from ledger.campaign as c join ledger.attempt as a "
                "on a.campaign_id = c.campaign_id where c.class = p_class"
            ),
            "ledger__attempt of any",
        ),
        (
            (
                "perform from ledger.campaign as c where c.class = p_class and exists "
                "(select from ledger.seat as s where s.campaign_id = c.campaign_id)"
            ),
            "ledger__seat of any",
        ),
        ("update ledger.class as c set epoch = 1", "ledger__class of any"),
        ("delete from ledger.seat as s where s.seat_no = 1", "ledger__seat of any"),
        ("insert into ledger.seat (kind) values ('work')", "seat of no class"),
        (
            "update ledger.class as c set retired_at = ledger.clock() where c.class = p_class",
            "ledger__clock() in a statement that writes",
        ),
        (
            "insert into ledger.seat (class, kind) select p_class, random()::text",
            "random() in a statement that writes",
        ),
    ],
)
def test_what_is_of_any_class_is_found(body: str, complaint: str) -> None:
    text = f"""
        create function ledger.planted(p_class text) returns void language plpgsql volatile
        as $fn$ begin {body}; end $fn$
    """

    assert any(each.startswith(complaint) for each in complaints(functions(text)[0]))
