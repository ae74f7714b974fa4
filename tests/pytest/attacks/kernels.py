"""The two kernels that are attacked, and what each call of theirs is as a statement.

An attack says what it does: claim, complete, look. How that is written for the kernel at hand it
learns here, so that both kernels are attacked with the same code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.pytest.attacks.scene import Answer

SECRET = "SECRET"
"""What stands in every payload, and nobody reads who has no lease for it."""

CAMPAIGNS = 10
SEATS = 2
LOSSES = 2


def text(value: object) -> str:
    """Return *value* as a literal, in any setting of standard_conforming_strings."""
    if value is None:
        return "null"
    return "E'" + str(value).replace("\\", "\\\\").replace("'", "''") + "'"


@dataclass(frozen=True)
class Lease:
    """What a claim gave."""

    campaign: int
    generation: int
    token: str = ""


class Kernel(ABC):
    """A kernel's roles, its calls as statements, and where to look for what they did."""

    name: ClassVar[str]
    owner: ClassVar[str]
    private: ClassVar[str]
    """The schema of its tables."""
    public: ClassVar[str]
    """The schema of its functions."""
    shortest: ClassVar[float]
    """How many seconds its shortest lease lasts."""
    log: ClassVar[str]
    """Its table of events."""
    refusals: ClassVar[str]
    """Its table of calls that were refused."""
    channel = "fencepost"

    def __init__(self, cast: dict[tuple[str, int], str]) -> None:
        self.cast = cast

    # Calls of a worker

    @abstractmethod
    def claim(self, lease: Lease, for_: str = "15 minutes", worker: str = "w") -> str:
        """Return a claim under the token of *lease*."""

    @abstractmethod
    def reveal(self, lease: Lease) -> str:
        """Return the call that shows a lease's payload."""

    @abstractmethod
    def heartbeat(self, lease: Lease, generation: int | None = None) -> str:
        """Return the call that prolongs a lease."""

    @abstractmethod
    def complete(
        self, lease: Lease, generation: object = ..., result: str = "{}", *, bare: bool = False
    ) -> str:
        """Return the call that hands a result in, if *bare* without its evidence."""

    @abstractmethod
    def leased(self, answer: Answer, lease: Lease) -> Lease | None:
        """Return what a claim under the token of *lease* gave, or nothing."""

    def mint(self) -> Lease:
        """Return what a claim needs: a token of its own."""
        return Lease(0, 0, str(uuid4()))

    # Calls of others

    @abstractmethod
    def verify(self, lease: Lease) -> Sequence[str]:
        """Return the calls by which what was handed in under *lease* is accepted."""

    @abstractmethod
    def reap(self) -> str:
        """Return the reaper's call."""

    @abstractmethod
    def reap_at(self, at: str) -> Sequence[str]:
        """Return the reaper's calls with a time of the caller's own in them."""

    @abstractmethod
    def pause(self) -> str:
        """Return the call by which a person stops all claims."""

    # What is to be seen by a superuser

    @abstractmethod
    def look(self, campaign: int) -> str:
        """Return the query for state, holder, generation, live and result of a campaign."""

    @abstractmethod
    def open_table(self) -> str:
        """Return the table of campaigns."""


class Naive(Kernel):
    """What naive/kernel.sql makes."""

    name = "naive"
    owner = "naive_owner"
    private = public = "naive"
    shortest = 1.0
    log = "naive.event"
    refusals = "naive.denied"
    script = Path(__file__).with_name("naive") / "kernel.sql"

    def claim(self, _lease: Lease, for_: str = "15 minutes", worker: str = "w") -> str:
        return f"select * from claim({text(worker)}, {text(for_)})"

    def reveal(self, lease: Lease) -> str:
        # Its claim has shown it already.
        return f"select naive.peek({lease.campaign or 1})"

    def heartbeat(self, lease: Lease, generation: int | None = None) -> str:
        number = lease.generation if generation is None else generation
        return f"select naive.heartbeat({lease.campaign}, {number})"

    def complete(
        self, lease: Lease, generation: object = ..., result: str = "{}", *, bare: bool = False
    ) -> str:
        number = lease.generation if generation is ... else generation
        given = result if bare else '{"evidence": 1, "result": ' + result + "}"
        return (
            f"select naive.complete({lease.campaign},"
            f" {'null' if number is None else number}, {text(given)})"
        )

    def leased(self, answer: Answer, _lease: Lease) -> Lease | None:
        row = answer.first
        campaign, generation = row.get("campaign_id"), row.get("generation")
        if campaign is None or generation is None:
            return None
        return Lease(int(campaign), int(generation))

    def verify(self, lease: Lease) -> Sequence[str]:
        return [f"select naive.verify({lease.campaign}, 'verified')"]

    def reap(self) -> str:
        return "select naive.reap()"

    def reap_at(self, at: str) -> Sequence[str]:
        return [f"select naive.reap({text(at)})"]

    def pause(self) -> str:
        return "select naive.pause()"

    def look(self, campaign: int) -> str:
        return (
            "select state, lease_owner as holder, generation, lease_expires > clock_timestamp()"
            f" as live, result::text as result from naive.campaign where id = {campaign}"
        )

    def open_table(self) -> str:
        return "naive.campaign"


class Deployed(Kernel):
    """What sqitch deploys."""

    name = "deployed"
    owner = "fencepost_owner"
    private = "ledger"
    public = "kernel"
    shortest = 1.0
    log = "ledger.campaign_event"
    refusals = "ledger.refusal"

    def claim(self, lease: Lease, for_: str = "15 minutes", worker: str = "w") -> str:
        return (
            f"select * from kernel.claim(p_class => 'guarded', p_token => {text(lease.token)},"
            f" p_label => {text(worker)}, p_lease_for => {text(for_)})"
        )

    def _under(self, lease: Lease, generation: object) -> str:
        number = "null" if generation is None else generation
        return (
            f"p_class => 'guarded', p_campaign_id => {lease.campaign},"
            f" p_generation => {number}, p_token => {text(lease.token)}"
        )

    def reveal(self, lease: Lease) -> str:
        if lease.campaign:
            return f"select * from kernel.brief({self._under(lease, lease.generation)})"
        # What it has just claimed, in the same message: any campaign may be the one.
        return "; ".join(
            f"select * from kernel.brief({self._under(Lease(i, 1, lease.token), 1)})"
            for i in range(1, CAMPAIGNS + 1)
        )

    def heartbeat(self, lease: Lease, generation: int | None = None) -> str:
        number = lease.generation if generation is None else generation
        return f"select * from kernel.renew({self._under(lease, number)})"

    def complete(
        self, lease: Lease, generation: object = ..., result: str = "{}", *, bare: bool = False
    ) -> str:
        number = lease.generation if generation is ... else generation
        evidence = (
            "" if bare else ", p_evidence_uri => 'file:///e', p_evidence_sha256 => sha256('e')"
        )
        return (
            f"select * from kernel.submit({self._under(lease, number)}, p_fingerprint => 'f',"
            f" p_approach => 'a', p_result => {text(result)}{evidence})"
        )

    def leased(self, answer: Answer, lease: Lease) -> Lease | None:
        row = answer.first
        campaign, generation = row.get("campaign_id"), row.get("generation")
        if row.get("outcome") != "ok" or campaign is None or generation is None:
            return None
        return Lease(int(campaign), int(generation), lease.token)

    def verify(self, lease: Lease) -> Sequence[str]:
        generation = lease.generation + 1
        return [
            f"select * from kernel.claim_verification('guarded', {text(lease.token)})",
            (
                f"select * from kernel.judge({self._under(lease, generation)},"
                " p_verdict => 'accepted',"
                " p_bundle_sha256 => (select bundle_sha256 from kernel.bundle("
                f"{self._under(lease, generation)})), p_fingerprint => 'f', p_exit_code => 0,"
                " p_evidence_uri => 'file:///v', p_evidence_sha256 => sha256('v'))"
            ),
        ]

    def reap(self) -> str:
        return "select * from kernel.reap('guarded')"

    def reap_at(self, at: str) -> Sequence[str]:
        return [
            f"select * from kernel.reap('guarded', {text(at)})",
            f"select * from kernel.reap(p_class => 'guarded', p_now => {text(at)})",
        ]

    def pause(self) -> str:
        return "select * from kernel.pause('guarded')"

    def look(self, campaign: int) -> str:
        return (
            "select c.state, c.lease_principal as holder, c.generation,"
            " c.lease_expires_at > clock_timestamp() as live, a.result::text as result"
            " from ledger.campaign as c left join ledger.attempt as a"
            " on a.class = c.class and a.campaign_id = c.campaign_id"
            " and a.attempt_no = c.attempt_count"
            f" where c.class = 'guarded' and c.campaign_id = {campaign}"
        )

    def open_table(self) -> str:
        return "ledger.campaign"
