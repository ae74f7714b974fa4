"""The server commits, and its answer is lost on the way: the repeat says so, and changes nothing.

Between client and server stands a proxy of this drill's own. It forwards everything, knows which
kernel function a transaction calls, and when it is told to, it lets the server answer the COMMIT,
keeps the answer to itself, and drops the connection.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import threading
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from fencepost.connection import Link
from fencepost.errors import Stale
from fencepost.session import connect as connect_as_the_command_does
from fencepost.verifier import Verifier
from fencepost.worker import Worker
from tests.pytest.moved import moved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fencepost.records import Lease, Receipt
    from tests.pytest.conftest import Principal, Superuser
    from tests.pytest.drills.conftest import Stage


class Proxy:
    """A server's socket in another folder, behind which answers can get lost."""

    def __init__(self, witness: Callable[[str], object]) -> None:
        self.folder = tempfile.mkdtemp(prefix="fencepost-proxy-", dir="/tmp")
        self.armed: list[str] = []
        """Functions whose next COMMIT is swallowed; each is taken out when that has happened."""
        self.seen: list[tuple[str, object]] = []
        """What was swallowed, and what the witness saw in the ledger at that moment."""
        self.calls: list[str] = []
        """Every call of a kernel function that was committed."""
        self._witness = witness
        self._name = f".s.PGSQL.{os.environ['PGPORT']}"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(f"{self.folder}/{self._name}")
        self._listener.listen(50)
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def close(self) -> None:
        """Take no more connections."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._listener.close()
        shutil.rmtree(self.folder)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(Path(os.environ["PGHOST"]) / self._name))
                threading.Thread(target=_Wire(self, client, server).run, daemon=True).start()

    def swallows(self, function: str) -> bool:
        """Say whether the answer to this COMMIT is to get lost."""
        self.calls.append(function)
        return function in self.armed

    def swallowed(self, function: str) -> None:
        """Look at the ledger before the client can know anything."""
        self.armed.remove(function)
        self.seen.append((function, self._witness(function)))


class _Wire:
    """One connection through the proxy: two threads, one for each direction."""

    def __init__(self, proxy: Proxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy = proxy
        self._client = client
        self._server = server
        self._function = ""
        self._is_swallowing = threading.Event()

    def run(self) -> None:
        back = threading.Thread(target=self._from_server, daemon=True)
        back.start()
        with suppress(OSError):
            self._from_client()
        self._drop(self._server)
        back.join()
        self._client.close()
        self._server.close()

    def _from_client(self) -> None:
        begun = _read_exactly(self._client, 4)
        self._server.sendall(begun + _read_exactly(self._client, int.from_bytes(begun) - 4))
        while True:
            kind, message = _read_message(self._client)
            if kind in {b"Q", b"P"}:
                text = message[5:]
                if b"kernel." in text:
                    self._function = text.partition(b"kernel.")[2].partition(b"(")[0].decode()
                if kind == b"Q" and text.rstrip(b"\0") == b"COMMIT" and self._function:
                    if self._proxy.swallows(self._function):
                        self._is_swallowing.set()
                    else:
                        self._function = ""
            self._server.sendall(message)

    def _from_server(self) -> None:
        tag = b""
        with suppress(OSError):
            while True:
                kind, message = _read_message(self._server)
                if not self._is_swallowing.is_set():
                    self._client.sendall(message)
                elif kind == b"C":
                    tag = message[5:].rstrip(b"\0")
                elif kind == b"Z":
                    assert (tag, message[5:]) == (b"COMMIT", b"I"), (tag, message)
                    self._proxy.swallowed(self._function)
                    break
        self._drop(self._client)

    @staticmethod
    def _drop(end: socket.socket) -> None:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def _read_message(source: socket.socket) -> tuple[bytes, bytes]:
    """Read one message: a letter, a length that counts itself, the rest."""
    head = _read_exactly(source, 5)
    return head[:1], head + _read_exactly(source, int.from_bytes(head[1:]) - 4)


def _read_exactly(source: socket.socket, count: int) -> bytes:
    content = b""
    while len(content) < count:
        chunk = source.recv(count - len(content))
        if not chunk:
            raise ConnectionResetError
        content += chunk
    return content


WRITES = {
    "claim": "claim",
    "submit": "submit",
    "fail": "fail",
    "release": "release",
    "claim_verification": "claim_verification",
    "judge": "accept",
    "claim_promotion": "claim_promotion",
    "promote": "promote",
    "outdate": "outdate",
}
"""Which move each function writes here."""


@pytest.fixture
def proxy(stage: Stage, superuser: Superuser) -> Iterator[Proxy]:
    """Yield a proxy whose witness counts the events of the function just called."""
    ledger = superuser(stage.database)

    def witness(function: str) -> object:
        row = ledger.execute(
            "select count(*) from audit.events where transition = %s", (WRITES[function],)
        ).fetchone()
        assert row is not None
        return row[0]

    with closing(Proxy(witness)) as made:
        yield made


class Client:
    """The client's own classes over a connection through the proxy, as the command has them."""

    def __init__(self, stage: Stage, proxy: Proxy, who: Principal, opened: ExitStack) -> None:
        self.stage = stage
        self._proxy = proxy
        self._told: list[str] = []
        conninfo = make_conninfo(who.conninfo(stage.database), host=proxy.folder)
        self._link = Link(
            lambda: connect_as_the_command_does(conninfo),
            tell=self._told.append,
        )
        opened.callback(self._link.drop)

    def swallowed(
        self, function: str, call: Callable[[psycopg.Connection[Any]], Any], *, nth: int = 1
    ) -> Any:
        """Make a call whose first answer is lost; check that the ledger has it once."""
        before = (len(self._proxy.seen), self._proxy.calls.count(function), len(self._told))
        self._proxy.armed.append(function)

        answer = self._link.call(call)

        # The server had committed when the client lost it; then the client asked once more.
        assert self._proxy.seen[before[0] :] == [(function, nth)]
        assert self._proxy.calls.count(function) == before[1] + 2
        assert len(self._told) == before[2] + 2, self._told
        assert answer.duplicate is True
        moves = [event["transition"] for event in self.stage.audit("select * from audit.events")]
        assert moves.count(WRITES[function]) == nth
        return answer

    def call(self, call: Callable[[psycopg.Connection[Any]], Any]) -> Any:
        """Make a call whose answer is not lost."""
        return self._link.call(call)

    def claim(self, *, nth: int = 1) -> Any:
        """Claim the campaign as a worker, with an answer that is lost."""
        token = uuid4()
        return self.swallowed(
            "claim", lambda c: Worker(c).claim(self.stage.klass, token=token), nth=nth
        )

    def moved(self, lease: Lease) -> None:
        """Move the result to its target, as far as the ledger knows."""
        target = f"{self.stage.repository.path}#refs/heads/main"
        self.call(lambda c: moved(c, lease, target, RESULT["commit"]))

    def accept(self, lease: Lease) -> Callable[[psycopg.Connection[Any]], Receipt]:
        """Return the call that accepts what the lease is for."""
        bundle = self.call(lambda c: Verifier(c).bundle(lease))
        return lambda c: Verifier(c).judge(
            lease,
            verdict="accepted",
            bundle_sha256=bundle.bundle_sha256,
            fingerprint=bundle.fingerprint,
            exit_code=0,
            evidence_uri="file:///evidence",
            evidence_sha256=b"e" * 32,
        )


@pytest.fixture
def client(stage: Stage, proxy: Proxy) -> Iterator[Callable[[Principal], Client]]:
    """Yield a function that gives a principal the client's classes, behind the proxy."""
    with ExitStack() as opened:
        yield lambda who: Client(stage, proxy, who, opened)


RESULT = {"base": "b" * 40, "commit": "c" * 40}


def test_every_answer_of_a_campaigns_way(
    stage: Stage, client: Callable[[Principal], Client]
) -> None:
    """Claim, submit, judge, and what is between and after them: one event each."""
    stage.define_target()
    number = stage.open()
    worker, verifier = client(stage.person("worker")), client(stage.person("verifier"))
    token = uuid4()

    lease = worker.claim()
    assert (lease.campaign_id, lease.generation, lease.attempt_no) == (number, 1, 1)
    submitted = worker.swallowed(
        "submit",
        lambda c: Worker(c).submit(lease, fingerprint="f", approach="a", result=RESULT),
    )
    assert submitted.state == "attempted"
    to_judge = verifier.swallowed(
        "claim_verification", lambda c: Verifier(c).claim_verification(stage.klass, token=token)
    )
    judged = verifier.swallowed("judge", verifier.accept(to_judge))
    assert judged.state == "promoting"
    verifier.moved(to_judge)
    promoted = verifier.swallowed(
        "promote",
        lambda c: Verifier(c).promote(to_judge),
    )
    assert promoted.state == "verified"

    assert stage.moves(number) == [
        *("open", "claim", "submit", "claim_verification", "accept", "promote"),
    ]
    (attempt,) = stage.attempts(number)
    assert (attempt["verdict"], attempt["promoted_by"]) == (
        "accepted",
        stage.person("verifier").name,
    )
    assert stage.refusals() == []


def test_every_other_ending(stage: Stage, client: Callable[[Principal], Client]) -> None:
    """Fail, release, a promotion taken over, outdate: one event each."""
    stage.define_class(lease_default="1 second")
    stage.define_target()
    number = stage.open()
    worker, verifier = client(stage.person("worker")), client(stage.person("verifier"))

    token = uuid4()

    lease = worker.claim()
    worker.swallowed("fail", lambda c: Worker(c).fail(lease, reason="no"))
    second = worker.claim(nth=2)
    worker.swallowed("release", lambda c: Worker(c).release(second, reason="later"))
    third = worker.claim(nth=3)
    worker.call(lambda c: Worker(c).submit(third, fingerprint="f", approach=None, result=RESULT))
    to_judge = verifier.call(lambda c: Verifier(c).claim_verification(stage.klass))
    verifier.call(verifier.accept(to_judge))
    reaper = stage.reaper()
    stage.wait_state(number, "accepted")
    reaper.kill()
    to_promote = verifier.swallowed(
        "claim_promotion", lambda c: Verifier(c).claim_promotion(stage.klass, token=token)
    )
    outdated = verifier.swallowed(
        "outdate", lambda c: Verifier(c).outdate(to_promote, reason="the ref moved")
    )
    assert outdated.state == "ready"
    assert stage.moves(number)[-3:] == ["lose_promotion", "claim_promotion", "outdate"]
    assert stage.refusals() == []


def test_what_differs_is_no_repeat(stage: Stage, client: Callable[[Principal], Client]) -> None:
    """The control: the first call did count, so the same generation with other content is stale."""
    stage.define_target()
    number = stage.open()
    worker = client(stage.person("worker"))
    lease = worker.claim()
    tries = iter(["the first", "another"])

    with pytest.raises(Stale):
        worker.swallowed(
            "submit",
            lambda c: Worker(c).submit(
                lease, fingerprint=next(tries), approach=None, result=RESULT
            ),
        )

    assert stage.moves(number) == ["open", "claim", "submit"]
    (attempt,) = stage.attempts(number)
    assert attempt["fingerprint"] == "the first"
    assert [refusal["outcome"] for refusal in stage.refusals()] == ["stale"]


def test_the_commands_go_on(stage: Stage, proxy: Proxy) -> None:
    """Real processes, every answer that moves the campaign lost once: they do not even stumble."""
    stage.define_target()
    number = stage.open()
    behind = {"PGHOST": proxy.folder}
    lost = ["claim", "submit", "claim_verification", "judge", "promote"]
    proxy.armed = [*lost]

    worker = stage.worker("echo right > answer", extra=behind)
    worker.succeeds()
    verifier = stage.verifier(extra=behind)
    verifier.succeeds()

    assert proxy.seen == [(function, 1) for function in lost]
    assert stage.moves(number) == [
        *("open", "claim", "submit", "claim_verification", "accept", "promote"),
    ]
    (attempt,) = stage.attempts(number)
    assert stage.repository.value() == attempt["result"]["commit"]
    assert len(stage.judged.read_text().split()) == 1
    assert "duplicate=True" in worker.output
    assert worker.output.count("connection lost") == 2
    assert verifier.output.count("connection lost") == 3
    assert stage.refusals() == []
