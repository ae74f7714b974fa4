"""Every statement of the kernel is one that a sharded ledger could run on one node.

Class is the shard key: each statement says of which class it is, for every table that it touches
(by equalities that end at something from outside it, a parameter, a variable or a record's field),
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
    *("kernel.report_denial", "ledger.refuse"),
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


READING = (ast.SelectStmt, ast.UpdateStmt, ast.DeleteStmt)


def from_list(statement: Any) -> list[Any]:
    """Return the items of a statement's FROM or USING list."""
    using = getattr(statement, "fromClause", None) or getattr(statement, "usingClause", None)
    return list(using or ())


def tables(statement: Any) -> dict[str, str]:
    """Return the relations of a statement: under which name each goes in it."""
    own = [] if isinstance(statement, ast.SelectStmt) else [statement.relation]
    return {
        (each.alias.aliasname if each.alias else each.relname): each.relname
        for each in [*own, *sources(from_list(statement))]
    }


def variables(function: Function) -> set[str]:
    """Return the names of a function's parameters, variables and records."""
    named = {parameter.name for parameter in function.node.parameters or ()}
    nodes, _ = parts(function)
    return named | {node["refname"] for _, node in nodes if "refname" in node}


def outside(query: Any, statement: Any, known: set[str]) -> set[str]:
    """Return what a statement knows from outside: variables, and what is around it in *query*."""
    around = {
        name
        for each in collect(query, READING)
        if each is not statement
        and any(inner is statement for inner in collect(each, type(statement)))
        for name in tables(each)
    }
    return (known | around) - set(tables(statement))


def anchored(statement: Any, known: set[str]) -> set[str]:
    """Return the tables whose class is, by equalities, a class *known* from outside."""
    where = conditions(from_list(statement)) + conditions(statement.whereClause)
    equal = [
        (name_of(each.lexpr), name_of(each.rexpr))
        for each in where
        if isinstance(each, ast.A_Expr)
        and each.kind == enums.A_Expr_Kind.AEXPR_OP
        and each.name
        and each.name[-1].sval == "="
    ]
    found: set[str] = set()
    while True:
        more = {
            one[0]
            for pair in equal
            for one, other in (pair, pair[::-1])
            if one[1:] == ("class",)
            and one[0] in tables(statement)
            and one[0] not in found
            and is_class(other, known | found)
        }
        if not more:
            return found
        found |= more


def is_class(name: tuple[str, ...], known: set[str]) -> bool:
    """Return whether a name is that of the class of something *known*, or the parameter."""
    return bool(name) and name[0] in known and (name == ("p_class",) or name[1:] == ("class",))


def classless(statement: Any, ctes: set[str], known: set[str]) -> list[str]:
    """Return the tables of one statement of which it does not say the class."""
    named = anchored(statement, known)
    return [
        table
        for name, table in tables(statement).items()
        if table.startswith("ledger__")
        and table.removeprefix("ledger__") not in REFERENCE
        and table not in ctes
        and name not in named
    ]


def is_record(value: Any, known: set[str]) -> bool:
    """Return whether a value is all that a known record has, ``v_new.*``."""
    fields = (isinstance(value, ast.ColumnRef) and value.fields) or ()
    return (
        len(fields) == 2
        and isinstance(fields[1], ast.A_Star)
        and not known.isdisjoint(name_of(value))
    )


def is_of_a_class(insert: Any, known: set[str]) -> bool:
    """Return whether what is inserted has a class that is known from outside the statement."""
    select = insert.selectStmt
    if select is None:
        return False
    is_known = known | anchored(select, known)
    columns = [column.name for column in insert.cols or ()]
    rows = select.valuesLists or [[target.val for target in select.targetList or ()]]
    if not columns:
        # A record as it is: the row of the table in a variable.
        return not select.fromClause and all(
            len(row) == 1 and is_record(row[0], known) for row in rows
        )
    if "class" not in columns:
        return False
    return all(is_class(name_of(row[columns.index("class")]), is_known) for row in rows)


def complaints(function: Function) -> list[str]:
    """Return what *function* has that could not be run on one node."""
    found: list[str] = []
    _, queries = parts(function)
    known = variables(function)
    for query in queries:
        ctes = {cte.ctename for cte in collect(query.stmt, ast.CommonTableExpr)}
        for statement in collect(query.stmt, READING) if function.name not in NODE else ():
            given = outside(query.stmt, statement, known)
            found += [f"{table} of any class" for table in classless(statement, ctes, given)]
        for statement in collect(query.stmt, ast.InsertStmt) if function.name not in NODE else ():
            given = outside(query.stmt, statement, known)
            table = statement.relation.relname.removeprefix("ledger__")
            if table not in REFERENCE and not is_of_a_class(statement, given):
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
        ("perform from ledger.campaign as c where c.class = c.class", "ledger__campaign of any"),
        ("perform from ledger.campaign as c where c.class = c.target", "ledger__campaign of any"),
        ("perform from ledger.campaign as c where c.class = v_class.class", "ledger__campaign of"),
        (
            (
                "perform from ledger.campaign as c join ledger.attempt as a "
                "on a.class = c.class and a.campaign_id = c.campaign_id"
            ),
            "ledger__attempt of any",
        ),
        (
            (
                "delete from ledger.seat as s using ledger.campaign as c "
                "where s.class = c.class and s.campaign_id = c.campaign_id"
            ),
            "ledger__seat of any",
        ),
        (
            "insert into ledger.seat select s.* from ledger.seat as s where s.class = p_class",
            "seat of no class",
        ),
        ("insert into ledger.seat select p_kind, 1", "seat of no class"),
        ("insert into ledger.seat (class, kind) values ('a', 'work')", "seat of no class"),
        (
            (
                "insert into ledger.seat (class, kind) "
                "select c.class, 'work' from ledger.class as c where c.class = c.class"
            ),
            "seat of no class",
        ),
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


@pytest.mark.parametrize(
    "body",
    [
        "perform from ledger.campaign as c where c.class = p_class",
        "perform from ledger.campaign as c where v_one.class = c.class",
        (
            "delete from ledger.seat as s using ledger.campaign as c "
            "where s.class = c.class and c.class = p_class"
        ),
        (
            "perform from ledger.campaign as c where c.class = p_class and exists "
            "(select from ledger.seat as s where s.class = c.class)"
        ),
        "insert into ledger.campaign select v_one.*",
        "insert into ledger.seat (kind, class) values ('work', v_one.class), ('work', p_class)",
        (
            "insert into ledger.seat (class, kind) "
            "select c.class, 'work' from ledger.class as c where c.class = p_class"
        ),
    ],
)
def test_what_is_of_one_class_is_not_complained_of(body: str) -> None:
    text = f"""
        create function ledger.planted(p_class text) returns void language plpgsql volatile
        as $fn$ declare v_one ledger.campaign; begin {body}; end $fn$
    """

    assert complaints(functions(text)[0]) == []
