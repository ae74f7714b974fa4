"""External operations, with several sessions at once: whose it is, what waits, and what does not.

Nobody becomes the owner of what is another's; an operation and the rows of its effect in this
database are committed together or not at all; and who reports is never in anybody's way.
"""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from tests.pytest.sessions.conftest import Ledger, Session

EVIDENCE = {"p_evidence_uri": "file:///evidence", "p_evidence_sha256": b"e" * 32}
SHOWN = {"p_read_back": Jsonb({"commit": "c"})}


def post(session: Session, key: str, token: UUID | None = None, **more: object) -> dict[str, Any]:
    """Begin an operation without a campaign. Nothing is committed."""
    given: dict[str, object] = {
        "p_operation_token": token or uuid4(),
        "p_kind": "http.post",
        "p_target": "https://service.invalid/",
        "p_fingerprint": "f",
        "p_key": key,
    }
    return session.call("begin_operation", **given | more)


def push(session: Session, held: dict[str, Any], token: UUID, **more: object) -> dict[str, Any]:
    """Begin an operation of a campaign. Nothing is committed."""
    given: dict[str, object] = {
        "p_operation_token": token,
        "p_kind": "git.push",
        "p_target": "/srv/r#refs/x",
        "p_fingerprint": "f",
        "p_expected": Jsonb({"after": {"commit": "c"}}),
    }
    return session.call("begin_operation", **held, **given | more)


def of(key: str, token: UUID) -> dict[str, Any]:
    """Return what names an operation in its owner's calls."""
    return {"p_operation_key": key, "p_operation_token": token}


@pytest.fixture
def posts(ledger: Ledger) -> Ledger:
    """Return a ledger whose workers may post, without a campaign, and push within one."""
    ledger.admin.done(
        "authorise",
        p_duty="worker",
        p_kind="http.post",
        p_target="https://*",
        p_is_standalone=True,
    )
    ledger.admin.done("authorise", p_duty="worker", p_kind="git.push", p_target="/srv/r#refs/x*")
    return ledger


def row(ledger: Ledger, key: str) -> tuple[Any, ...]:
    """Return state and revision of an operation, committed."""
    found = ledger.look(
        "select state, revision from ledger.operation where operation_key = %s", key
    )
    assert len(found) == 1
    return found[0]


def all_at_once(sessions: list[Session], what: Callable[[Session], str]) -> Counter[str]:
    """Let every session do something in the same instant; return how often each was answered."""
    start = threading.Barrier(len(sessions))

    def one(session: Session) -> str:
        start.wait(timeout=20)
        answer = what(session)
        session.commit()
        return answer

    with ThreadPoolExecutor(max_workers=len(sessions)) as pool:
        return Counter(pool.map(one, sessions))


# -- whose it is -----------------------------------------------------------------------------------


def test_of_sixteen_rivals_for_a_key_one_becomes_its_owner(posts: Ledger) -> None:
    """D01, D11: eight keys, one after the other; begun, then taken over when the lease ended."""
    posts.stop_clock()
    rivals = [posts.session("worker", number % 4) for number in range(16)]
    for number in range(8):
        key = f"key {number}"
        told = all_at_once(rivals, lambda rival, key=key: post(rival, key)["status"])  # type: ignore[misc]
        assert told == {"owner": 1, "pending": 15}, key
        assert row(posts, key) == ("pending", 1)

        posts.tick("15 minutes")
        told = all_at_once(rivals, lambda rival, key=key: post(rival, key)["status"])  # type: ignore[misc]
        assert told == {"owner": 1, "pending": 15}, f"{key}, taken over"
        assert row(posts, key) == ("pending", 2)
    owners = posts.look("select count(*) from ledger.operation_event where to_state = 'pending'")
    assert owners == [(16,)]


def test_of_sixteen_who_find_it_started_and_past_its_lease_none_becomes_its_owner(
    posts: Ledger,
) -> None:
    """D03."""
    posts.stop_clock()
    owner, token = posts.session("worker"), uuid4()
    post(owner, "key", token)
    owner.commit()
    owner.done("start_operation", **of("key", token))
    posts.tick("15 minutes")
    rivals = [posts.session("worker", number % 4) for number in range(16)]
    told = all_at_once(rivals, lambda rival: str(post(rival, "key")["status"]))
    assert told == {"unknown": 16}
    assert row(posts, "key") == ("unknown", 3)


def test_the_second_waits_for_the_first_and_then_finds_it(posts: Ledger) -> None:
    anna, ben = posts.session("worker"), posts.session("worker", 1)
    assert post(anna, "key")["status"] == "owner"
    his = posts.background(lambda: post(ben, "key"))
    posts.wait_until_blocked(ben, anna)
    anna.commit()
    assert his.result()["status"] == "pending"
    ben.commit()


@pytest.mark.parametrize("left", ["released", "past its lease"])
def test_what_two_find_free_one_takes(posts: Ledger, left: str) -> None:
    posts.stop_clock()
    anna, token = posts.session("worker"), uuid4()
    post(anna, "key", token)
    anna.commit()
    if left == "released":
        anna.done("release_operation", **of("key", token))
    posts.tick("15 minutes")
    ben, carl = posts.session("worker", 1), posts.session("worker", 2)
    assert post(ben, "key")["status"] == "owner"
    his = posts.background(lambda: post(carl, "key"))
    posts.wait_until_blocked(carl, ben)
    ben.commit()
    assert his.result()["status"] == "pending"
    carl.commit()
    assert row(posts, "key") == ("pending", 1 if left == "released" else 2)


def test_what_was_begun_and_rolled_back_was_never_begun(posts: Ledger) -> None:
    """D16: and its effect cannot have been started."""
    anna, ben, token = posts.session("worker"), posts.session("worker", 1), uuid4()
    assert post(anna, "key", token)["status"] == "owner"
    with pytest.raises(psycopg.Error) as raised:
        anna.call("start_operation", **of("key", token))
    assert raised.value.sqlstate == "KN113"
    anna.rollback()
    with pytest.raises(psycopg.Error) as raised:
        anna.call("start_operation", **of("key", token))
    assert raised.value.sqlstate == "KN116"
    anna.rollback()
    assert posts.look("select from ledger.operation_event") == []

    assert post(anna, "key", token)["status"] == "owner"
    his = posts.background(lambda: post(ben, "key"))
    posts.wait_until_blocked(ben, anna)
    anna.rollback()
    assert his.result()["status"] == "owner"
    ben.commit()
    assert row(posts, "key") == ("pending", 1)


def test_an_operation_is_started_in_a_later_transaction(posts: Ledger) -> None:
    anna, token = posts.session("worker"), uuid4()
    post(anna, "key", token)
    anna.commit()
    assert anna.call("start_operation", **of("key", token))["outcome"] == "ok"
    anna.commit()
    assert row(posts, "key") == ("pending", 2)


# -- what is reported at the same time -------------------------------------------------------------


@pytest.fixture
def started(posts: Ledger) -> tuple[Ledger, Session, UUID]:
    """Return a ledger, a worker's session, and the token of its operation "key", started."""
    posts.stop_clock()
    anna, token = posts.session("worker"), uuid4()
    post(anna, "key", token)
    anna.commit()
    anna.done("start_operation", **of("key", token))
    return posts, anna, token


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_an_effect_in_this_database_and_its_record_are_one(
    started: tuple[Ledger, Session, UUID], end: str
) -> None:
    """The caller's own rows and the completion: both, or neither."""
    ledger, anna, token = started
    ledger._god.execute("create schema shop")
    ledger._god.execute("create table shop.paid (amount integer)")
    ledger._god.execute("grant usage on schema shop to public")
    ledger._god.execute("grant insert on shop.paid to public")
    anna._connection.execute("insert into shop.paid values (7)")
    answer = anna.call("complete_operation", **of("key", token), p_result=Jsonb({"id": 7}))
    assert answer["operation_state"] == "completed"
    ben = ledger.session("worker", 1)
    assert post(ben, "key")["status"] == "pending"  # while her transaction is open
    ben.commit()
    getattr(anna, end)()

    told = post(ben, "key")
    ben.commit()
    paid = ledger.look("select amount from shop.paid")
    if end == "commit":
        assert (told["status"], told["result"], paid) == ("replay", {"id": 7}, [(7,)])
        assert row(ledger, "key") == ("completed", 3)
    else:
        assert (told["status"], told["result"], paid) == ("pending", None, [])
        assert row(ledger, "key") == ("pending", 2)
        answer = anna.done("complete_operation", **of("key", token), p_result=Jsonb({"id": 7}))
        assert (answer["moved"], answer["duplicate"]) == (True, False)


def test_who_completes_while_another_takes_over_wins_if_first(
    started: tuple[Ledger, Session, UUID],
) -> None:
    """D02: the lease is over, and both come."""
    ledger, anna, token = started
    ledger.tick("15 minutes")
    ben = ledger.session("worker", 1)
    anna.call("complete_operation", **of("key", token), p_result=Jsonb(1))
    his = ledger.background(lambda: post(ben, "key"))
    ledger.wait_until_blocked(ben, anna)
    anna.commit()
    assert his.result()["status"] == "replay"
    ben.commit()
    assert row(ledger, "key") == ("completed", 3)


def test_who_is_late_by_a_takeover_finds_it_another_s(posts: Ledger) -> None:
    posts.stop_clock()
    anna, ben, token = posts.session("worker"), posts.session("worker", 1), uuid4()
    post(anna, "key", token)
    anna.commit()
    posts.tick("15 minutes")
    assert post(ben, "key")["status"] == "owner"
    hers = posts.background(lambda: anna.call("complete_operation", **of("key", token)))
    posts.wait_until_blocked(anna, ben)
    ben.commit()
    assert hers.result()["outcome"] == "stale"
    anna.commit()
    assert row(posts, "key") == ("pending", 2)


def test_an_end_that_was_said_to_be_unknown_is_still_the_owner_s_to_tell(
    started: tuple[Ledger, Session, UUID],
) -> None:
    ledger, anna, token = started
    ledger.tick("15 minutes")
    reaper = ledger.session("reaper")
    assert [one["operation_state"] for one in reaper.rows("expire_operations")] == ["unknown"]
    hers = ledger.background(
        lambda: anna.call("complete_operation", **of("key", token), p_result=Jsonb(1))
    )
    ledger.wait_until_blocked(anna, reaper)
    reaper.commit()
    assert hers.result()["outcome"] == "ok"
    anna.commit()
    assert row(ledger, "key") == ("completed", 4)


def test_the_reaper_waits_for_nobody_who_reports(started: tuple[Ledger, Session, UUID]) -> None:
    ledger, anna, token = started
    other, its_token = ledger.session("worker"), uuid4()
    post(other, "other", its_token)
    other.commit()
    ledger.tick("15 minutes")
    anna.call("complete_operation", **of("key", token))
    reaper = ledger.session("reaper")
    expired = reaper.finished("expire_operations")  # while her transaction is open
    assert [one["operation_key"] for one in expired] == ["other"]
    anna.commit()
    assert row(ledger, "key") == ("completed", 3)


def test_of_two_reconcilers_the_first_stands(started: tuple[Ledger, Session, UUID]) -> None:
    ledger, anna, token = started
    unknown = anna.done("mark_operation_unknown", **of("key", token), p_reason="cut")
    fence = {
        "p_operation_key": "key",
        "p_incarnation": unknown["incarnation"],
        "p_revision": unknown["revision"],
    }
    ben = ledger.session("worker", 1)
    anna.call("resolve_operation", **fence, p_state="failed", p_reason="not there")
    his = ledger.background(
        lambda: ben.call("resolve_operation", **fence, p_state="completed", p_result=Jsonb(1))
    )
    ledger.wait_until_blocked(ben, anna)
    anna.commit()
    assert his.result()["outcome"] == "illegal"
    ben.commit()
    assert row(ledger, "key") == ("failed", 4)


def test_a_key_that_is_pruned_meanwhile_is_begun_anew(posts: Ledger) -> None:
    posts.stop_clock()
    anna, token = posts.session("worker"), uuid4()
    old = post(anna, "key", token)
    anna.commit()
    anna.done("release_operation", **of("key", token))
    posts.tick("31 days")
    reaper = posts.session("reaper")
    assert reaper.call("prune_operations")["removed"] == 1
    new = posts.background(lambda: post(anna, "key"))
    posts.wait_until_blocked(anna, reaper)
    reaper.commit()
    begun = new.result()
    anna.commit()
    assert (begun["status"], begun["revision"]) == ("owner", 1)
    assert begun["incarnation"] != old["incarnation"]
    assert posts.look("select event_no, event from ledger.operation_event") == [(1, "begin")]


@pytest.fixture
def ended(posts: Ledger) -> tuple[Ledger, Session]:
    """Return a ledger in which "first" and "second" were released long ago, and their worker."""
    posts.stop_clock()
    anna = posts.session("worker")
    for key in ("first", "second"):
        token = uuid4()
        post(anna, key, token)
        anna.commit()
        anna.done("release_operation", **of(key, token))
        posts.tick("1 second")
    posts.tick("31 days")
    return posts, anna


def test_what_is_begun_anew_under_the_pruning_s_eyes_stays(ended: tuple[Ledger, Session]) -> None:
    """It had ended long ago when it was looked for, and no longer when its lock was had."""
    ledger, anna = ended
    # Before the first is deleted, its guard looks for a tombstone. The second was seen by then, and
    # is not locked yet: or else it could not be begun.
    reaper, bar = ledger.session("reaper"), ledger.barring("tombstone")
    pruned = ledger.background(lambda: reaper.call("prune_operations"))
    ledger.wait_until_blocked(reaper, bar)
    assert post(anna, "second")["status"] == "owner"
    anna.commit()
    bar.rollback()
    assert pruned.result()["removed"] == 1
    reaper.commit()
    assert ledger.look("select operation_key, state, revision from ledger.operation") == [
        ("second", "pending", 1)
    ]
    history = ledger.look("select event from ledger.operation_event order by event_no")
    assert history == [("begin",), ("release",), ("begin",)]


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_what_is_being_begun_anew_is_left_and_not_waited_for(
    ended: tuple[Ledger, Session], end: str
) -> None:
    ledger, anna = ended
    assert post(anna, "first")["status"] == "owner"
    reaper = ledger.session("reaper")
    assert reaper.done("prune_operations")["removed"] == 1  # while her transaction is open
    getattr(anna, end)()
    state = "pending" if end == "commit" else "released"
    left = ledger.look("select operation_key, state from ledger.operation")
    assert left == [("first", state)]
    assert reaper.done("prune_operations")["removed"] == (0 if end == "commit" else 1)


def test_what_was_not_pruned_after_all_is_begun_anew(ended: tuple[Ledger, Session]) -> None:
    ledger, anna = ended
    reaper = ledger.session("reaper")
    assert reaper.call("prune_operations")["removed"] == 2
    new = ledger.background(lambda: post(anna, "first"))
    ledger.wait_until_blocked(anna, reaper)
    reaper.rollback()
    assert new.result()["status"] == "owner"
    anna.commit()
    history = ledger.look("select event from ledger.operation_event where operation_key = 'first'")
    assert [event for (event,) in history] == ["begin", "release", "begin"]


def test_who_only_asks_is_in_nobody_s_way(started: tuple[Ledger, Session, UUID]) -> None:
    """Neither the owner's nor the reaper's, be it told pending, conflict or replay."""
    ledger, anna, token = started
    ben, carl, reaper = (
        ledger.session("worker", 1),
        ledger.session("worker", 2),
        ledger.session("reaper"),
    )
    assert post(ben, "key")["status"] == "pending"
    assert post(carl, "key", p_fingerprint="g")["status"] == "conflict"
    ledger.look("select from ledger.operation for update nowait")
    anna.done("complete_operation", **of("key", token))  # while their transactions are open
    assert post(ben, "key")["status"] == "replay"
    ledger.tick("31 days")
    assert reaper.done("prune_operations")["removed"] == 1
    ben.commit()
    carl.commit()


# -- with the campaign -----------------------------------------------------------------------------


def test_nothing_is_submitted_while_an_operation_is_being_completed(
    posts: Ledger, submission: dict[str, Any]
) -> None:
    (campaign,) = posts.campaigns()
    anna, again, token = posts.session("worker"), posts.session("worker"), uuid4()
    held = anna.claimed()
    key = push(anna, held, token)["operation_key"]
    anna.commit()
    anna.done("start_operation", **of(key, token))
    anna.call("complete_operation", **of(key, token), **SHOWN)
    # It does not wait: what is not committed is not known.
    assert again.call("submit", **held, **submission)["outcome"] == "operation_open"
    again.commit()
    anna.commit()
    assert again.done("submit", **held, **submission)["state"] == "attempted"
    assert posts.state(campaign) == "attempted"


def test_begun_while_it_is_submitted_it_comes_too_late(
    posts: Ledger, submission: dict[str, Any]
) -> None:
    posts.campaigns()
    anna, again = posts.session("worker"), posts.session("worker")
    held = anna.claimed()
    anna.call("submit", **held, **submission)
    late = posts.background(lambda: push(again, held, uuid4()))
    posts.wait_until_blocked(again, anna)
    anna.commit()
    assert late.result()["outcome"] == "stale"
    again.commit()


def test_submitted_while_one_is_begun_it_comes_too_early(
    posts: Ledger, submission: dict[str, Any]
) -> None:
    posts.campaigns()
    anna, again = posts.session("worker"), posts.session("worker")
    held = anna.claimed()
    assert push(anna, held, uuid4())["status"] == "owner"
    early = posts.background(lambda: again.call("submit", **held, **submission))
    posts.wait_until_blocked(again, anna)
    anna.commit()
    assert early.result()["outcome"] == "operation_open"
    again.commit()


def test_of_two_sessions_of_a_holder_one_begins_it(posts: Ledger) -> None:
    posts.campaigns()
    anna, again = posts.session("worker"), posts.session("worker")
    held = anna.claimed()
    assert push(anna, held, uuid4())["status"] == "owner"
    other = posts.background(lambda: push(again, held, uuid4()))
    posts.wait_until_blocked(again, anna)
    anna.commit()
    assert other.result()["status"] == "pending"
    again.commit()


def test_begun_while_the_class_is_paused_it_comes_too_late(posts: Ledger) -> None:
    """It waited for the campaign's row; what counts is how the class is when it has it."""
    posts.campaigns()
    anna, again = posts.session("worker"), posts.session("worker")
    held = anna.claimed()
    anna.call("renew", **held)
    late = posts.background(lambda: push(again, held, uuid4()))
    posts.wait_until_blocked(again, anna)
    posts.admin.done("pause")
    anna.commit()
    assert late.result()["outcome"] == "paused"
    again.commit()
    assert posts.look("select from ledger.operation") == []


def test_started_while_the_class_is_paused_it_comes_too_late(posts: Ledger) -> None:
    posts.campaigns()
    anna, again, token = posts.session("worker"), posts.session("worker"), uuid4()
    held = anna.claimed()
    key = push(anna, held, token)["operation_key"]
    anna.commit()
    anna.call("renew", **held)
    late = posts.background(lambda: again.call("start_operation", **of(key, token)))
    posts.wait_until_blocked(again, anna)
    posts.admin.done("pause")
    anna.commit()
    assert late.result()["outcome"] == "paused"
    again.commit()
    assert row(posts, key) == ("pending", 1)


def test_accepted_while_the_class_is_paused_it_comes_too_late(
    posts: Ledger, submission: dict[str, Any]
) -> None:
    (campaign,) = posts.campaigns()
    worker = posts.once("worker")
    worker.done("submit", **worker.claimed(), **submission)
    anna, again = posts.session("verifier"), posts.session("verifier")
    held = anna.claimed("claim_verification")
    verdict = {
        "p_verdict": "accepted",
        "p_bundle_sha256": anna.done("bundle", **held)["bundle_sha256"],
        "p_fingerprint": submission["p_fingerprint"],
        "p_exit_code": 0,
        **EVIDENCE,
    }
    anna.call("renew", **held)
    late = posts.background(lambda: again.call("judge", **held, **verdict))
    posts.wait_until_blocked(again, anna)
    posts.admin.done("pause")
    anna.commit()
    assert late.result()["outcome"] == "paused"
    again.commit()
    assert posts.state(campaign) == "verifying"


def test_a_lease_is_not_taken_from_who_reports_an_effect(posts: Ledger) -> None:
    """Nor do the others wait for that: the reaper takes theirs, and comes back for this one."""
    posts.stop_clock()
    mine, other = posts.campaigns(2)
    anna, ben, token = posts.session("worker"), posts.session("worker", 1), uuid4()
    held = anna.claimed()
    ben.claimed()
    key = push(anna, held, token)["operation_key"]
    anna.commit()
    anna.done("start_operation", **of(key, token))
    posts.tick("15 minutes")
    anna.call("complete_operation", **of(key, token), **SHOWN)
    reaper = posts.session("reaper")
    reaped = reaper.finished("reap")  # while her transaction is open
    assert [one["campaign_id"] for one in reaped] == [other]
    anna.commit()
    assert row(posts, key) == ("completed", 3)
    assert [one["campaign_id"] for one in reaper.finished("reap")] == [mine]


def test_what_a_lease_leaves_started_is_unknown_and_then_the_owner_tells(posts: Ledger) -> None:
    posts.stop_clock()
    posts.campaigns()
    anna, token = posts.session("worker"), uuid4()
    key = push(anna, anna.claimed(), token)["operation_key"]
    anna.commit()
    anna.done("start_operation", **of(key, token))
    posts.tick("15 minutes")
    reaper = posts.session("reaper")
    assert [one["note"] for one in reaper.rows("reap")] == ["lose"]
    hers = posts.background(lambda: anna.call("complete_operation", **of(key, token), **SHOWN))
    posts.wait_until_blocked(anna, reaper)
    reaper.commit()
    assert hers.result()["outcome"] == "ok"
    anna.commit()
    assert row(posts, key) == ("completed", 4)


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_a_campaign_is_not_pruned_before_it_is_known_how_its_effect_ended(
    posts: Ledger, end: str
) -> None:
    """Nor does its pruning wait for who is just telling that."""
    posts.define_class(retention="0")
    (campaign,) = posts.campaigns()
    anna, token = posts.session("worker"), uuid4()
    key = push(anna, anna.claimed(), token)["operation_key"]
    anna.commit()
    anna.done("start_operation", **of(key, token))
    posts.admin.done("cancel", p_campaign_id=campaign, p_generation=1)
    assert row(posts, key) == ("unknown", 3)
    assert posts.admin.done("prune")["note"].startswith("0 campaigns")

    anna.call("complete_operation", **of(key, token), **SHOWN)
    pruner = posts.session("admin")
    assert pruner.call("prune")["note"].startswith("0 campaigns")  # while her transaction is open
    pruner.commit()
    getattr(anna, end)()
    pruned = "1 campaigns" if end == "commit" else "0 campaigns"
    assert posts.admin.done("prune")["note"].startswith(pruned)


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_of_two_promotions_to_one_place_one_is_started(ledger: Ledger, end: str) -> None:
    """Two targets name one place; each has a campaign that is to be promoted there."""
    ledger.define_class(promotes=True)
    place = {"repository": "/srv/r", "ref": "refs/heads/main"}
    verifiers = [ledger.session("verifier", number) for number in range(2)]
    begun = []
    for verifier in verifiers:
        target = f"target {uuid4()}"
        ledger.admin.done(
            "define_target",
            p_target=target,
            p_location=Jsonb(place),
            p_desired_state=Jsonb({}),
            p_acceptance=Jsonb({"command": ["true"]}),
        )
        ledger.admin.done("open_campaign", p_target=target, p_token=uuid4())
        worker = ledger.once("worker")
        worker.done(
            "submit",
            **worker.claimed(),
            p_fingerprint=target,
            p_approach=None,
            p_result=Jsonb({"base": "b", "commit": "c"}),
        )
        held = verifier.claimed("claim_verification")
        bundle = verifier.done("bundle", **held)
        verifier.done(
            "judge",
            **held,
            p_verdict="accepted",
            p_bundle_sha256=bundle["bundle_sha256"],
            p_fingerprint=target,
            p_exit_code=0,
            **EVIDENCE,
        )
        token = uuid4()
        operation = push(
            verifier,
            held,
            token,
            p_kind="promote",
            p_target="/srv/r#refs/heads/main",
            p_expected=Jsonb({"before": "b", "after": {"commit": "c"}, "fence": "f"}),
        )
        verifier.commit()
        assert operation["status"] == "owner"
        begun.append(of(operation["operation_key"], token))

    first, second = verifiers
    assert first.call("start_operation", **begun[0])["outcome"] == "ok"
    other = ledger.background(lambda: second.call("start_operation", **begun[1]))
    ledger.wait_until_blocked(second, first)
    getattr(first, end)()
    assert other.result()["outcome"] == ("operation_open" if end == "commit" else "ok")
    second.commit()
    underway = ledger.look("select count(*) from ledger.operation where started_at is not null")
    assert underway == [(1,)]


# -- with who administers --------------------------------------------------------------------------


def test_no_authority_comes_in_while_a_target_is_being_placed(ledger: Ledger) -> None:
    first, second = ledger.session("admin"), ledger.session("admin")
    target = {
        "p_target": "t",
        "p_location": Jsonb({"repository": "/srv/r", "ref": "refs/heads/main"}),
        "p_desired_state": Jsonb({}),
        "p_acceptance": Jsonb({"command": ["true"]}),
    }
    authority = {"p_duty": "worker", "p_kind": "git.push", "p_target": "/srv/r#*"}
    assert first.call("define_target", **target)["outcome"] == "ok"
    late = ledger.background(lambda: second.call("authorise", **authority))
    ledger.wait_until_blocked(second, first)
    first.commit()
    assert late.result()["outcome"] == "illegal"
    second.commit()

    authority["p_target"] = "/srv/s#*"
    target["p_location"] = Jsonb({"repository": "/srv/s", "ref": "refs/heads/main"})
    assert first.call("authorise", **authority)["outcome"] == "ok"
    late = ledger.background(lambda: second.call("define_target", **target))
    ledger.wait_until_blocked(second, first)
    first.commit()
    assert late.result()["outcome"] == "illegal"
    second.commit()


def test_a_class_is_not_retired_while_an_operation_begins(posts: Ledger) -> None:
    anna, admin = posts.session("worker"), posts.session("admin")
    assert post(anna, "key")["status"] == "owner"
    retired = posts.background(lambda: admin.call("retire_class"))
    posts.wait_until_blocked(admin, anna)
    anna.commit()
    assert retired.result()["outcome"] == "operation_open"
    admin.commit()
