"""docs/security.md: every attack, what it must not break, and where it succeeds.

usage: python -m tests.pytest.attacks.page FILE

Made from the attacks themselves. What the page says of them is what the tests assert.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.pytest.attacks import (
    bounds,
    identity,
    locks,
    paths,
    privileges,
    roles,
    server,
    settings,
    shapes,
    traces,
    transactions,
)
from tests.pytest.attacks.ablation import CONTROLS, Control
from tests.pytest.attacks.attack import ATTACKS, MAJORS, Attack, Residual

FAMILIES = (
    paths, shapes, identity, bounds, transactions, locks, traces, settings, privileges, roles,
    server,
)  # fmt: skip

HEAD = """\
# The boundary, attacked

<!-- Made by tests/pytest/attacks from its own entries. Change those, then `make docs`. -->

The functions of `kernel` are the only way to write the ledger. Each attack below tries to get round
that, as LOGIN roles over connections of their own, with what such a role has and nothing else. It
is judged by its effect, not by an error.

Every attack is run on two kernels, by the same code, on PostgreSQL 15 and 18. The server gives more
to attack than by default: `pg_stat_statements` is loaded, and `max_prepared_transactions` is 1.

* *naive*: `tests/pytest/attacks/naive/kernel.sql`, a queue of campaigns written the usual way.
  There an attack has to succeed (`yes`): one that cannot win anywhere proves nothing. A number is
  the only major on which it does. `core`: PostgreSQL itself refuses it, and the test is that it
  still does.
* *deployed*: what `sqitch deploy` makes, by a deployer who is no superuser. `no`: it fails, and
  every invariant holds of the ledger afterwards. *residual*: PostgreSQL alone does not stop it, on
  either kernel; [below](#what-remains) is what bounds it, and it is tested that the others work on
  when the attacker has gone.

{attacks} attacks, of which {refused} fail on the deployed kernel and {residual} are residuals. To
run them: `make test-pytest ARGS=tests/pytest/attacks`.
"""

REMAINS = """\
## What remains

Anybody who may log in can do these things, whatever was granted; [limits.md](limits.md) has them
among the other limits. What is said to be closed by `superuser/` fails once a superuser has
deployed that plan over the kernel; where a transaction is held open, once a reaper has called
`watchdog.evict`. Where a statement is given, a superuser runs it, once, and the
attack fails; `{worker}` stands for the name of a client's role. Both are tested.
"""

REMOVED = """\
## What holds it

A defence is real if its absence lets an attack through. In a copy of the deployed database one
control at a time is taken away, and the attacks in the second column succeed. Those in the third
still fail, although the control is against them, too: another one holds. For temporary objects the
last row shows that without both layers there is none.

| taken away | then these succeed | and these still fail |
|---|---|---|
"""


def page() -> str:
    """Return the page."""
    residual = [attack for attack in ATTACKS if attack.residual is not None]
    parts = [
        HEAD.format(
            attacks=len(ATTACKS), refused=len(ATTACKS) - len(residual), residual=len(residual)
        )
    ]
    for family in FAMILIES:
        name = family.__name__.rsplit(".", 1)[-1]
        about = (family.__doc__ or "").strip().split("\n\n", 1)[0].replace("\n", " ")
        parts.append(f"## {about.removesuffix('.')}\n")
        rows = ["| attack | must hold | naive | deployed |", "|---|---|---|---|"]
        rows += [_row(attack) for attack in ATTACKS if attack.family == name]
        parts.append("\n".join(rows) + "\n")
    parts.append(REMAINS)
    parts += [_remains(attack, attack.residual) for attack in residual if attack.residual]
    parts.append("\n" + REMOVED.rstrip("\n") + "\n" + "".join(map(_removed, CONTROLS)))
    return "\n".join(parts)


def title(name: str) -> str:
    """Return an attack's name as it is written."""
    return name.replace("_", "-")


def _row(attack: Attack) -> str:
    on = [major for major in MAJORS if attack.succeeds_on_naive(major)]
    reasons = sorted(set(attack.naive.values()))
    naive = "yes" if len(on) == len(MAJORS) else ", ".join(map(str, on)) or "core"
    if reasons:
        naive += ": " + " ".join(reasons)
    deployed = "no" if attack.residual is None else "[residual](#what-remains)"
    return f"| `{title(attack.name)}`: {attack.does} | {attack.defends} | {naive} | {deployed} |"


def _remains(attack: Attack, residual: Residual) -> str:
    limit = residual.limit.lower().replace(" ", "-").replace("'", "")
    text = f"* `{title(attack.name)}` ([{residual.limit}](limits.md#{limit})): {residual.bound}"
    if residual.is_closed:
        text += " Closed by `superuser/`."
    if residual.measure:
        text += f"\n\n  ```text\n  {residual.measure}\n  ```\n"
    return text


def _removed(control: Control) -> str:
    def listed(names: tuple[str, ...]) -> str:
        return ", ".join(f"`{title(name)}`" for name in names)

    return f"| {control.what} | {listed(control.reopens)} | {listed(control.holds)} |\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
