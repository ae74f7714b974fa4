"""What becomes of a folder in which somebody else's command worked."""

from __future__ import annotations

import os
import re
import socket
import stat
import subprocess
import threading
import time
import tracemalloc
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fencepost import checkout, planted
from fencepost.checkout import (
    ZERO,
    Git,
    GitError,
    Interrupted,
    Snapshot,
    Unusable,
    Workspace,
    address,
    location,
)
from fencepost.interrupt import Interrupt, Overdue

if TYPE_CHECKING:
    from python_client.tests.conftest import Repository, RunGit


def snapshot(workspace: Workspace) -> Snapshot:
    made = workspace.snapshot("message")
    assert made is not None
    return made


def files(made: Snapshot) -> list[str]:
    listed = made.git.run("ls-tree", "-r", "-z", "--name-only", made.commit).decode()
    return sorted(listed.split("\0")[:-1])


def content(made: Snapshot, path: str) -> str:
    return made.git.run("cat-file", "blob", f"{made.commit}:{path}").decode()


# -- the clone -------------------------------------------------------------------------------------


def test_the_clone_is_at_the_ref_and_has_nowhere_to_push_to(
    workspace: Workspace, repository: Repository, git: RunGit
) -> None:
    assert workspace.base == repository.value()
    assert git(workspace.files, "rev-parse", "HEAD") == repository.value()
    assert git(workspace.files, "branch", "--show-current") == "main"
    assert git(workspace.files, "status", "--porcelain") == ""
    assert git(workspace.files, "remote") == ""


def test_hooks_filters_and_settings_of_account_and_repository_do_not_run(
    tmp_path: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    witness = tmp_path / "witness"
    template = tmp_path / "template" / "hooks"
    template.mkdir(parents=True)
    (template / "post-checkout").write_text(f"#!/bin/sh\ntouch {witness}\n")
    (template / "post-checkout").chmod(0o755)
    (tmp_path / ".gitconfig").write_text(
        f"[init]\n\ttemplateDir = {template.parent}\n"
        f'[filter "evil"]\n\tsmudge = touch {witness}\n\tclean = touch {witness}\n'
        f"[core]\n\tfsmonitor = touch {witness}\n"
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_DIR", str(repository.bare))
    (repository.clone / ".gitattributes").write_text("*.txt filter=evil\n")
    repository.commit()
    root = tmp_path / "elsewhere"
    root.mkdir()
    made = Workspace(root)
    made.clone(repository.address, repository.ref)
    (made.files / "a.txt").write_text("two\n")
    snapshot(made)
    assert not witness.exists()


def test_a_repository_that_cannot_be_read_is_an_error_with_gits_own_words(
    tmp_path: Path, repository: Repository
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    with pytest.raises(GitError, match="not appear to be a git repository"):
        Workspace(root).clone(str(tmp_path / "none"), repository.ref)


def test_a_missing_ref_is_an_error(tmp_path: Path, repository: Repository) -> None:
    root = tmp_path / "root"
    root.mkdir()
    with pytest.raises(GitError, match="refs/heads/none"):
        Workspace(root).clone(repository.address, "refs/heads/none")


@pytest.mark.parametrize("given", ["ext::sh -c 'touch x'", "fd::3", "--upload-pack=touch x", ""])
def test_addresses_that_start_programs_are_refused(given: str) -> None:
    with pytest.raises(GitError):
        address(given)


def test_credentials_in_an_address_are_not_repeated() -> None:
    error = GitError("fetch", 128, "fatal: unable to access 'https://me:secret@host/x.git/'")
    assert "secret" not in str(error)
    error = GitError("fetch", 128, "'https://me:se@secret@host/x.git/' " + "x" * 1950)
    assert "secret" not in str(error)


@pytest.mark.parametrize(
    "given",
    ["https://me:secret@host/x.git", "https://:secret@host", "ssh://me:s@secret@host:22/x"],
)
def test_an_address_with_a_password_is_refused(given: str) -> None:
    for refused in (
        lambda: address(given),
        lambda: location({"repository": given, "ref": "refs/heads/main"}),
    ):
        with pytest.raises(GitError, match="FENCEPOST_GIT_CONFIG") as caught:
            refused()
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "given", ["https://me@host:8080/x:y@z.git", "ssh://git@host:22/x", "git@host:x@y", "/a:b@c"]
)
def test_an_address_without_one_is_taken(given: str) -> None:
    assert address(given) == given


def test_git_is_stopped_by_the_interrupt(tmp_path: Path) -> None:
    with Interrupt() as interrupt:
        made = Git(tmp_path / "x.git", interrupt=interrupt)
        interrupt.set("enough")
        with pytest.raises(Interrupted, match="enough"):
            made.run("status")


# -- the snapshot ----------------------------------------------------------------------------------


def test_nothing_changed_is_none(workspace: Workspace) -> None:
    (workspace.files / "a.txt").touch()
    (workspace.files / "x.log").write_text("ignored\n")
    assert workspace.snapshot("message") is None


def test_changed_new_deleted_and_executable_files_are_in_it(workspace: Workspace) -> None:
    (workspace.files / "a.txt").write_text("two\n")
    (workspace.files / "new").mkdir()
    (workspace.files / "new" / "ä b\n.txt").write_text("x")
    (workspace.files / "tests" / "check.py").chmod(0o755)
    (workspace.files / ".gitignore").unlink()
    made = snapshot(workspace)
    assert files(made) == ["a.txt", "new/ä b\n.txt", "tests/check.py"]
    assert content(made, "a.txt") == "two\n"
    assert made.git.run("ls-tree", made.commit, "tests/check.py").startswith(b"100755")
    parents = made.git.run("show", "--no-patch", "--format=%P %an", made.commit).decode().strip()
    assert parents == f"{workspace.base} fencepost worker"


def test_line_ends_that_git_would_leave_alone_are_no_change(
    tmp_path: Path, repository: Repository
) -> None:
    (repository.clone / "old.txt").write_bytes(b"a\r\nb\r\n")
    repository.commit()
    (repository.clone / ".gitattributes").write_text("* text=auto\n")
    repository.commit()
    root = tmp_path / "root"
    root.mkdir()
    workspace = Workspace(root)
    workspace.clone(repository.address, repository.ref)
    assert workspace.snapshot("attempt") is None
    (workspace.files / "a.txt").write_text("two\n")
    made = snapshot(workspace)
    assert [str(change) for change in made.git.touched(workspace.base, made.commit)] == [
        "modified a.txt"
    ]


@pytest.mark.parametrize("is_staged", [True, False], ids=["staged", "not staged"])
def test_a_file_may_become_a_folder_and_a_folder_a_file(
    workspace: Workspace, git: RunGit, *, is_staged: bool
) -> None:
    (workspace.files / "a.txt").unlink()
    (workspace.files / "a.txt").mkdir()
    (workspace.files / "a.txt" / "b").write_text("b\n")
    (workspace.files / "tests" / "check.py").unlink()
    (workspace.files / "tests").rmdir()
    (workspace.files / "tests").write_text("none\n")
    if is_staged:
        git(workspace.files, "add", "--all")
    assert files(snapshot(workspace)) == [".gitignore", "a.txt/b", "tests"]


def test_ignored_files_stay_out_also_by_the_clones_own_exclude(workspace: Workspace) -> None:
    (workspace.files / "a.txt").write_text("two\n")
    (workspace.files / "x.log").write_text("x")
    (workspace.files / "notes.md").write_text("x")
    (workspace.files / ".git" / "info").mkdir(exist_ok=True)
    (workspace.files / ".git" / "info" / "exclude").write_text("notes.md\n")
    assert files(snapshot(workspace)) == [".gitignore", "a.txt", "tests/check.py"]


def test_commits_of_the_command_count_and_forced_files_with_them(
    workspace: Workspace, git: RunGit
) -> None:
    (workspace.files / "kept.log").write_text("x")
    git(workspace.files, "add", "--force", "kept.log")
    git(workspace.files, "rm", "--quiet", "--cached", "a.txt")
    (workspace.files / ".gitignore").write_text("*.log\nbuild/\na.txt\n")
    git(workspace.files, "commit", "--quiet", "--all", "--message", "mine")
    git(workspace.files, "checkout", "--quiet", "--detach")
    made = snapshot(workspace)
    assert files(made) == [".gitignore", "kept.log", "tests/check.py"]
    assert made.git.run("rev-parse", f"{made.commit}^").decode().strip() == workspace.base


def test_commits_that_were_undone_in_the_end_are_no_change(
    workspace: Workspace, git: RunGit
) -> None:
    (workspace.files / "a.txt").write_text("two\n")
    git(workspace.files, "commit", "--quiet", "--all", "--message", "mine")
    git(workspace.files, "revert", "--no-edit", "HEAD")
    assert workspace.snapshot("message") is None


@pytest.mark.parametrize("damage", ["remove", "garbage", "link", "fifo"])
def test_a_damaged_repository_is_still_a_folder_of_files(workspace: Workspace, damage: str) -> None:
    (workspace.files / "a.txt").write_text("two\n")
    index = workspace.files / ".git" / "index"
    if damage == "remove":
        subprocess.run(["rm", "-rf", workspace.files / ".git"], check=True)
    else:
        index.unlink()
    if damage == "garbage":
        index.write_bytes(b"DIRC" + os.urandom(200))
    elif damage == "link":
        index.symlink_to("/etc/passwd")
    elif damage == "fifo":
        os.mkfifo(index)
    made = snapshot(workspace)
    assert files(made) == [".gitignore", "a.txt", "tests/check.py"]


def test_nothing_that_was_planted_is_executed(workspace: Workspace, tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    inside = workspace.files / ".git"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho $0 $@ >> {witness}\ncat\n")
    program.chmod(0o755)
    (inside / "hooks").mkdir(exist_ok=True)
    for hook in ("pre-commit", "post-index-change", "reference-transaction", "pre-push"):
        (inside / "hooks" / hook).symlink_to(program)
    with (inside / "config").open("a") as config:
        config.write(
            f"[core]\n\tfsmonitor = {program}\n\thooksPath = {inside}/hooks\n\tpager = {program}\n"
            f"\tsshCommand = {program}\n\tgitProxy = {program}\n"
            f'[filter "evil"]\n\tclean = {program}\n\tsmudge = {program}\n\tprocess = {program}\n'
            f"\trequired = true\n"
            f'[diff "evil"]\n\ttextconv = {program}\n\tcommand = {program}\n'
            f"[diff]\n\texternal = {program}\n[gpg]\n\tprogram = {program}\n"
            f"[commit]\n\tgpgSign = true\n"
            f'[url "ext::{program} "]\n\tinsteadOf = /\n[credential]\n\thelper = !{program}\n'
        )
    (inside / "info").mkdir(exist_ok=True)
    (inside / "info" / "attributes").write_text("* filter=evil diff=evil\n")
    (workspace.files / ".gitattributes").write_text("* filter=evil diff=evil\n")
    (inside / "objects" / "info").mkdir(exist_ok=True)
    (inside / "objects" / "info" / "alternates").write_text(f"{tmp_path}\n")
    (workspace.files / "a.txt").write_text("two\n")
    made = snapshot(workspace)
    assert content(made, "a.txt") == "two\n"
    assert not witness.exists()


def test_links_are_links_and_never_followed(workspace: Workspace, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "check.py").write_text("secret\n")
    (workspace.files / "tests" / "check.py").unlink()
    (workspace.files / "tests").rmdir()
    (workspace.files / "tests").symlink_to(secret)
    (workspace.files / "passwd").symlink_to("/etc/passwd")
    made = snapshot(workspace)
    assert files(made) == [".gitignore", "a.txt", "passwd", "tests"]
    assert content(made, "passwd") == "/etc/passwd"
    assert content(made, "tests") == str(secret)


def test_the_folder_itself_may_not_be_replaced(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "id_rsa").write_text("secret")
    workspace.files.rename(workspace.root / "moved")
    workspace.files.symlink_to(tmp_path / "home")
    with pytest.raises(Unusable, match="not there any more"):
        workspace.snapshot("message")


@pytest.mark.parametrize("place", ["nested", "tests", "a.txt"])
def test_a_repository_inside_the_folder_is_named_and_refused(
    workspace: Workspace, place: str, git: RunGit
) -> None:
    nested = workspace.files / place
    if nested.is_file():
        nested.unlink()
    nested.mkdir(exist_ok=True)
    git(nested, "init", "--quiet")
    (nested / "inner.txt").write_text("x")
    git(nested, "add", "inner.txt")
    git(nested, "commit", "--quiet", "--message", "inner")
    with pytest.raises(Unusable, match=place):
        workspace.snapshot("message")


def test_a_planted_submodule_is_refused(workspace: Workspace, git: RunGit) -> None:
    sha = "1" * 40
    git(workspace.files, "update-index", "--add", "--cacheinfo", f"160000,{sha},sub")
    with pytest.raises(Unusable, match="sub"):
        workspace.snapshot("message")


def test_a_submodule_that_was_there_stays_as_it_is(
    tmp_path: Path, repository: Repository, git: RunGit
) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "--quiet")
    git(inner, "commit", "--quiet", "--allow-empty", "--message", "inner")
    repository.git("submodule", "--quiet", "add", str(inner), "sub")
    repository.commit()
    root = tmp_path / "root"
    root.mkdir()
    made = Workspace(root)
    made.clone(repository.address, repository.ref)
    assert list((made.files / "sub").iterdir()) == []
    assert made.snapshot("message") is None
    (made.files / "a.txt").write_text("two\n")
    taken = snapshot(made)
    assert taken.git.run("ls-tree", taken.commit, "sub").startswith(b"160000")


def test_what_cannot_be_read_is_said(workspace: Workspace) -> None:
    (workspace.files / "a.txt").unlink()
    os.mkfifo(workspace.files / "a.txt")
    with pytest.raises(Unusable, match=r"a\.txt"):
        workspace.snapshot("message")


def fifo(path: Path) -> None:
    os.mkfifo(path)


def fifo_behind_a_link(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def named_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        folder = os.open(path.parent, os.O_RDONLY)
        listener.bind(f"/proc/self/fd/{folder}/{path.name}")  # 107 bytes at most
        os.close(folder)


def device(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root makes a device")
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(planted.MOST_BYTES + 1)


KINDS: dict[Callable[[Path], None], str] = {
    fifo: "a FIFO",
    fifo_behind_a_link: "a FIFO",
    endless: "a device",
    named_socket: "a socket",
    device: "a device",
    huge: "has over",
}


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize(
    "place",
    [
        *(".gitignore", ".gitattributes", ".gitmodules", ".mailmap"),
        *("deep/er/.gitignore", "tests/.gitattributes"),
        *("nested/.git/HEAD", "nested/.git/commondir", "nested/.git"),
    ],
)
def test_what_would_hold_git_is_named_and_refused(
    workspace: Workspace, place: str, make: Callable[[Path], None]
) -> None:
    path = workspace.files / place
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.name in {"HEAD", "commondir"}:
        for name in ("objects", "refs"):
            (path.parent / name).mkdir()
        (path.parent / "HEAD").write_text("ref: refs/heads/x\n")
    path.unlink(missing_ok=True)
    make(path)
    (workspace.files / "a.txt").write_text("two\n")
    begun = time.monotonic()
    with pytest.raises(Unusable, match=f"^{re.escape(place)[:11]}.*{KINDS[make]}.*remove it"):
        workspace.snapshot("message")
    assert time.monotonic() - begun < 5


def test_where_a_gitfile_leads_would_hold_git_as_well(workspace: Workspace) -> None:
    trap = workspace.files / "trap"
    for name in ("objects", "refs", "../nested"):
        (trap / name).mkdir(parents=True)
    os.mkfifo(trap / "HEAD")
    (workspace.files / "nested" / ".git").write_text("gitdir: ../trap\n")
    with pytest.raises(Unusable, match=r"nested/\.git leads to a HEAD that is a FIFO"):
        workspace.snapshot("message")


@pytest.mark.parametrize("name", ["pipe", ".gitkeep", "gitignore", ".gitignore~"])
def test_what_git_does_not_open_holds_nobody(workspace: Workspace, name: str) -> None:
    """Git leaves out what is neither file nor link; a program may have left it for its own use."""
    os.mkfifo(workspace.files / name)
    (workspace.files / "a.txt").write_text("two\n")
    assert files(snapshot(workspace)) == [".gitignore", "a.txt", "tests/check.py"]


def test_what_ends_at_once_holds_nobody_either(workspace: Workspace) -> None:
    (workspace.files / ".mailmap").symlink_to("/dev/null")
    (workspace.files / ".gitattributes").symlink_to("nowhere")
    assert {".mailmap", ".gitattributes"} < set(files(snapshot(workspace)))


@pytest.mark.parametrize("place", ["objects/info/alternates", "objects/pack/x.idx"])
def test_what_would_hold_the_clients_own_repository_is_refused(
    workspace: Workspace, place: str
) -> None:
    path = workspace.store.folder / place
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    (workspace.files / "a.txt").write_text("two\n")
    with pytest.raises(Unusable, match=f"{place} was put into the client's own repository"):
        workspace.snapshot("message")


def test_objects_from_elsewhere_are_not_the_clients_own(workspace: Workspace) -> None:
    """A list of other repositories can name one with a FIFO in it."""
    info = workspace.store.folder / "objects" / "info"
    info.mkdir(exist_ok=True)
    (info / "alternates").write_text("/tmp\n")
    with pytest.raises(Unusable, match="objects/info/alternates was put"):
        workspace.snapshot("message")


def test_git_that_waits_is_stopped_by_the_interrupt(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where what holds it was not seen before."""
    monkeypatch.setattr(planted, "obstacle", lambda *_, **__: None)
    (workspace.files / ".gitignore").unlink()
    os.mkfifo(workspace.files / ".gitignore")
    with Interrupt() as interrupt:
        timer = threading.Timer(1, interrupt.set, ["enough"])
        timer.start()
        begun = time.monotonic()
        with pytest.raises(Interrupted, match="enough"):
            workspace.snapshot("message", interrupt=interrupt)
        assert 0.9 < time.monotonic() - begun < 8
        timer.join()


def test_what_is_nearly_done_has_its_time(tmp_path: Path) -> None:
    with Interrupt() as interrupt, Overdue(interrupt, timedelta(seconds=1)) as overdue:
        made = Git(tmp_path / "x.git", interrupt=overdue)
        interrupt.set("enough")
        assert made.run("rev-parse", "--git-dir")
        assert overdue.reason is None
        time.sleep(1)
        with pytest.raises(Interrupted, match="enough"):
            made.run("rev-parse", "--git-dir")


def test_a_folder_with_many_files(workspace: Workspace) -> None:
    for number in range(3000):  # more than a pipe holds of their names
        (workspace.files / f"{'x' * 200}{number}").touch()
    made = workspace.snapshot("message")
    assert made is not None
    assert len(files(made)) == 3003


# -- pushing ---------------------------------------------------------------------------------------


REF, FENCE = "refs/fencepost/c/1/1", "refs/fencepost/c/1/fence"


def push(made: Snapshot, repository: Repository, *, expected: str, fence_was: str) -> str:
    return made.git.push_fenced(
        repository.address,
        made.commit,
        ref=REF,
        expected=expected,
        fence=FENCE,
        fence_was=fence_was,
    )


def test_a_push_moves_ref_and_fence_or_neither(
    workspace: Workspace, repository: Repository
) -> None:
    (workspace.files / "a.txt").write_text("two\n")
    made = snapshot(workspace)
    push(made, repository, expected=ZERO, fence_was=ZERO)
    assert repository.value(REF) == made.commit
    fence = repository.value(FENCE)

    (workspace.files / "a.txt").write_text("three\n")
    other = snapshot(workspace)
    for expected, fence_was in ((ZERO, fence), (made.commit, ZERO), (other.commit, fence)):
        assert push(other, repository, expected=expected, fence_was=fence_was)
        assert repository.value(REF) == made.commit
        assert repository.value(FENCE) == fence
    push(other, repository, expected=made.commit, fence_was=fence)
    assert repository.value(REF) == other.commit
    assert repository.value(FENCE) not in {fence, ZERO}


def test_an_advanced_fence_refuses_what_was_on_its_way(
    workspace: Workspace, repository: Repository
) -> None:
    (workspace.files / "a.txt").write_text("two\n")
    made = snapshot(workspace)
    assert made.git.advance(repository.address, FENCE, ZERO)
    assert not made.git.advance(repository.address, FENCE, ZERO)
    assert push(made, repository, expected=ZERO, fence_was=ZERO)
    assert made.git.remote_refs(repository.address, REF) == {}


def test_hooks_of_the_other_side_do_run(workspace: Workspace, repository: Repository) -> None:
    hook = repository.bare / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho not today >&2\nexit 1\n")
    hook.chmod(0o755)
    (workspace.files / "a.txt").write_text("two\n")
    assert "not today" in push(snapshot(workspace), repository, expected=ZERO, fence_was=ZERO)
    assert snapshot(workspace).git.remote_refs(repository.address, REF) == {}


# -- fingerprints ----------------------------------------------------------------------------------


def test_the_same_change_on_another_base_has_the_same_patch_id(
    tmp_path: Path, repository: Repository
) -> None:
    made = []
    for name in ("first", "second"):
        root = tmp_path / name
        root.mkdir()
        workspace = Workspace(root)
        workspace.clone(repository.address, repository.ref)
        (workspace.files / "a.txt").write_text("two\n")
        made.append(snapshot(workspace))
        (repository.clone / "other.txt").write_text("moved on\n")
        repository.commit()
    first, second = made
    assert first.commit != second.commit
    assert first.fingerprint == second.fingerprint
    assert len(first.fingerprint) == 40


@pytest.fixture
def fingerprints(tmp_path: Path, repository: Repository) -> list[str]:
    """Return the patch ids of changes that differ in little."""
    found = []
    for number, text in enumerate([b"one \n", b"one\n\n", b"one\r\n", b"\0one", b"\0two"]):
        root = tmp_path / str(number)
        root.mkdir()
        workspace = Workspace(root)
        workspace.clone(repository.address, repository.ref)
        (workspace.files / "a.txt").write_bytes(text)
        found.append(snapshot(workspace).fingerprint)
    return found


def test_white_space_and_binary_content_count(fingerprints: list[str]) -> None:
    assert len(set(fingerprints)) == len(fingerprints)
    assert all(fingerprints)


def test_a_mode_and_an_empty_file_are_changes(workspace: Workspace) -> None:
    path = workspace.files / "a.txt"
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    mode = snapshot(workspace).fingerprint
    path.chmod(0o644)
    (workspace.files / "empty").touch()
    empty = snapshot(workspace).fingerprint
    assert mode
    assert empty
    assert mode != empty


def test_a_large_difference_is_not_held_in_memory(workspace: Workspace) -> None:
    for number in range(4):
        (workspace.files / f"large{number}").write_bytes(b"yes\n" * (4 * 1024 * 1024))
    tracemalloc.start()
    try:
        made = snapshot(workspace)
        assert tracemalloc.get_traced_memory()[1] < 16 * 1024 * 1024
    finally:
        tracemalloc.stop()
    assert len(made.fingerprint) == 40


def test_a_difference_has_a_bound(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkout, "DIFFERENCE_BYTES", 100_000)
    (workspace.files / "large").write_bytes(b"yes\n" * 100_000)
    with pytest.raises(Unusable, match="too large"):
        workspace.snapshot("message")


def test_a_commit_that_does_not_exist_has_no_patch_id(workspace: Workspace) -> None:
    with pytest.raises(GitError, match="git diff"):
        workspace.store.patch_id(workspace.base, "1" * 40)


def test_names_longer_than_can_be_looked_at_are_refused(workspace: Workspace) -> None:
    """Git begins in the folder, and gets further down than who begins at the root."""
    was = Path.cwd()
    os.chdir(workspace.files)
    try:
        for _ in range(17):
            Path("d" * 239).mkdir()
            os.chdir("d" * 239)
        os.mkfifo(".gitignore")
    finally:
        os.chdir(was)
    with pytest.raises(Unusable, match="has too long a name to be looked at"):
        workspace.snapshot("message")


def test_what_git_holds_in_memory_is_counted_together(workspace: Workspace) -> None:
    for name in ("a", "a/b", "a/b/c"):
        (workspace.files / name).mkdir()
        with (workspace.files / name / ".gitignore").open("wb") as file:
            file.truncate(planted.MOST_BYTES // 3 + 1)
    with pytest.raises(Unusable, match="has, with others that git reads, over"):
        workspace.snapshot("message")


def test_git_may_not_say_more_than_is_taken(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkout, "OUTPUT_BYTES", 10)
    with pytest.raises(checkout.TooMuch, match="over 10 bytes to say"):
        workspace.store.run("ls-tree", "-r", workspace.base)


def unfolded(git: Git, base: str, content: bytes, levels: int) -> str:
    """Commit a tree of 10 to the power of *levels* files, which is small as git keeps it."""
    kind, mode = "blob", "100644"
    sha = git.run("hash-object", "-w", "--stdin", stdin=content).decode().strip()
    for _ in range(levels):
        lines = "".join(f"{mode} {kind} {sha}\t{number}\n" for number in range(10))
        sha = git.run("mktree", stdin=lines.encode()).decode().strip()
        kind, mode = "tree", "040000"
    who = {
        f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    return git.run("commit-tree", "-p", base, sha, identity=who).decode().strip()


def test_a_small_pack_with_much_in_it_is_too_much(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = workspace.store
    git.require_bounded(workspace.base, unfolded(git, workspace.base, b"x", 3))
    with pytest.raises(Unusable, match="too large"):
        git.require_bounded(workspace.base, unfolded(git, workspace.base, bytes(20 << 20), 2))
    monkeypatch.setattr(checkout, "OUTPUT_BYTES", 1 << 20)
    with pytest.raises(Unusable, match="too many files"):
        git.require_bounded(workspace.base, unfolded(git, workspace.base, b"x", 9))
