"""Twenty workers, one hundred targets: each campaign is worked on by one at a time, and once.

The witness is outside the ledger: the command makes a file per campaign, which must not be there
yet, and removes it at its end.
"""

from __future__ import annotations

import json
import signal
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pytest.drills.conftest import Stage

WORKERS = 20
PRINCIPALS = 5
TARGETS = 100

# `set -C` opens with O_EXCL. A line is appended whole: it is short.
COMMAND = """
campaign=$(sed -n 's/^  "campaign": \\([0-9]*\\),$/\\1/p' "$FENCEPOST_BRIEF")
if ! (set -C; : > "$0/$campaign") 2>/dev/null; then
    echo "$campaign" >> "$0/collisions"
    exit 1
fi
echo "$campaign" > answer
sleep "${1:-0.05}"
rm "$0/$campaign"
echo "$campaign" >> "$0/finished"
"""


def test_no_campaign_is_worked_on_twice(stage: Stage, tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    witness.mkdir()
    stage.define_class(lease_default="1 minute")
    names = [f"target {number:03}" for number in range(TARGETS)]
    for name in names:
        stage.define_target(name)
    campaigns = [stage.open(name) for name in names]

    workers = [
        stage.worker(
            *("sh", "-c", COMMAND, str(witness)),
            number=number % PRINCIPALS,
            once=False,
            options=["--label", f"worker {number}"],
        )
        for number in range(WORKERS)
    ]
    stage.wait_for(
        lambda: submitted(stage) == TARGETS or (witness / "collisions").exists(),
        f"{TARGETS} campaigns are submitted",
        within=200,
    )
    for worker in workers:
        worker.send(signal.SIGTERM)
    for worker in workers:
        worker.succeeds()

    assert not (witness / "collisions").exists(), (witness / "collisions").read_text()
    finished = [int(line) for line in (witness / "finished").read_text().split()]
    assert sorted(finished) == campaigns
    assert [path.name for path in witness.iterdir()] == ["finished"]

    for campaign in campaigns:
        assert stage.moves(campaign) == ["open", "claim", "submit"]
    attempts = stage.audit("select * from audit.attempts")
    assert sorted(attempt["campaign_id"] for attempt in attempts) == campaigns
    for attempt in attempts:
        answer = stage.repository.read("answer", attempt["result"]["commit"])
        assert answer == str(attempt["campaign_id"])
    assert len({attempt["principal"] for attempt in attempts}) == PRINCIPALS
    assert len({attempt["label"] for attempt in attempts}) > WORKERS / 2, "many took part"
    assert stage.refusals() == []


def submitted(stage: Stage) -> int:
    """Return how many campaigns wait for a verifier."""
    (row,) = stage.audit("select count(*) from audit.campaigns where state = 'attempted'")
    count: int = row["count"]
    return count


def test_the_witness_sees_two_at_once(tmp_path: Path) -> None:
    """The control: where two do work on one campaign, the witness says so."""
    brief = tmp_path / "brief.json"
    brief.write_text(json.dumps({"class": "drill", "campaign": 7, "attempt_no": 1}, indent=2))
    witness = tmp_path / "witness"
    witness.mkdir()
    two = [
        subprocess.Popen(
            ["sh", "-c", COMMAND, str(witness), "0.5"],
            cwd=tmp_path,
            env={"PATH": "/usr/bin:/bin", "FENCEPOST_BRIEF": str(brief)},
        )
        for _ in range(2)
    ]

    assert sorted(process.wait() for process in two) == [0, 1]
    assert (witness / "collisions").read_text() == "7\n"
    assert (witness / "finished").read_text() == "7\n"
