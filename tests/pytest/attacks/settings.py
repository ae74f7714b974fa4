"""Attacks by settings, which a client may change for its session, or for its role."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tests.pytest.attacks.attack import Residual, attack, core
from tests.pytest.attacks.kernels import SECRET

if TYPE_CHECKING:
    from tests.pytest.attacks.scene import Hand, Scene

PASSWORD = "Who has a client's password"
ZONES = [f"<Z>{sign}{hour:02}:30" for sign in "+-" for hour in range(0, 14, 2)]


@attack(
    "takes back the timeouts that its role was given",
    "A timeout that a role was given holds for its sessions.",
    residual=Residual(
        PASSWORD,
        "What it keeps is its own: a lease runs out by the server's clock all the same, and others "
        "pass by its row or fail after five seconds.",
        is_closed=True,
    ),
)
def take_timeouts_back(scene: Scene) -> bool:
    name = scene.name("worker")
    scene.god.do(f"alter role {name} set idle_in_transaction_session_timeout = '1s'")
    try:
        worker = scene.hand("worker")
        assert worker.do("show idle_in_transaction_session_timeout").value == "1s"
        worker.do("set idle_in_transaction_session_timeout = 0")
        worker.do("begin")
        worker.do("select 1")
        scene.evict(worker)
        time.sleep(1.2)
        return scene.is_there(worker.pid)
    finally:
        scene.god.do(f"alter role {name} reset idle_in_transaction_session_timeout")


@attack(
    "moves the date line by its time zone, so that what is due once a day is due again",
    "What is due does not depend on the time zone of who asks.",
)
def move_the_date_line(scene: Scene) -> bool:
    sensor = scene.hand("sensor")

    def is_due_in(zone: str) -> bool:
        sensor.do(f"set timezone = '{zone}'")
        if scene.kernel.name == "naive":
            return sensor.do("select naive.nightly_due(now() - interval '6 hours')").value == "t"
        begun = sensor.do(
            "select * from kernel.begin_observation('guarded', 'nightly', gen_random_uuid())"
        )
        assert begun.is_done, begun
        return begun.first["is_scheduled"] == "t"

    if scene.kernel.name != "naive":
        is_due_in("UTC")  # the slot that is rightly due, if one is
    return len({is_due_in(zone) for zone in ZONES}) > 1


TOKEN = "'00000000-0000-4000-8000-000000000001'"
NAMED = (
    "'refs/main', 1, 1", "'guarded', 1, 1", "'w-w', 1, 1", "'guarded', 1, null",
    "'guarded', null, 1", "null, 1, 1",
)  # fmt: skip
PROBES = {
    "naive": (
        "select naive.valid_ref('refs/main')",
        "select naive.is_unknown(null)",
        "select naive.table_name()",
        "select naive.day('02/01/2030')",
    ),
    "deployed": (
        *(f"select outcome, message from kernel.renew({named}, {TOKEN})" for named in NAMED),
        f"select state from kernel.claim('guarded', {TOKEN}, p_lease_for => '15 minutes')",
        f"select class, acceptance from kernel.brief('guarded', 1, 1, {TOKEN})",
    ),
}


def _depends_on(scene: Scene, *settings: str) -> bool:
    """Return whether the same calls are answered otherwise where settings are others."""

    def answers(hand: Hand) -> list[object]:
        said = [hand.do(probe) for probe in PROBES[scene.kernel.name]]
        return [(answer.sqlstate, answer.said.splitlines()[:3], answer.rows) for answer in said]

    answers(scene.hand("worker"))  # after which the answers of a session stay the same
    # Sessions of their own: PL/pgSQL reads a body once, at its first call.
    before = answers(scene.hand("worker"))
    otherwise = scene.hand("worker")
    for setting in settings:
        assert otherwise.do(f"set {setting}").is_ok
    return answers(otherwise) != before


@attack(
    "switches standard_conforming_strings off, so that a pattern in a function means another",
    "What a function takes does not depend on how the session reads strings.",
)
def read_strings_otherwise(scene: Scene) -> bool:
    return _depends_on(scene, "backslash_quote = on", "standard_conforming_strings = off")


@attack(
    "has every comparison with null mean another thing",
    "What a function compares does not depend on how the session reads = null.",
)
def compare_with_null_otherwise(scene: Scene) -> bool:
    return _depends_on(scene, "transform_null_equals = on")


@attack(
    "has every name quoted, so that a name made into text is another",
    "What a function makes of a name does not depend on the session.",
)
def quote_every_name(scene: Scene) -> bool:
    return _depends_on(scene, "quote_all_identifiers = on")


@attack(
    "sets the order of day and month, and other ways to write",
    "What a function reads and writes does not depend on how the session writes dates.",
)
def write_dates_otherwise(scene: Scene) -> bool:
    return _depends_on(
        scene, "datestyle = 'SQL, DMY'", "intervalstyle = 'sql_standard'", "bytea_output = 'escape'"
    )


@attack(
    "sets what only superusers may set",
    "No client sets what silences triggers or the log, or changes what PL/pgSQL means.",
    naive=core("These settings are superusers' own."),
)
def set_what_superusers_may(scene: Scene) -> bool:
    worker = scene.hand("worker")
    worker.do("select naive.whoami()")  # loads PL/pgSQL and its settings, if anything does
    worker.do(scene.kernel.claim(scene.kernel.mint()))
    return any(
        worker.do(f"set {setting}").is_ok
        for setting in (
            "session_replication_role = replica",
            "log_min_messages = panic",
            "plpgsql.variable_conflict = use_column",
            "track_functions = none",
            "temp_file_limit = -1",
            "max_prepared_transactions = 1",
        )
    )


@attack(
    "keeps settings of its own for every later session of its role",
    "A role's settings are its administrator's.",
    residual=Residual(
        PASSWORD,
        "Every function pins what it depends on; the settings are in pg_db_role_setting, to be "
        "seen.",
    ),
)
def keep_settings(scene: Scene) -> bool:
    worker = scene.hand("worker")
    worker.do("alter role current_user set search_path = pg_temp, public")
    worker.do("alter role current_user set timezone = 'Asia/Kolkata'")
    try:
        later = scene.hand("worker")
        return later.do("show timezone").value == "Asia/Kolkata"
    finally:
        worker.do("alter role current_user reset all")


@attack(
    "changes its own password, which locks out whoever shares the role",
    "A password is its administrator's.",
    residual=Residual(
        PASSWORD,
        "It locks out itself and nobody else, where one role is one principal; certificates leave "
        "no password to change.",
    ),
)
def change_the_password(scene: Scene) -> bool:
    name = scene.name("worker")
    kept = scene.look(f"select rolpassword as p from pg_authid where rolname = '{name}'")[0]["p"]
    worker = scene.hand("worker")
    try:
        return worker.do("alter role current_user password 'mine'").is_ok
    finally:
        scene.god.do(f"alter role {name} password '{kept}'")


def _plans(scene: Scene, hand: Hand, *calls: str) -> list[str]:
    """Return the plan trees that the server sends while it carries calls out."""
    hand.do("set client_min_messages = log")
    hand.do("set debug_print_plan = on")
    hand.do("set debug_pretty_print = off")  # it breaks lines within a number
    hand.notices.clear()
    for call in calls:
        hand.do(call)
    return [" ".join(notice.split()) for notice in hand.notices if "PLANNEDSTMT" in notice]


def _reading(scene: Scene, hand: Hand) -> list[str]:
    lease = scene.claim(hand)
    if scene.kernel.name == "naive":
        return [f"select naive.peek({lease.campaign})", f"select naive.token({lease.campaign})"]
    return [scene.kernel.heartbeat(lease), scene.kernel.reveal(lease)]


@attack(
    "has the server send it the plans of the statements inside a function",
    "What a function runs inside is not sent to its caller.",
)
def read_the_plans(scene: Scene) -> bool:
    worker = scene.hand("worker")
    calls = _reading(scene, worker)
    return len(_plans(scene, worker, *calls)) > len(calls)


@attack(
    "reads the values of a function's variables from those plans",
    "No value that a function works with is sent to its caller.",
)
def read_the_variables(scene: Scene) -> bool:
    worker = scene.hand("worker")
    plans = _plans(scene, worker, *_reading(scene, worker))
    inside = " ".join(str(byte) for byte in b"SECRET-signing")
    digests = scene.look(
        "select encode(lease_token_sha256, 'hex') as d from ledger.campaign"
        " where lease_token_sha256 is not null"
        if scene.kernel.name != "naive"
        else "select '' as d where false"
    )
    wanted = [inside]
    for row in digests:
        # A plan writes bytes as signed numbers.
        numbers = (int.from_bytes(bytes([b]), signed=True) for b in bytes.fromhex(row["d"] or ""))
        wanted.append(" ".join(map(str, numbers)))
    return any(one in plan for plan in plans for one in wanted)


@attack(
    "reads a secret that is kept in a setting",
    "No setting holds a secret.",
)
def read_a_setting(scene: Scene) -> bool:
    worker = scene.hand("worker")
    kept = worker.do(
        "select unnest(setconfig) from pg_db_role_setting where setdatabase = 0 or"
        " setdatabase = (select oid from pg_database where datname = current_database())"
    )
    shown = worker.do("select name || '=' || setting from pg_settings where name like '%.%'")
    guessed = worker.do("select current_setting('app.signing_key', true)")
    return any(answer.shows(SECRET) for answer in (kept, shown, guessed))


@attack(
    "sorts more than fits into memory, onto the server's disk",
    "What a client may write to disk for its queries is bounded.",
    residual=Residual(
        PASSWORD,
        "The files go with the query; temp_file_limit, which a superuser sets, bounds them.",
        measure="alter role {worker} set temp_file_limit = '1MB'",
        undo="alter role {worker} reset temp_file_limit",
    ),
)
def fill_the_disk_by_sorting(scene: Scene) -> bool:
    worker = scene.hand("worker")
    worker.do("set work_mem = '64kB'")
    worker.do("set statement_timeout = 0")
    worker.do("set temp_file_limit = -1")
    return worker.do(
        "select count(*) from (select i from generate_series(1, 1500000) as i order by -i) as x"
    ).is_ok
