"""The rules of a class of campaigns, as the design states them, over plain Python objects.

Nothing here knows of SQL, of locks or of the kernel's functions' bodies: a method per kernel
function says what must come of a call, made at a time by a principal. Times and lengths are whole
seconds. A class of this module has no jitter, so that what must come is one answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

Content: TypeAlias = tuple[object, ...]

CLOSED = ("confirmed", "cancelled", "lapsed")
HELD = {"leased": "work", "verifying": "verification", "promoting": "verification"}
BUDGETS = ("attempt", "loss", "release", "verification_loss", "promotion_loss", "abstain")


@dataclass
class Policy:
    """What a class's policy says."""

    lease_default: int = 60
    lease_min: int = 1
    lease_max: int = 600
    lease_cap: int = 900
    attempt_budget: int = 3
    loss_budget: int = 3
    release_budget: int = 1
    verification_loss_budget: int = 2
    promotion_loss_budget: int = 2
    abstain_budget: int = 2
    verify_within: int = 3600
    promote_within: int = 1800
    backoff_base: int = 10
    backoff_cap: int = 40
    reopen_within: int = 7200
    priority_step: int = 100
    retention: int = 90 * 86400
    seats: int | None = None
    verification_limit: int | None = None
    promotes: bool = False
    separate_family: bool = False
    needs_evidence: bool = False


@dataclass
class Lease:
    """Who holds a campaign."""

    principal: str
    token: int
    function: str
    granted_at: int
    expires_at: int


@dataclass
class Attempt:
    """One try."""

    number: int
    principal: str
    family: str | None
    is_submitted: bool = False
    fingerprint: str | None = None
    commit: str | None = None
    ending: str | None = None
    verdict: str | None = None
    rejected_fingerprint: str | None = None
    abstentions: list[tuple[int, str]] = field(default_factory=list)
    judges: set[str] = field(default_factory=set)
    promoter: str | None = None
    is_moved: bool = False  # to its target, by an operation that was completed
    is_promoted: bool = False

    @property
    def is_live(self) -> bool:
        """Whether it has not ended."""
        return self.ending is None


@dataclass
class Campaign:
    """A durable objective."""

    number: int  # until the ledger has given it an id, a negative one
    target: str
    previous: Campaign | None
    policy: tuple[bool, bool, bool]  # promotes, separate_family, needs_evidence: frozen
    opening: tuple[str, int] | None
    next_at: int
    phase_since: int
    state: str = "ready"
    generation: int = 0
    priority: int = 0
    failures: int = 0
    losses: int = 0
    releases: int = 0
    verification_losses: int = 0
    promotion_losses: int = 0
    abstain_floor: int = 0
    parked_for: str | None = None
    closed_at: int | None = None
    event_count: int = 1
    lease: Lease | None = None
    attempts: list[Attempt] = field(default_factory=list)
    allowed: set[str] = field(default_factory=set)
    judges: set[str] = field(default_factory=set)  # who was given a verification or promotion
    granted: dict[int, tuple[str, int]] = field(default_factory=dict)
    said: dict[tuple[str, int, str, int], Content] = field(default_factory=dict)
    acts: set[tuple[int, str, Content]] = field(default_factory=set)

    @property
    def is_open(self) -> bool:
        """Whether it is not closed."""
        return self.state not in CLOSED

    @property
    def attempt(self) -> Attempt:
        """The newest attempt."""
        return self.attempts[-1]

    @property
    def lineage(self) -> list[Campaign]:
        """The campaign and those that it inherits from."""
        return [self] + (self.previous.lineage if self.previous else [])

    def refused_fingerprints(self) -> set[str]:
        """Return what must not be submitted again."""
        refused = {
            fingerprint
            for campaign in self.lineage
            for attempt in campaign.attempts
            if attempt.ending in {"failed", "rejected", "contradicted"}
            for fingerprint in (attempt.fingerprint, attempt.rejected_fingerprint)
            if fingerprint is not None
        }
        return refused - {fp for campaign in self.lineage for fp in campaign.allowed}


@dataclass
class Observation:
    """What a sensor began to look at."""

    number: int
    principal: str
    token: int
    begun_at: int
    slot_at: int | None
    seen: tuple[Campaign, str, int] | None
    last: Campaign | None
    report: Content | None = None
    note: str | None = None
    moved: Campaign | None = None


@dataclass
class Target:
    """A watched thing."""

    name: str
    observe_every: int
    observe_within: int
    settle: int
    next_slot_at: int
    slot_begun_at: int | None = None
    quiet_until: int = 0
    is_retired: bool = False
    observations: list[Observation] = field(default_factory=list)


@dataclass
class Answer:
    """What a call must answer."""

    outcome: str = "ok"
    duplicate: bool = False
    moved: bool = False
    note: str | None = None
    campaign: Campaign | None = None
    number: int | None = None
    is_scheduled: bool | None = None
    generation: int | None = field(init=False, default=None)
    state: str | None = field(init=False, default=None)
    expires_at: int | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        """Keep the campaign as it stands now."""
        if self.campaign is not None:
            lease = self.campaign.lease
            self.generation = self.campaign.generation
            self.state = self.campaign.state
            self.expires_at = None if lease is None else lease.expires_at


class Refused(Exception):
    """The call is not carried out."""

    def __init__(self, outcome: str) -> None:
        super().__init__(outcome)
        self.outcome = outcome


@dataclass
class Rules:
    """A class, and all that is in it."""

    policy: Policy
    targets: dict[str, Target]
    families: dict[str, str | None]
    enrolled: set[tuple[str, str]]
    now: int
    is_paused: bool = False
    resumed_at: int | None = None
    epoch: int = 0
    epochs: dict[int, tuple[str, int]] = field(default_factory=dict)
    campaigns: list[Campaign] = field(default_factory=list)
    refusals: int = 0

    # -- what several rules share ------------------------------------------------------------------

    def require(self, principal: str, *duties: str) -> None:
        """Refuse who is not enrolled for any of the duties."""
        if not any((principal, duty) in self.enrolled for duty in duties):
            raise Refused("forbidden")

    def of_target(self, target: str) -> list[Campaign]:
        """Return the campaigns of a target, oldest first."""
        return [campaign for campaign in self.campaigns if campaign.target == target]

    def open_of(self, target: str) -> Campaign | None:
        """Return the open campaign of a target."""
        return next((c for c in self.of_target(target) if c.is_open), None)

    def backoff(self, count: int) -> int:
        """Return when to try again after the *count*-th time."""
        wait = self.policy.backoff_base << max(count - 1, 0)
        return self.now + min(self.policy.backoff_cap, wait)

    def spent(self, campaign: Campaign, phase: str) -> str | None:
        """Return the budget of a phase that has run out."""
        policy = self.policy
        excess = max(campaign.releases - policy.release_budget, 0)
        if phase == "work":
            if campaign.failures >= policy.attempt_budget:
                return "attempt_budget"
            if campaign.losses + excess >= policy.loss_budget:
                return "loss_budget"
        elif phase == "verification":
            if campaign.verification_losses >= policy.verification_loss_budget:
                return "verification_loss_budget"
        elif campaign.promotion_losses >= policy.promotion_loss_budget:
            return "promotion_loss_budget"
        return None

    def move(self, campaign: Campaign, state: str, parked_for: str | None = None) -> None:
        """Bring a campaign to a state, or park it."""
        campaign.state = "parked" if parked_for else state
        campaign.parked_for = parked_for
        campaign.event_count += 1
        if campaign.state in CLOSED:
            campaign.closed_at = self.now
        if campaign.state not in HELD:
            campaign.lease = None

    def open(self, target: str, opening: tuple[str, int] | None) -> Campaign:
        """Open a campaign, which inherits from one that closed not long ago."""
        earlier = self.of_target(target)
        previous = earlier[-1] if earlier else None
        if previous is not None and (
            previous.closed_at is None or previous.closed_at + self.policy.reopen_within <= self.now
        ):
            previous = None
        policy = self.policy
        campaign = Campaign(
            number=-1,
            target=target,
            previous=previous,
            policy=(policy.promotes, policy.separate_family, policy.needs_evidence),
            opening=opening,
            next_at=self.now,
            phase_since=self.now,
        )
        if previous is not None:
            campaign.failures = previous.failures
            campaign.losses = previous.losses
            campaign.releases = previous.releases
            campaign.verification_losses = previous.verification_losses
            campaign.promotion_losses = previous.promotion_losses
        self.campaigns.append(campaign)
        return campaign

    def holds(self, kind: str) -> int:
        """Return how many leases of a kind there are."""
        return sum(HELD.get(campaign.state) == kind for campaign in self.campaigns)

    def bar(self, principal: str, campaign: Campaign) -> str | None:
        """Return why a principal may not judge a campaign's newest attempt."""
        if any(
            attempt.principal == principal and attempt.ending != "released"
            for attempt in campaign.attempts
        ):
            return "self_verdict"
        if campaign.attempt.principal == principal:
            return "self_verdict"
        if campaign.policy[1]:
            mine, its = self.families[principal], campaign.attempt.family
            if mine is None or its is None or mine == its:
                return "same_family"
        return None

    # -- claims ------------------------------------------------------------------------------------

    def held_under(self, token: int, principal: str, function: str) -> Answer | None:
        """Return the answer to a claim whose token holds a lease already."""
        for campaign in self.campaigns:
            lease = campaign.lease
            if lease is not None and lease.token == token:
                if lease.principal == principal and lease.function == function:
                    return Answer(duplicate=True, campaign=campaign)
                raise Refused("not_holder")
        return None

    def grant(
        self, campaign: Campaign, function: str, principal: str, token: int, lease_for: int | None
    ) -> Answer:
        """Lease a campaign."""
        length = self.policy.lease_default if lease_for is None else lease_for
        state = {
            "claim": "leased",
            "claim_verification": "verifying",
            "claim_promotion": "promoting",
        }[function]
        self.move(campaign, state)
        campaign.generation += 1
        campaign.lease = Lease(principal, token, function, self.now, self.now + length)
        campaign.granted[campaign.generation] = (principal, token)
        if function == "claim":
            family = self.families[principal]
            campaign.attempts.append(Attempt(len(campaign.attempts) + 1, principal, family))
        else:
            campaign.judges.add(principal)
        return Answer(moved=True, campaign=campaign)

    def claim(
        self, function: str, principal: str, token: int, lease_for: int | None
    ) -> Answer | None:
        """Claim work, a verification or a promotion."""
        self.require(principal, "worker" if function == "claim" else "verifier")
        repeated = self.held_under(token, principal, function)
        if repeated is not None:
            return repeated
        if self.is_paused:
            return None
        kind = "work" if function == "claim" else "verification"
        limit = self.policy.seats if kind == "work" else self.policy.verification_limit
        if limit is not None and self.holds(kind) >= limit:
            return None
        waiting = {"claim": "ready", "claim_verification": "attempted"}.get(function, "accepted")
        due = [
            campaign
            for campaign in self.campaigns
            if campaign.state == waiting and campaign.next_at <= self.now
        ]
        if function == "claim":
            # No principal acts as both in one campaign; a head start in time for a priority.
            due = [campaign for campaign in due if principal not in campaign.judges]
            due.sort(key=lambda c: (c.next_at - c.priority * self.policy.priority_step,
                                    -c.priority, c.number))  # fmt: skip
        else:
            due = [campaign for campaign in due if self.bar(principal, campaign) is None]
            due.sort(key=lambda c: (c.next_at, c.number))
        if not due:
            return None
        return self.grant(due[0], function, principal, token, lease_for)

    def claim_many(self, principal: str, tokens: list[int], lease_for: int | None) -> list[Answer]:
        """Claim as much work as there are tokens."""
        answers = []
        for token in tokens:
            try:
                answer = self.claim("claim", principal, token, lease_for)
            except Refused as refused:
                if refused.outcome == "forbidden":
                    raise
                self.refusals += 1
                answer = Answer(refused.outcome)
            if answer is None:
                break
            answers.append(answer)
        return answers

    # -- calls under a lease -----------------------------------------------------------------------

    def hold(
        self,
        campaign: Campaign,
        states: tuple[str, ...],
        under: tuple[int, str, int],
    ) -> Lease:
        """Return the lease under which a call is made, or refuse the call."""
        generation, principal, token = under
        lease = campaign.lease
        if lease is not None and (campaign.generation, lease.principal, lease.token) == under:
            if campaign.state in states:
                return lease
            raise Refused("illegal")
        if generation != campaign.generation:
            raise Refused("stale")
        if lease is not None:
            raise Refused("not_holder")
        if generation not in campaign.granted:
            raise Refused("illegal")
        if campaign.granted[generation] == (principal, token):
            raise Refused("stale")
        raise Refused("not_holder")

    def repeated(
        self, campaign: Campaign, kind: str, under: tuple[int, str, int], content: Content
    ) -> Answer | None:
        """Return the answer to a call that was carried out before."""
        if campaign.said.get((kind, *under)) == content:
            return Answer(duplicate=True, campaign=campaign)
        return None

    def brief(self, campaign: Campaign, under: tuple[int, str, int]) -> Answer:
        """Tell a worker."""
        self.require(under[1], "worker")
        self.hold(campaign, ("leased",), under)
        return Answer(campaign=campaign)

    def bundle(self, campaign: Campaign, under: tuple[int, str, int]) -> Answer:
        """Tell a verifier."""
        self.require(under[1], "verifier")
        self.hold(campaign, ("verifying", "promoting"), under)
        return Answer(campaign=campaign)

    def renew(
        self, campaign: Campaign, under: tuple[int, str, int], lease_for: int | None
    ) -> Answer:
        """Move the end of a lease."""
        self.require(under[1], "worker", "verifier")
        lease = self.hold(campaign, ("leased", "verifying", "promoting"), under)
        length = self.policy.lease_default if lease_for is None else lease_for
        cap_at = lease.granted_at + self.policy.lease_cap
        lease.expires_at = max(lease.expires_at, min(self.now + length, cap_at))
        note = "lease_cap" if lease.expires_at >= cap_at else None
        return Answer(note=note, campaign=campaign)

    def submit(
        self,
        campaign: Campaign,
        under: tuple[int, str, int],
        fingerprint: str,
        commit: str,
        *,
        evidence: bool,
    ) -> Answer:
        """Hand a result over."""
        self.require(under[1], "worker")
        content = ("submit", fingerprint, commit, evidence)
        repeated = self.repeated(campaign, "attempt", under, content)
        if repeated is not None:
            return repeated
        self.hold(campaign, ("leased",), under)
        if campaign.policy[2] and not evidence:
            raise Refused("no_evidence")
        if fingerprint in campaign.refused_fingerprints():
            raise Refused("repeated")
        campaign.attempt.is_submitted = True
        campaign.attempt.fingerprint = fingerprint
        campaign.attempt.commit = commit
        campaign.said["attempt", *under] = content
        campaign.next_at = campaign.phase_since = self.now
        self.move(campaign, "attempted")
        return Answer(moved=True, campaign=campaign)

    def fail(
        self, campaign: Campaign, under: tuple[int, str, int], fingerprint: str | None
    ) -> Answer:
        """End an attempt that came to nothing."""
        self.require(under[1], "worker")
        content = ("fail", fingerprint)
        repeated = self.repeated(campaign, "attempt", under, content)
        if repeated is not None:
            return repeated
        self.hold(campaign, ("leased",), under)
        campaign.attempt.ending = "failed"
        campaign.attempt.fingerprint = fingerprint
        campaign.said["attempt", *under] = content
        campaign.failures += 1
        campaign.next_at = self.backoff(campaign.failures)
        self.move(campaign, "ready", self.spent(campaign, "work"))
        return Answer(moved=True, campaign=campaign)

    def release(self, campaign: Campaign, under: tuple[int, str, int], reason: str) -> Answer:
        """Give a campaign back; it keeps its age."""
        self.require(under[1], "worker")
        content = ("release", reason)
        repeated = self.repeated(campaign, "attempt", under, content)
        if repeated is not None:
            return repeated
        self.hold(campaign, ("leased",), under)
        campaign.attempt.ending = "released"
        campaign.said["attempt", *under] = content
        campaign.releases += 1
        self.move(campaign, "ready", self.spent(campaign, "work"))
        return Answer(moved=True, campaign=campaign)

    def judge(
        self,
        campaign: Campaign,
        under: tuple[int, str, int],
        verdict: str,
        fingerprint: str,
        *,
        digest: bytes,
        is_its: bool,
        evidence: bool,
    ) -> Answer:
        """Give a verdict on *digest*; *is_its* says whether the attempt's bundle has that one."""
        self.require(under[1], "verifier")
        content = ("judge", verdict, fingerprint, digest, evidence)
        repeated = self.repeated(campaign, "verdict", under, content)
        if repeated is not None:
            return repeated
        if ("verdict", *under) in campaign.said:
            raise Refused("stale")
        self.hold(campaign, ("verifying",), under)
        attempt, principal = campaign.attempt, under[1]
        bar = self.bar(principal, campaign)
        if bar is not None:
            raise Refused(bar)
        if verdict != "unverifiable" and not is_its:
            raise Refused("bundle_mismatch")
        if verdict == "accepted":
            if fingerprint != attempt.fingerprint:
                raise Refused("bundle_mismatch")
            if fingerprint in campaign.refused_fingerprints():
                raise Refused("repeated")
            if self.is_paused:
                raise Refused("paused")
        if verdict != "unverifiable" and not evidence:
            raise Refused("no_evidence")

        campaign.said["verdict", *under] = content
        attempt.judges.add(principal)
        if verdict == "unverifiable":
            attempt.abstentions.append((campaign.generation, principal))
            count = len({who for at, who in attempt.abstentions if at > campaign.abstain_floor})
            spent = count >= self.policy.abstain_budget
            campaign.next_at = self.backoff(count)
            self.move(campaign, "attempted", "abstain_budget" if spent else None)
        elif verdict == "rejected":
            attempt.verdict = verdict
            attempt.ending = "rejected"
            attempt.rejected_fingerprint = fingerprint
            campaign.failures += 1
            campaign.next_at = self.backoff(campaign.failures)
            self.move(campaign, "ready", self.spent(campaign, "work"))
        else:
            attempt.verdict = verdict
            campaign.phase_since = self.now
            self.move(campaign, "promoting" if campaign.policy[0] else "verified")
        return Answer(moved=True, campaign=campaign)

    def begin_move(self, campaign: Campaign, under: tuple[int, str, int]) -> str:
        """Begin the operation that moves the result to its target; return its status.

        Which of the verifier's own bars are found first, before the lease, is the ledger's affair.
        """
        self.require(under[1], "worker", "verifier")
        lease = self.hold(campaign, ("leased", "verifying", "promoting"), under)
        self.require(under[1], "worker" if campaign.state == "leased" else "verifier")
        if lease.expires_at <= self.now:
            raise Refused("expired")
        if campaign.state == "leased":
            raise Refused("forbidden")
        if campaign.state == "verifying":
            raise Refused("illegal")
        if campaign.attempt.is_moved:
            return "replay"
        if self.is_paused:
            raise Refused("paused")
        return "owner"

    def promote(self, campaign: Campaign, under: tuple[int, str, int]) -> Answer:
        """Record that the result was moved to its target."""
        self.require(under[1], "verifier")
        content = ("promote",)
        repeated = self.repeated(campaign, "promotion", under, content)
        if repeated is not None:
            return repeated
        self.hold(campaign, ("promoting",), under)
        bar = self.bar(under[1], campaign)
        if bar is not None:
            raise Refused(bar)
        if not campaign.attempt.is_moved:
            raise Refused("no_evidence")
        campaign.said["promotion", *under] = content
        campaign.attempt.is_promoted = True
        campaign.attempt.promoter = under[1]
        campaign.phase_since = self.now
        self.move(campaign, "verified")
        return Answer(moved=True, campaign=campaign)

    def outdate(self, campaign: Campaign, under: tuple[int, str, int], reason: str) -> Answer:
        """Give up an accepted attempt, since its target has moved on: a loss, not a failure."""
        self.require(under[1], "verifier")
        content = ("outdate", reason)
        repeated = self.repeated(campaign, "promotion", under, content)
        if repeated is not None:
            return repeated
        self.hold(campaign, ("promoting",), under)
        campaign.said["promotion", *under] = content
        campaign.attempt.ending = "outdated"
        campaign.losses += 1
        campaign.next_at = self.now
        self.move(campaign, "ready", self.spent(campaign, "work"))
        return Answer(moved=True, campaign=campaign)

    # -- the reaper --------------------------------------------------------------------------------

    def lose(self, campaign: Campaign, *, is_counted: bool) -> str:
        """Take a lease away; a campaign that is taken back keeps its age."""
        transition, state, phase = {
            "leased": ("lose", "ready", "work"),
            "verifying": ("lose_verification", "attempted", "verification"),
            "promoting": ("lose_promotion", "accepted", "promotion"),
        }[campaign.state]
        if phase == "work":
            campaign.attempt.ending = "lost"
            campaign.losses += is_counted
        elif phase == "verification":
            campaign.verification_losses += is_counted
        else:
            campaign.promotion_losses += is_counted
        campaign.generation += 1
        self.move(campaign, state, self.spent(campaign, phase) if is_counted else None)
        return transition

    def reap(self) -> list[Answer]:
        """Take back what ran out, and park what waited too long."""
        answers = []
        for campaign in self.campaigns:
            if campaign.lease is not None and campaign.lease.expires_at <= self.now:
                note = self.lose(campaign, is_counted=not self.is_paused)
                answers.append(Answer(moved=True, note=note, campaign=campaign))
        terms = {
            "attempted": ("verify_within", self.policy.verify_within),
            "accepted": ("promote_within", self.policy.promote_within),
        }
        for campaign in self.campaigns:
            if campaign.state in terms and not self.is_paused:
                name, term = terms[campaign.state]
                since = max(campaign.phase_since, self.resumed_at or campaign.phase_since)
                if since + term <= self.now:
                    self.move(campaign, "parked", name)
                    answers.append(Answer(moved=True, note="expire", campaign=campaign))
        return answers

    # -- sensors -----------------------------------------------------------------------------------

    def begin_observation(self, principal: str, target_name: str, token: int) -> Answer:
        """Begin to look."""
        self.require(principal, "sensor")
        target = self.targets[target_name]
        for observation in target.observations:
            if observation.token == token:
                if observation.principal != principal:
                    raise Refused("not_holder")
                return Answer(
                    duplicate=True,
                    number=observation.number,
                    is_scheduled=observation.slot_at is not None,
                )
        if target.is_retired:
            raise Refused("illegal")
        is_due = target.next_slot_at <= self.now and (
            target.slot_begun_at is None or target.slot_begun_at + target.observe_within <= self.now
        )
        if is_due:
            target.slot_begun_at = self.now
        seen = self.open_of(target_name)
        earlier = self.of_target(target_name)
        observation = Observation(
            number=len(target.observations) + 1,
            principal=principal,
            token=token,
            begun_at=self.now,
            slot_at=target.next_slot_at if is_due else None,
            seen=None if seen is None else (seen, seen.state, seen.generation),
            last=earlier[-1] if earlier else None,
        )
        target.observations.append(observation)
        return Answer(number=observation.number, is_scheduled=is_due)

    def report_observation(
        self, principal: str, target_name: str, number: int, token: int, *, is_green: bool
    ) -> Answer:
        """Report what was seen."""
        self.require(principal, "sensor")
        target = self.targets[target_name]
        observation = target.observations[number - 1]
        if (observation.principal, observation.token) != (principal, token):
            raise Refused("not_holder")
        content = (is_green,)
        if observation.report == content:
            return Answer(duplicate=True, note=observation.note, campaign=observation.moved)
        if observation.report is not None:
            raise Refused("stale")

        campaign = self.open_of(target_name)
        note, move = self.consequence(target, observation, campaign, is_green=is_green)
        if move == "open":
            campaign = self.open(target_name, None)
        elif move is not None:
            assert campaign is not None
            self.observe(campaign, move)
        observation.report = content
        observation.note = note or move
        observation.moved = campaign if move else None
        if observation.slot_at == target.next_slot_at:
            late = (self.now - target.next_slot_at) // target.observe_every
            target.next_slot_at += target.observe_every * (1 + max(0, late))
            target.slot_begun_at = None
        return Answer(moved=move is not None, note=note or move, campaign=campaign)

    def consequence(
        self,
        target: Target,
        observation: Observation,
        campaign: Campaign | None,
        *,
        is_green: bool,
    ) -> tuple[str | None, str | None]:
        """Return why a report moves nothing, or what it moves."""
        if any(o.report is not None for o in target.observations[observation.number :]):
            return "superseded", None
        if campaign is None:
            if is_green:
                return None, None
            earlier = self.of_target(target.name)
            if observation.seen is not None or (earlier and earlier[-1] is not observation.last):
                return "superseded", None
            if target.quiet_until > self.now:
                return "quiet", None
            if target.is_retired:
                return "retired", None
            return None, "open"
        seen = observation.seen
        if campaign.state == "verified":
            if observation.slot_at is None:
                return "not_scheduled", None
            if seen is None or seen[0] is not campaign:
                return "superseded", None
            if (
                seen[1:] != ("verified", campaign.generation)
                or observation.begun_at < campaign.phase_since + target.settle
            ):
                return "not_settled", None
            attempt = campaign.attempt
            if observation.principal in {attempt.principal, attempt.promoter, *attempt.judges}:
                return "not_independent", None
            return None, "confirm" if is_green else "contradict"
        if campaign.state == "ready" and is_green:
            if observation.slot_at is None:
                return "not_scheduled", None
            if seen is None or seen[0] is not campaign:
                return "superseded", None
            if seen[1:] != ("ready", campaign.generation):
                return "superseded", None
            if any(attempt.is_submitted for attempt in campaign.attempts):
                return "in_progress", None
            return None, "lapse"
        return "in_progress", None

    def observe(self, campaign: Campaign, move: str) -> None:
        """Confirm, contradict or lapse."""
        if move == "confirm":
            campaign.attempt.ending = "confirmed"
            self.move(campaign, "confirmed")
        elif move == "lapse":
            self.move(campaign, "lapsed")
        else:
            campaign.attempt.ending = "contradicted"
            campaign.failures += 1
            campaign.next_at = self.backoff(campaign.failures)
            self.move(campaign, "ready", self.spent(campaign, "work"))

    # -- people ------------------------------------------------------------------------------------

    def open_campaign(self, principal: str, target: str, token: int) -> Answer:
        """Open a campaign."""
        for campaign in self.campaigns:
            if campaign.opening is not None and campaign.opening[1] == token:
                if campaign.target == target and campaign.opening[0] == principal:
                    return Answer(duplicate=True, campaign=campaign)
                raise Refused("not_holder")
        if self.open_of(target) is not None or self.targets[target].is_retired:
            raise Refused("illegal")
        return Answer(moved=True, campaign=self.open(target, (principal, token)))

    def act(
        self, campaign: Campaign, generation: int, principal: str, content: Content
    ) -> Answer | None:
        """Return the answer to an admin's act that was done before; refuse one that is late."""
        if (generation, principal, content) in campaign.acts:
            return Answer(duplicate=True, campaign=campaign)
        if generation != campaign.generation:
            raise Refused("stale")
        return None

    def cancel(self, campaign: Campaign, generation: int, principal: str, quiet_for: int) -> Answer:
        """Close for good."""
        content = ("cancel", quiet_for)
        repeated = self.act(campaign, generation, principal, content)
        if repeated is not None:
            return repeated
        if not campaign.is_open:
            raise Refused("illegal")
        campaign.acts.add((generation, principal, content))
        if campaign.attempts and campaign.attempt.is_live:
            campaign.attempt.ending = "withdrawn"
        target = self.targets[campaign.target]
        if quiet_for:
            target.quiet_until = max(target.quiet_until, self.now + quiet_for)
        campaign.generation += 1
        self.move(campaign, "cancelled")
        return Answer(moved=True, campaign=campaign)

    def park(self, campaign: Campaign, generation: int, principal: str) -> Answer:
        """Set aside."""
        content = ("park",)
        repeated = self.act(campaign, generation, principal, content)
        if repeated is not None:
            return repeated
        if not campaign.is_open or campaign.state == "parked":
            raise Refused("illegal")
        campaign.acts.add((generation, principal, content))
        if campaign.state == "leased":
            campaign.attempt.ending = "withdrawn"
        campaign.generation += 1
        self.move(campaign, "parked", "admin")
        return Answer(moved=True, campaign=campaign)

    def redrive(
        self,
        campaign: Campaign,
        generation: int,
        principal: str,
        budgets: tuple[str, ...] | None,
    ) -> Answer:
        """Send a parked campaign on, to where its last verdict allows."""
        restored = BUDGETS if budgets is None else tuple(b for b in BUDGETS if b in budgets)
        content = ("redrive", restored)
        repeated = self.act(campaign, generation, principal, content)
        if repeated is not None:
            return repeated
        if campaign.state != "parked":
            raise Refused("illegal")
        campaign.acts.add((generation, principal, content))
        attempt = campaign.attempt if campaign.attempts else None
        if attempt is None or not attempt.is_live or not attempt.is_submitted:
            state = "ready"
        elif attempt.verdict is None:
            state = "attempted"
        elif campaign.policy[0] and not attempt.is_promoted:
            state = "accepted"
        else:
            state = "verified"
        if "attempt" in restored:
            campaign.failures = 0
        if "loss" in restored:
            campaign.losses = 0
        if "release" in restored:
            campaign.releases = 0
        if "verification_loss" in restored:
            campaign.verification_losses = 0
        if "promotion_loss" in restored:
            campaign.promotion_losses = 0
        if "abstain" in restored:
            campaign.abstain_floor = campaign.generation
        campaign.next_at = campaign.phase_since = self.now
        campaign.generation += 1
        self.move(campaign, state)
        return Answer(moved=True, campaign=campaign)

    def set_priority(
        self, campaign: Campaign, generation: int, principal: str, priority: int
    ) -> Answer:
        """Give a head start."""
        content = ("set_priority", priority)
        if generation == campaign.generation and campaign.is_open:
            if campaign.priority == priority:
                return Answer(duplicate=True, campaign=campaign)
            campaign.acts.add((generation, principal, content))
            campaign.priority = priority
            campaign.event_count += 1
            return Answer(campaign=campaign)
        repeated = self.act(campaign, generation, principal, content)
        if repeated is not None:
            return repeated
        raise Refused("illegal")

    def allow_repeat(
        self, campaign: Campaign, generation: int, principal: str, fingerprint: str
    ) -> Answer:
        """Let an outcome be submitted again."""
        content = ("allow_repeat", fingerprint)
        if generation == campaign.generation and campaign.is_open:
            if fingerprint in campaign.allowed:
                return Answer(duplicate=True, campaign=campaign)
            campaign.acts.add((generation, principal, content))
            campaign.allowed.add(fingerprint)
            campaign.event_count += 1
            return Answer(campaign=campaign)
        repeated = self.act(campaign, generation, principal, content)
        if repeated is not None:
            return repeated
        raise Refused("illegal")

    def new_epoch(self, principal: str, token: int) -> Answer:
        """Put everybody who held something in the time that was lost behind the fence."""
        begun = self.epochs.get(token)
        if begun is not None:
            if begun[0] != principal:
                raise Refused("not_holder")
            return Answer(duplicate=True, note=f"epoch {begun[1]}")
        self.epoch += 1
        self.epochs[token] = principal, self.epoch
        for campaign in self.campaigns:
            if campaign.is_open:
                campaign.generation += 1000
                campaign.event_count += 1
        return Answer(note=f"epoch {self.epoch}")

    def set_paused(self, *, is_paused: bool) -> Answer:
        """Stop a class, or let it go on."""
        is_so = self.is_paused is is_paused
        self.is_paused = is_paused
        if not is_so and not is_paused:
            self.resumed_at = self.now
        return Answer(duplicate=is_so)

    def define_class(self, policy: Policy) -> Answer:
        """Replace the policy."""
        is_so = self.policy == policy
        self.policy = policy
        return Answer(duplicate=is_so)

    def enrol(self, principal: str, duty: str) -> Answer:
        """Let a principal act."""
        is_so = (principal, duty) in self.enrolled
        self.enrolled.add((principal, duty))
        return Answer(duplicate=is_so)

    def dismiss(self, principal: str, duty: str) -> Answer:
        """Let a principal act no more; what it held is lost, and not counted."""
        if (principal, duty) not in self.enrolled:
            return Answer(duplicate=True)
        self.enrolled.remove((principal, duty))
        states = {"worker": ("leased",), "verifier": ("verifying", "promoting")}.get(duty, ())
        answer = Answer()
        for campaign in self.campaigns:
            lease = campaign.lease
            if lease is not None and campaign.state in states and lease.principal == principal:
                self.lose(campaign, is_counted=False)
                answer.moved = True
        return answer

    def retire_target(self, target_name: str) -> Answer:
        """Take a target out of use."""
        target = self.targets[target_name]
        if target.is_retired:
            return Answer(duplicate=True)
        if self.open_of(target_name) is not None:
            raise Refused("illegal")
        target.is_retired = True
        return Answer()
