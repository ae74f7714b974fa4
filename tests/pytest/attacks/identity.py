"""Attacks on who a caller is, and on what a lease lets its holder do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.pytest.attacks.attack import attack, core
from tests.pytest.attacks.kernels import Lease
from tests.pytest.attacks.scene import without_numbers

if TYPE_CHECKING:
    from tests.pytest.attacks.scene import Scene


@attack(
    "passes null for the generation",
    "A write under no generation changes nothing.",
)
def pass_no_generation(scene: Scene) -> bool:
    worker = scene.hand("worker")
    lease = scene.claim(worker)
    worker.do(scene.kernel.complete(lease, generation=None))
    return scene.state(lease)["state"] != "leased"


@attack(
    "hands in a result under another worker's lease, of which it knows everything",
    "A lease is its holder's: another principal's write under it changes nothing.",
)
def complete_anothers_lease(scene: Scene) -> bool:
    lease = scene.claim(scene.hand("worker"), worker=scene.name("worker"))
    scene.hand("rival").do(scene.kernel.complete(lease))
    return scene.state(lease)["state"] != "leased"


@attack(
    "claims under another's name",
    "The holder of a lease is who the session logged in as.",
)
def claim_in_anothers_name(scene: Scene) -> bool:
    worker = scene.hand("worker")
    lease = scene.claim(worker, worker=scene.name("verifier"))
    return scene.state(lease)["holder"] != scene.name("worker")


@attack(
    "says in settings of its session that it is somebody else",
    "No setting of a session says who its caller is.",
)
def set_a_name(scene: Scene) -> bool:
    worker, other = scene.hand("worker"), scene.hand("verifier")
    name = scene.name("worker")
    for setting in ("app.worker", "app.user", "application_name", "fencepost.principal"):
        other.do(f"set {setting} = '{name}'")
    if scene.kernel.name == "naive":
        return other.do("select naive.whoami()").value == name
    lease = scene.claim(worker)
    rival = scene.hand("rival")
    for setting in ("app.worker", "app.user", "application_name", "fencepost.principal"):
        rival.do(f"set {setting} = '{name}'")
    rival.do(scene.kernel.complete(lease))
    return scene.state(lease)["state"] != "leased"


@attack(
    "becomes another role by SET ROLE, and is then taken for that role",
    "A caller is who it logged in as, whatever role it has set since.",
)
def verify_as_another_role(scene: Scene) -> bool:
    worker = scene.hand("worker")
    lease = scene.claim(worker)
    assert worker.do(scene.kernel.complete(lease)).is_done
    for role in (scene.name("verifier"), "fencepost_verifier"):
        worker.do(f"set role {role}")
    for call in scene.kernel.verify(lease):
        worker.do(call)
    return scene.state(lease)["state"] == "verified"


@attack(
    "has both duties, by right, and judges what it has made itself",
    "Who worked on a campaign does not judge it, whatever duties it has.",
)
def judge_ones_own_attempt(scene: Scene) -> bool:
    name = scene.name("worker")
    group = "naive_verifier" if scene.kernel.name == "naive" else "fencepost_verifier"
    scene.god.do(f"grant {group} to {name}")
    try:
        scene.hand("admin").do(f"select kernel.enrol('guarded', '{name}', 'verifier')")
        worker = scene.hand("worker")
        lease = scene.claim(worker)
        assert worker.do(scene.kernel.complete(lease)).is_done
        for call in scene.kernel.verify(lease):
            worker.do(call)
        return scene.state(lease)["state"] == "verified"
    finally:
        if scene.kernel.name != "naive":
            scene.god.do(f"revoke {group} from {name}")


@attack(
    "hands in another result after the first",
    "What was handed in once stays as it was.",
)
def complete_again(scene: Scene) -> bool:
    worker = scene.hand("worker")
    lease = scene.claim(worker)
    assert worker.do(scene.kernel.complete(lease, result='{"is": "first"}')).is_done
    worker.do(scene.kernel.complete(lease, result='{"is": "second"}'))
    return "second" in (scene.state(lease)["result"] or "")


@attack(
    "compares what it is answered for a campaign that exists with one that does not",
    "Who is not enrolled learns from no answer what exists.",
)
def tell_what_exists(scene: Scene) -> bool:
    lease = scene.claim(scene.hand("worker"))
    outsider = scene.hand("outsider")
    calls = (scene.kernel.complete, scene.kernel.heartbeat)
    for call in calls:
        there = outsider.do(call(Lease(lease.campaign, 99, lease.token)))
        nowhere = outsider.do(call(Lease(999999, 99, lease.token)))
        seen = [
            (answer.sqlstate, without_numbers(f"{answer.said} {answer.rows}"))
            for answer in (there, nowhere)
        ]
        if seen[0] != seen[1]:
            return True
    return False


@attack(
    "goes on with statements that it prepared before its right was taken away",
    "Whose right was taken away does nothing more, prepared or not.",
    naive=core("The privilege to execute is checked at every execution."),
)
def go_on_with_what_was_prepared(scene: Scene) -> bool:
    worker = scene.hand("rival")
    wanted = scene.kernel.mint()
    worker.do(f"prepare again as {scene.kernel.claim(wanted)}")
    functions = scene.look(
        "select p.oid::regprocedure::text as f from pg_proc as p"
        f" where p.pronamespace = '{scene.kernel.public}'::regnamespace and p.proname = 'claim'"
    )
    holders = "public" if scene.kernel.name == "naive" else "fencepost_worker"
    for row in functions:
        scene.look(f"revoke execute on function {row['f']} from {holders}; select 1 as done")
    return scene.kernel.leased(worker.do("execute again"), wanted) is not None


@attack(
    "resets its role and its session's user, from within and without",
    "No statement makes a session somebody else's.",
    naive=core("Who is no superuser becomes by RESET only what he was."),
)
def reset_the_session(scene: Scene) -> bool:
    worker = scene.hand("worker")
    for statement in (
        "reset role",
        "set role none",
        "reset session authorization",
        "set session authorization default",
        f"set session authorization {scene.kernel.owner}",
    ):
        worker.do(statement)
    return worker.do("select session_user").value != scene.name("worker")
