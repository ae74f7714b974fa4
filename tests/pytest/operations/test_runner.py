"""The runner: an effect happens once or nobody knows, and then nobody does it again."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import textwrap
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from fencepost import errors
from fencepost.operations import (
    ABSENT,
    Completed,
    Context,
    EffectRunner,
    Failed,
    FenceChanged,
    InvalidArgument,
    OutcomeNotRecorded,
    State,
    StillUnknown,
    Store,
    Unknown,
    run_http_effect,
    run_queue_effect,
)
from fencepost.operations.command import KEY_VARIABLE, Ended, command_effect
from fencepost.session import connect
from tests.pytest.operations.conftest import KIND, TARGET

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.operations import Claim, Operation
    from tests.pytest.operations.conftest import Office

SECOND = timedelta(seconds=1)


class Provider:
    """The other side: it counts what it is made to do."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def __call__(self, context: Context) -> Completed:
        self.done.append(context.key)
        return Completed(result={"number": len(self.done)})


@pytest.fixture
def provider() -> Provider:
    return Provider()


@pytest.fixture
def runner(store: Store) -> EffectRunner:
    return EffectRunner(store)


def test_an_effect_happens_once_and_is_replayed(runner: EffectRunner, provider: Provider) -> None:
    first = runner.run("k", "f", provider)
    assert (first.state, first.result, first.is_executed) == ("completed", {"number": 1}, True)
    assert first.operation is not None
    assert first.operation.is_started
    second = runner.run("k", "f", provider)
    assert (second.state, second.result, second.is_executed) == ("replayed", {"number": 1}, False)
    conflict = runner.run("k", "g", provider)
    assert (conflict.state, conflict.result, conflict.reason) == ("conflict", ABSENT, None)
    assert provider.done == ["k"]


def test_the_reason_of_a_success_is_kept(runner: EffectRunner) -> None:
    runner.run("k", "f", lambda _: Completed(result=1, reason="on the second try"))
    assert runner.run("k", "f", lambda _: Completed()).reason == "on the second try"


@pytest.mark.parametrize(
    ("execute", "state", "reason"),
    [
        (lambda _: Failed(reason="declined", result=5), "failed", "declined"),
        (lambda _: Unknown(reason="no answer", diagnostic=[1]), "unknown", "no answer"),
        (lambda _: None, "unknown", "returned an invalid outcome: not Completed"),
        (lambda _: {"state": "completed"}, "unknown", "but dict"),
        (lambda _: Failed(reason=" \u00a0\ufeff"), "unknown", "Failed without a reason"),
        (lambda _: 1 / 0, "unknown", "division by zero"),
    ],
)
def test_whatever_an_effect_ends_as_is_recorded(
    runner: EffectRunner, execute: Callable[[Context], Any], state: str, reason: str
) -> None:
    ended = runner.run("k", "f", execute)
    assert ended.state == state
    assert ended.reason is not None
    assert reason in ended.reason
    found = runner.get("k")
    assert found is not None
    assert (found.operation_state, found.reason) == (state, ended.reason)


def test_a_reason_that_cannot_be_read_becomes_one_that_can(runner: EffectRunner) -> None:
    ended = runner.run("k", "f", lambda _: Failed(reason="\x1b[0m"))
    assert (ended.state, ended.reason) == (
        "failed",
        "the reason given holds nothing that can be read",
    )
    assert runner.run("blank", "f", lambda _: Completed(reason=" ")).reason is None
    assert runner.run("nul", "f", lambda _: Failed(reason="a\x00b")).reason == "a\ufffdb"


def test_an_error_without_words_gets_some(runner: EffectRunner) -> None:
    def execute(_: Context) -> Completed:
        raise RuntimeError(" \u3000 ")

    assert runner.run("k", "f", execute).reason == "side-effect adapter threw without a reason"


def test_an_error_is_classified_by_the_caller(runner: EffectRunner) -> None:
    def execute(_: Context) -> Completed:
        raise TimeoutError("late")

    def on_error(error: BaseException, context: Context) -> Failed:
        return Failed(reason=f"{context.key}: {error}")

    assert runner.run("k", "f", execute, on_error=on_error).state == "failed"

    def confused(error: BaseException, context: Context) -> Failed:
        raise KeyError("what")

    ended = runner.run("other", "f", execute, on_error=confused)
    assert ended.state == "unknown"
    assert ended.reason is not None
    assert "classification failed" in ended.reason


@pytest.mark.parametrize("result", ["\x00", {"k": "\ud800"}, object(), "x" * 70000], ids=type)
def test_a_result_that_cannot_be_stored_does_not_leave_the_operation_open(
    runner: EffectRunner, result: object
) -> None:
    ended = runner.run("k", "f", lambda _: Completed(result=result, reason="paid"))
    assert (ended.state, ended.result) == ("completed", ABSENT)
    assert ended.result_error
    replay = runner.run("k", "f", lambda _: Completed())
    assert replay.state == "replayed"
    assert replay.reason is not None
    assert replay.reason.startswith("paid; the result is not stored")


# -- cancelling ------------------------------------------------------------------------------------


def cancelled() -> threading.Event:
    event = threading.Event()
    event.set()
    return event


def test_what_is_cancelled_before_is_not_claimed(runner: EffectRunner, provider: Provider) -> None:
    assert runner.run("k", "f", provider, cancel=cancelled()).state == "cancelled"
    assert provider.done == []
    assert runner.get("k") is None


class After:
    """A cancellation that comes when it has been asked for so many times."""

    def __init__(self, times: int) -> None:
        self.times = times

    def is_set(self) -> bool:
        self.times -= 1
        return self.times < 0


def test_what_is_cancelled_after_the_claim_is_given_back(
    runner: EffectRunner, provider: Provider
) -> None:
    ended = runner.run("k", "f", provider, cancel=After(1))
    assert ended.state == "cancelled"
    assert ended.operation is not None
    assert ended.operation.operation_state == State.RELEASED
    assert runner.run("k", "f", provider).state == "completed"


def test_a_replay_is_not_hidden_by_a_cancellation(runner: EffectRunner, provider: Provider) -> None:
    runner.run("k", "f", provider)
    assert runner.run("k", "f", provider, cancel=After(1)).state == "replayed"


def test_what_is_cancelled_after_its_start_has_failed(
    runner: EffectRunner, provider: Provider
) -> None:
    ended = runner.run("k", "f", provider, cancel=After(2))
    assert (ended.state, ended.is_executed) == ("failed", False)
    assert provider.done == []


def test_what_is_cancelled_in_flight_is_unknown_at_once(runner: EffectRunner) -> None:
    cancel, begun, go_on = threading.Event(), threading.Event(), threading.Event()
    late: list[str] = []

    def execute(context: Context) -> Completed:
        assert context.cancel is cancel
        begun.set()
        cancel.set()
        go_on.wait()
        late.append("returned")
        return Completed(result="too late")

    ended = runner.run("k", "f", execute, cancel=cancel, cancel_diagnostic={"page": 3})
    assert begun.is_set()
    assert (ended.state, ended.diagnostic, late) == ("unknown", {"page": 3}, [])
    assert ended.reason == "side-effect caller cancelled while execution was in flight"
    go_on.set()
    found = runner.get("k")
    assert found is not None
    assert (found.operation_state, found.diagnostic) == ("unknown", {"page": 3})


def test_what_is_not_cancelled_ends_as_it_does(runner: EffectRunner, provider: Provider) -> None:
    assert runner.run("k", "f", provider, cancel=threading.Event()).state == "completed"
    ended = runner.run("e", "f", lambda _: 1 / 0, cancel=threading.Event())  # type: ignore[arg-type,return-value]
    assert ended.reason == "division by zero"


def test_an_interrupted_process_says_that_it_does_not_know(runner: EffectRunner) -> None:
    def execute(_: Context) -> Completed:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runner.run("k", "f", execute)
    found = runner.get("k")
    assert found is not None
    assert (found.operation_state, found.reason) == ("unknown", "interrupted")


# -- leases ----------------------------------------------------------------------------------------


def test_an_effect_longer_than_its_lease_keeps_it(office: Office) -> None:
    rival, reaper = office.store("rival"), office.store("reaper")
    seen: set[str] = set()

    def execute(context: Context) -> Completed:
        # Until the lease as it was granted is long over, by the server's clock.
        first = context.operation.lease_expires_at
        assert first is not None
        with connect(office.conninfo("rival")) as connection:
            while True:
                row = connection.execute("select clock_timestamp()").fetchone()
                connection.commit()
                assert row is not None
                reaper.expire()
                seen.add(rival.claim("k", "f").status.value)
                if row[0] > first + SECOND:
                    return Completed(result="sent")

    ended = EffectRunner(office.store()).run("k", "f", execute, lease_for=SECOND)
    assert (ended.state, seen) == ("completed", {"pending"})
    assert rival.claim("k", "f").operation.result == "sent"


def test_a_late_result_is_taken_while_nobody_took_the_operation(office: Office) -> None:
    """The lease is over, an effect came through, and its record is not refused for its age."""
    rival = office.store("rival")

    class Unrenewed(Store):
        def renew(self, claim: Claim, **_: object) -> Claim:
            assert claim.is_owner
            raise psycopg.OperationalError("the server is away")

    store = Unrenewed(office.connect(), office.campaign_class, kind=KIND, target=TARGET)

    def execute(_: Context) -> Completed:
        while rival.claim("k", "f").status.value != "unknown":
            pass
        return Completed(result="sent")

    assert EffectRunner(store).run("k", "f", execute, lease_for=SECOND).state == "completed"
    assert [step.to_state for step in rival.history("k")] == [
        "pending",
        "pending",
        "unknown",
        "completed",
    ]


def test_a_lost_answer_to_the_start_does_not_begin_an_effect_whose_lease_is_over(
    office: Office, provider: Provider
) -> None:
    rival = office.store("rival")

    class Deaf(Store):
        """Its first answer to a start arrives when the lease is over."""

        asked = 0

        def start(self, claim: Claim) -> Operation:
            answer = super().start(claim)
            self.asked += 1
            if self.asked == 1:
                while rival.claim("k", "f").status.value != "unknown":
                    pass
                raise psycopg.OperationalError("the answer was lost")
            return answer

    store = Deaf(office.connect(), office.campaign_class, kind=KIND, target=TARGET)
    ended = EffectRunner(store).run("k", "f", provider, lease_for=SECOND)
    assert (ended.state, ended.is_executed, store.asked) == ("unknown", False, 2)
    assert provider.done == []


def test_an_answer_to_the_start_that_comes_late_begins_no_effect(
    office: Office, provider: Provider
) -> None:
    """A process stopped between the two, say: nobody has taken the operation, but anybody may."""
    rival = office.store("rival")

    class Slow(Store):
        def start(self, claim: Claim) -> Operation:
            answer = super().start(claim)
            while not claim.is_over:
                time.sleep(0.05)
            return answer

    store = Slow(office.connect(), office.campaign_class, kind=KIND, target=TARGET)
    ended = EffectRunner(store).run("k", "f", provider, lease_for=SECOND)
    assert (ended.state, ended.is_executed, provider.done) == ("failed", False, [])
    assert ended.reason == "its lease ran out between start and execution"
    assert rival.claim("k", "f").operation.reason == ended.reason


def test_what_the_kernel_does_not_let_start_is_given_back(
    office: Office, provider: Provider
) -> None:
    class Paused(Store):
        def start(self, claim: Claim) -> Operation:
            office.admin("pause", {"class": office.campaign_class, "reason": "audit"})
            return super().start(claim)

    store = Paused(office.connect(), office.campaign_class, kind=KIND, target=TARGET)
    with pytest.raises(errors.Paused):
        EffectRunner(store).run("k", "f", provider)
    assert (provider.done, store.get("k")) == ([], None)


def test_what_nobody_may_do_is_said_at_once(office: Office, provider: Provider) -> None:
    """It is not tried again as if the server were away."""
    tried: list[str] = []

    class Counting(Store):
        def claim(self, key: str, fingerprint: str, **named: Any) -> Claim:
            tried.append(key)
            return super().claim(key, fingerprint, **named)

    reaper = Counting(office.connect("reaper"), office.campaign_class, kind=KIND, target=TARGET)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        EffectRunner(reaper).run("k", "f", provider)
    assert tried == ["k"]


# -- records that cannot be written ----------------------------------------------------------------


def cut(office: Office) -> None:
    """End every connection of the worker's."""
    with psycopg.connect(dbname=office.database, autocommit=True) as superuser:
        superuser.execute(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = %s",
            (office.people["worker"].name,),
        )


def test_an_outcome_that_is_not_recorded_is_in_the_callers_hands(office: Office) -> None:
    store = office.store()

    def execute(_: Context) -> Completed:
        cut(office)
        return Completed(result={"paid": 7})

    with pytest.raises(OutcomeNotRecorded) as raised:
        EffectRunner(store).run("k", "f", execute)
    lost = raised.value
    assert (lost.key, lost.outcome, lost.is_unknown) == ("k", Completed(result={"paid": 7}), False)
    assert str(lost.token) not in str(lost)
    assert store.is_lost

    again = office.store()
    assert again.claim("k", "f").status.value == "pending"
    assert isinstance(lost.outcome, Completed)
    assert again.complete(lost.claim, lost.outcome.result).operation_state == "completed"


def test_over_a_connection_that_comes_back_the_outcome_is_recorded(office: Office) -> None:
    from fencepost.connection import Link

    link = Link(lambda: connect(office.conninfo()))
    store = Store(link, office.campaign_class, kind=KIND, target=TARGET)

    def execute(_: Context) -> Completed:
        cut(office)
        return Completed(result={"paid": 7})

    ended = EffectRunner(store).run("k", "f", execute)
    assert (ended.state, ended.result) == ("completed", {"paid": 7})
    link.drop()


def test_what_is_tried_again_is_tried_with_the_same_token(office: Office) -> None:
    class Stutters(Store):
        """Every answer is lost the first time, when the call has been carried out."""

        lost: list[str] = []  # noqa: RUF012 - of this class only

        def _run(self, call: Any) -> Any:
            answer = super()._run(call)
            if call.text not in self.lost:
                self.lost.append(call.text)
                raise psycopg.OperationalError("the answer was lost")
            return answer

    store = Stutters(office.connect(), office.campaign_class, kind=KIND, target=TARGET)
    ended = EffectRunner(store).run("k", "f", lambda _: Completed(result=1))
    assert ended.state == "completed"
    assert len(store.lost) == 3
    assert len(office.store().history("k")) == 3


def test_an_outcome_that_the_kernel_refuses_leaves_the_operation_unknown(
    runner: EffectRunner,
) -> None:
    with pytest.raises(OutcomeNotRecorded) as raised:
        runner.run(
            "k",
            "f",
            lambda _: Completed(read_back={"etag": "other"}),
            expected={"before": None, "after": {"etag": "mine"}},
        )
    assert raised.value.is_unknown
    assert isinstance(raised.value.__cause__, errors.NoEvidence)
    found = runner.get("k")
    assert found is not None
    assert found.operation_state == "unknown"
    assert found.reason is not None
    assert found.reason.startswith("the effect ended as completed")


# -- reconciling -----------------------------------------------------------------------------------


def test_recovery_asks_about_what_is_unknown_and_about_nothing_else(
    runner: EffectRunner, provider: Provider, store: Store
) -> None:
    def never(_: Operation) -> Failed:
        raise AssertionError

    assert runner.recover("nothing", never).state == "missing"
    runner.run("done", "f", provider)
    assert runner.recover("done", never).state == "completed"
    store.claim("pending", "f")
    assert runner.recover("pending", never).state == "pending"


def test_recovery_records_what_the_resolver_found(runner: EffectRunner, provider: Provider) -> None:
    for key, said, state in (
        ("a", Completed(result={"id": 1}, reason="seen"), "completed"),
        ("b", Failed(reason="not there"), "failed"),
    ):
        runner.run(key, "f", lambda _: Unknown(reason="timeout", diagnostic={"n": 1}))
        asked: list[Any] = []

        def resolver(operation: Operation, said: Any = said, asked: list[Any] = asked) -> Any:
            asked.append(operation.diagnostic)
            return said

        done = runner.recover(key, resolver)
        assert done.state == "resolved"
        assert done.operation is not None
        assert done.operation.operation_state == state
        assert asked == [{"n": 1}]
    assert runner.run("a", "f", provider).result == {"id": 1}
    assert provider.done == []


def test_recovery_keeps_what_is_still_unknown(runner: EffectRunner) -> None:
    runner.run("k", "f", lambda _: Unknown(reason="timeout"))
    done = runner.recover("k", lambda _: StillUnknown(reason="no answer"))
    assert done.state == "unknown"
    assert done.operation is not None
    assert (done.operation.revision, done.operation.reconciled_by) == (4, None)


@pytest.mark.parametrize(
    "said", [None, "completed", {"state": "unknown"}, Unknown(reason="r"), {"state": "completed"}]
)
def test_recovery_takes_three_answers_and_no_other(runner: EffectRunner, said: Any) -> None:
    runner.run("k", "f", lambda _: Unknown(reason="timeout"))
    before = runner.get("k")
    with pytest.raises(InvalidArgument):
        runner.recover("k", lambda _: said)
    assert runner.get("k") == before


def test_a_completion_without_a_result_is_not_made_up(runner: EffectRunner) -> None:
    runner.run("k", "f", lambda _: Unknown(reason="timeout"))
    before = runner.get("k")
    with pytest.raises(errors.NoEvidence):
        runner.recover("k", lambda _: Completed())
    assert runner.get("k") == before


def test_a_resolver_that_raises_changes_nothing(runner: EffectRunner) -> None:
    runner.run("k", "f", lambda _: Unknown(reason="timeout"))
    before = runner.get("k")
    with pytest.raises(ZeroDivisionError):
        runner.recover("k", lambda _: 1 / 0)  # type: ignore[arg-type,return-value]
    assert runner.get("k") == before


def test_a_fence_of_before_is_noticed_before_anybody_is_asked(
    runner: EffectRunner, store: Store
) -> None:
    runner.run("k", "f", lambda _: Unknown(reason="timeout"))
    read = runner.get("k")
    assert read is not None
    store.resolve_unknown("k", read.fence, StillUnknown(reason="r"))
    with pytest.raises(FenceChanged):
        runner.recover("k", lambda _: 1 / 0, fence=read.fence)  # type: ignore[arg-type,return-value]


def test_of_two_reconcilers_the_first_stands(office: Office) -> None:
    runner, other = EffectRunner(office.store()), EffectRunner(office.store("rival"))
    runner.run("k", "f", lambda _: Unknown(reason="timeout"))

    def slow(_: Operation) -> Failed:
        other.recover("k", lambda _: Completed(result=1))
        return Failed(reason="not there")

    with pytest.raises(errors.Illegal):
        runner.recover("k", slow)
    found = runner.get("k")
    assert found is not None
    assert (found.operation_state, found.result) == ("completed", 1)


# -- bridges ---------------------------------------------------------------------------------------


def test_nothing_is_inferred_from_a_status_code(runner: EffectRunner) -> None:
    for status, said in (
        (500, Completed(result="it happened all the same")),
        (200, Unknown(reason="accepted, and not yet done")),
    ):
        ended = run_http_effect(
            runner,
            f"k{status}",
            "f",
            request=lambda _, status=status: status,  # type: ignore[misc]
            on_response=lambda answer, _, said=said, status=status: (  # type: ignore[misc]
                said if answer == status else Failed(reason="another answer")
            ),
        )
        assert ended.state == ("completed" if status == 500 else "unknown")


def test_a_queue_that_loses_a_receipt_is_sent_to_once(runner: EffectRunner) -> None:
    sent: queue.SimpleQueue[str] = queue.SimpleQueue()

    def enqueue(message: str, context: Context) -> None:
        sent.put(f"{context.key} {message}")
        raise ConnectionResetError("receipt lost")

    def once() -> str:
        return run_queue_effect(
            runner,
            "k",
            "f",
            message="pay",
            enqueue=enqueue,
            on_acknowledgement=lambda _, __: Completed(),
        ).state

    assert [once(), once()] == ["unknown", "unknown"]
    assert (sent.get(), sent.empty()) == ("k pay", True)
    assert runner.recover("k", lambda _: Completed(result="in the queue")).state == "resolved"
    assert once() == "replayed"


# -- commands --------------------------------------------------------------------------------------


def by_exit_code(ended: Ended, _: Context) -> Any:
    if ended.exit_code == 0:
        return Completed(result=ended.output.decode())
    if ended.exit_code == 3:
        return Failed(reason="declined")
    return Unknown(reason=f"exit code {ended.exit_code}")


@pytest.mark.parametrize(
    ("script", "state"),
    [
        (f'printf %s "${KEY_VARIABLE}"', "completed"),
        ("exit 3", "failed"),
        ("exit 4", "unknown"),
        ("kill -9 $$", "unknown"),
        ("sleep 600 & sleep 600", "unknown"),
    ],
)
def test_a_command_ends_as_its_caller_says(runner: EffectRunner, script: str, state: str) -> None:
    effect = command_effect(
        ["sh", "-c", script],
        by_exit_code,
        environment={"PATH": os.environ["PATH"]},
        time_limit=timedelta(milliseconds=300) if "sleep" in script else None,
    )
    ended = runner.run("k", "f", effect)
    assert ended.state == state
    if state == "completed":
        assert ended.result == "k"


def test_a_command_that_is_stopped_leaves_nothing_behind(
    runner: EffectRunner, tmp_path: Path
) -> None:
    left, told = os.pipe()
    with os.fdopen(left, "rb") as left_open:
        effect = command_effect(
            ["sh", "-c", f"exec 3>/proc/{os.getpid()}/fd/{told}; sleep 600 & sleep 600"],
            by_exit_code,
            environment={"PATH": os.environ["PATH"]},
            folder=tmp_path,
            time_limit=timedelta(milliseconds=300),
        )
        assert runner.run("k", "f", effect).state == "unknown"
        os.close(told)
        assert left_open.read() == b""  # its end: nobody holds the other side any more


def test_a_command_that_could_not_be_started_has_failed(runner: EffectRunner) -> None:
    effect = command_effect(["/nonexistent/program"], by_exit_code, environment={})
    ended = runner.run("k", "f", effect)
    assert ended.state == "failed"
    assert ended.reason is not None
    assert "could not be started" in ended.reason


# -- a process that dies ---------------------------------------------------------------------------

DYING = """
    import os, signal, sys
    from pathlib import Path
    from fencepost.session import connect
    from fencepost.operations import Completed, EffectRunner, Store

    store = Store(connect(sys.argv[1]), sys.argv[2], kind="{kind}", target="{target}")

    def effect(context):
        with Path(sys.argv[3]).open("a") as ledger:
            ledger.write("paid\\n")
        os.kill(os.getpid(), signal.SIGKILL)

    from datetime import timedelta
    EffectRunner(store).run("k", "f", effect, lease_for=timedelta(seconds=1))
"""


def test_a_process_that_dies_after_its_effect_is_not_repeated(
    office: Office, tmp_path: Path
) -> None:
    book = tmp_path / "book"
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            textwrap.dedent(DYING.format(kind=KIND, target=TARGET)),
            office.conninfo(),
            office.campaign_class,
            str(book),
        ],
        check=False,
        timeout=30,
    )
    assert done.returncode == -signal.SIGKILL
    runner = EffectRunner(office.store("rival"))

    def pay(_: Context) -> Completed:
        with book.open("a") as file:
            file.write("paid again\n")
        return Completed()

    states: list[str] = []
    while not states or states[-1] == "pending":
        states.append(runner.run("k", "f", pay).state)
    assert states[-1] == "unknown"
    assert book.read_text() == "paid\n"

    def look(_: Operation) -> Completed:
        return Completed(result=book.read_text())

    assert runner.recover("k", look).state == "resolved"
    assert runner.run("k", "f", pay).result == "paid\n"
