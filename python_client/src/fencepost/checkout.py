"""All that is done with git.

The folder in which a command works is the command's: whatever it writes there, also below `.git`,
is content and never instruction. So the client's own git never reads settings, hooks or objects
from that folder. It works in bare repositories that it makes itself, with settings that it makes
itself, and looks into the folder as a tree of files.

A command's own commits count as what they leave in the folder: :meth:`Workspace.snapshot` puts all
of it, as the command's index and the ignore rules have it, into one commit on top of BASE.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import select
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import IO
from uuid import uuid4

from . import planted, text
from .errors import FencepostError
from .interrupt import Interrupt

ZERO = "0" * 40
"""What git says of a ref that does not exist."""

SHA = re.compile(r"[0-9a-f]{40}\Z")

STORE = "base.git"
"""The name of a workspace's own repository, below its root."""

DIFFERENCE_BYTES = 1024 * 1024 * 1024
"""How large the difference that an attempt makes may be, as git writes it."""

OUTPUT_BYTES = 256 * 1024 * 1024
"""How much of what git says is taken into memory."""

_MEMORY_BYTES = 4 * 1024 * 1024 * 1024
"""How much of it a git may take that looks at what somebody else made."""

GITLINK = "160000"
_SYMLINK = "120000"
_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

_LOCAL_LIMIT = timedelta(minutes=10)
_REMOTE_LIMIT = timedelta(minutes=30)
_INDEX_BYTES = 256 * 1024 * 1024

_KEPT = frozenset(
    # What reaching a repository may need. Nothing that points git to another folder or index.
    {
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "HOME",
        "LANG",
        "LOGNAME",
        "NO_PROXY",
        "PATH",
        "SSH_AUTH_SOCK",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        "TMPDIR",
        "TZ",
        "USER",
        "all_proxy",
        "http_proxy",
        "https_proxy",
        "no_proxy",
    }
)

_SETTINGS = (
    # Nothing that stands in a repository may start a program, and nothing in it may be changed
    # by what the machine or the account have set.
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.autocrlf=false",
    "core.commitGraph=false",
    "core.protectNTFS=true",
    "core.protectHFS=true",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "push.recurseSubmodules=no",
    "push.followTags=false",
    "commit.gpgSign=false",
    "protocol.allow=never",
    "protocol.file.allow=always",
    "protocol.git.allow=always",
    "protocol.http.allow=always",
    "protocol.https.allow=always",
    "protocol.ssh.allow=always",
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=60",
    "advice.detachedHead=false",
)

_CREDENTIALS = re.compile(r"(?<=://)[^/\s]+@")
_PASSWORD = re.compile(r"://[^/?#@]*:[^/?#]*@")


class GitError(FencepostError):
    """A git command did not do what it was asked to.

    :param what: the command, in words.
    :param status: its exit code, or ``None`` when it was stopped.
    :param output: what it said; credentials in addresses are taken out.
    """

    def __init__(self, what: str, status: int | None, output: bytes | str) -> None:
        said = _tail(output)
        super().__init__(f"git {what}: {said or f'exit code {status}'}")
        self.status = status
        self.output = said


class TooMuch(GitError):
    """Git had more to say than is taken into memory."""


class Unusable(FencepostError):
    """What a command left in its folder cannot be made into a commit, or is too much for one."""


class Interrupted(FencepostError):
    """Git was stopped because the work is to stop."""


class Git:
    """A bare repository of the client's own, and git run in it.

    :param folder: where it is made, if it is not there; nobody else may be able to write to it.
    :param objects: repositories whose objects can be read from here without copying them.
    :param interrupt: stops whatever runs.
    """

    def __init__(
        self, folder: Path, *, objects: Iterable[Path] = (), interrupt: Interrupt | None = None
    ) -> None:
        self.folder = folder
        self._interrupt = interrupt
        self._settings = folder.with_name(folder.name + ".settings")
        self._settings.write_text(_global_settings(), encoding="utf-8")
        self.run("init", "--quiet", "--bare", "--template=", str(folder), inside=False)
        alternates = "".join(f"{path}/objects\n" for path in objects)
        if alternates:
            (folder / "objects" / "info").mkdir(exist_ok=True)
            (folder / "objects" / "info" / "alternates").write_text(alternates, encoding="utf-8")

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        tree: Path | None = None,
        index: Path | None = None,
        settings: Iterable[str] = (),
        identity: Mapping[str, str] | None = None,
        limit: timedelta = _LOCAL_LIMIT,
        inside: bool = True,
        accept: Iterable[int] = (0,),
    ) -> bytes:
        """Run git and return its standard output.

        :param tree: the folder of files to look into.
        :param index: the index file to use.
        :param settings: ``key=value`` for this command.
        :param limit: how long it may take.
        :param accept: exit codes that are not errors.
        :raises GitError: it said no, or took too long.
        :raises Interrupted: the interrupt was set meanwhile.
        """
        return self.answer(
            *arguments,
            stdin=stdin,
            tree=tree,
            index=index,
            settings=settings,
            identity=identity,
            limit=limit,
            inside=inside,
            accept=accept,
        ).stdout

    def answer(
        self,
        *arguments: str,
        stdin: bytes = b"",
        tree: Path | None = None,
        index: Path | None = None,
        settings: Iterable[str] = (),
        identity: Mapping[str, str] | None = None,
        limit: timedelta = _LOCAL_LIMIT,
        inside: bool = True,
        accept: Iterable[int] | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run git and return all it answered; ``accept=None`` takes any exit code."""
        command, environment = self._prepared(
            tree=tree, index=index, settings=settings, identity=identity, inside=inside
        )
        done = _communicate(
            [*command, *arguments],
            stdin=stdin,
            folder=tree or self._settings.parent,
            environment=environment,
            limit=limit,
            interrupt=self._interrupt,
        )
        if accept is not None and done.returncode not in accept:
            raise GitError(arguments[0], done.returncode, done.stderr or done.stdout)
        return done

    def _prepared(
        self,
        *,
        tree: Path | None = None,
        index: Path | None = None,
        settings: Iterable[str] = (),
        identity: Mapping[str, str] | None = None,
        inside: bool = True,
    ) -> tuple[list[str], dict[str, str]]:
        """Return the beginning of a command line of git, and its environment."""
        command = ["git"]
        for setting in (*_SETTINGS, *settings):
            command += ["-c", setting]
        environment = _environment(self._settings)
        if inside:
            environment["GIT_DIR"] = str(self.folder)
        if tree is not None:
            environment["GIT_WORK_TREE"] = str(tree)
            command += ["-c", "core.bare=false"]
        else:
            # Newer gits read attributes from HEAD in a bare repository; a diff is to be the same
            # wherever it is made.
            command += ["-c", f"attr.tree={_EMPTY_TREE}"]
        if index is not None:
            environment["GIT_INDEX_FILE"] = str(index)
        return command, environment | dict(identity or {})

    # What a repository elsewhere holds

    def remote_refs(self, repository: str, *refs: str) -> dict[str, str]:
        """Return what *refs* hold in a repository elsewhere; those that do not exist are left out.

        :raises GitError: the repository cannot be read.
        """
        listed = self.run("ls-remote", "--", address(repository), *refs, limit=_REMOTE_LIMIT)
        found = {}
        for line in listed.decode("utf-8", "replace").splitlines():
            value, _, name = line.partition("\t")
            if name in refs:  # a pattern matches the ends of names as well
                found[name] = value
        return found

    def fetch(self, repository: str, *refs: str) -> None:
        """Copy *refs*, which must exist, with all that is reachable from them, under their names.

        :raises GitError: the repository cannot be read, or has no such ref.
        """
        self.run(
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--force",
            "--",
            address(repository),
            *(f"{ref}:{ref}" for ref in refs),
            limit=_REMOTE_LIMIT,
        )

    def value(self, name: str) -> str | None:
        """Return the commit that a ref or hash here means, or ``None`` if there is no such."""
        done = self.answer(
            "rev-parse", "--quiet", "--verify", "--end-of-options", f"{name}^{{commit}}"
        )
        return done.stdout.decode().strip() if done.returncode == 0 else None

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Return whether *older* is reachable from *newer*; a commit is reachable from itself."""
        return (
            self.answer("merge-base", "--is-ancestor", older, newer, accept=(0, 1)).returncode == 0
        )

    def forks(self, one: str, other: str) -> list[str]:
        """Return the newest commits reachable from both; more than one after criss-cross merges."""
        return self.run("merge-base", "--all", one, other, accept=(0, 1)).decode().split()

    # What an attempt changed

    def patch_id(self, base: str, commit: str) -> str:
        """Return what identifies the change from *base* to *commit*; empty for no change.

        White space counts. The same change on another base has the same patch id.

        :raises Unusable: the difference is larger than ``DIFFERENCE_BYTES``.
        """
        options = ("--binary", "--full-index", "--no-ext-diff", "--no-textconv")
        with (
            tempfile.TemporaryFile() as said,
            self._start(said, "patch-id", "--verbatim") as reader,
        ):
            with self._start(said, "diff", *options, base, commit, stdin=False) as writer:
                self._pass_on(writer, reader)
            answer = reader.stdout.read() if reader.stdout else b""
            for name, process in (("diff", writer), ("patch-id", reader)):
                if process.wait() != 0:
                    said.seek(0)
                    raise GitError(name, process.returncode, said.read(65536))
        return answer.decode().partition(" ")[0]

    def _start(
        self, said: IO[bytes], *arguments: str, stdin: bool = True
    ) -> subprocess.Popen[bytes]:
        """Start git, with pipes to and from it; *said* gets its standard error."""
        command, environment = self._prepared()
        return subprocess.Popen(
            [*command, *arguments],
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            cwd=self._settings.parent,
            env=environment,
            start_new_session=True,
        )

    def _pass_on(self, writer: subprocess.Popen[bytes], reader: subprocess.Popen[bytes]) -> None:
        """Give what *writer* writes to *reader*, without holding it; end both if that fails."""
        assert reader.stdin is not None  # noqa: S101 - for the type checker
        size = 0
        try:
            for chunk in self._chunks(writer):
                size += len(chunk)
                _require_bounded(size)
                reader.stdin.write(chunk)
            reader.stdin.close()
        except BrokenPipeError:  # it ended: its exit code says more
            writer.kill()
        except BaseException:
            writer.kill()
            reader.kill()
            raise
        finally:
            with contextlib.suppress(BrokenPipeError):  # closing writes what is still held
                reader.stdin.close()

    def _chunks(self, writer: subprocess.Popen[bytes]) -> Iterator[bytes]:
        """Yield what git writes as it comes."""
        assert writer.stdout is not None  # noqa: S101 - for the type checker
        deadline = time.monotonic() + _LOCAL_LIMIT.total_seconds()
        while True:
            if self._interrupt:
                raise Interrupted(self._interrupt.reason or "interrupted")
            if time.monotonic() >= deadline:
                raise GitError("diff", None, "did not end in time")
            if select.select([writer.stdout], [], [], 0.25)[0]:
                chunk = os.read(writer.stdout.fileno(), 65536)
                if not chunk:
                    return
                yield chunk

    def require_bounded(self, base: str, commit: str) -> None:
        """Insist that a change can be looked at and checked out: a small pack may unfold to much.

        :raises Unusable: what was added and modified has over ``DIFFERENCE_BYTES`` together, each
            path counted; or the names of all paths have over ``OUTPUT_BYTES``.
        """
        try:
            # Said as it is found, where a difference is held in memory first.
            self.run("ls-tree", "-r", "--name-only", "-z", commit)
            changes = self.touched(base, commit)
        except TooMuch as error:
            message = f"the commit holds too many files: {error}"
            raise Unusable(message) from error
        wanted = "".join(f"{each.after}\n" for each in changes if each.has_content)
        sizes = self.run("cat-file", "--batch-check=%(objectsize)", stdin=wanted.encode()).split()
        _require_bounded(sum(int(size) for size in sizes if size.isdigit()))

    def touched(self, base: str, commit: str) -> list[Change]:
        """Return every path that differs; a rename is a path gone and a path come."""
        raw = self.run("diff-tree", "-r", "-z", "--no-renames", "--full-index", base, commit)
        parts = raw.split(b"\0")
        changes = []
        for entry, path in zip(parts[0:-1:2], parts[1::2], strict=True):
            before, after, _, sha, letter = entry.decode().lstrip(":").split(" ")
            changes.append(Change(os.fsdecode(path), before, after, letter, sha))
        return changes

    def links_on_the_way(self, commit: str, path: str) -> set[str]:
        """Return the symbolic links of *commit* that *path* leads through, and where they lead."""
        found: set[str] = set()
        waiting = [path]
        while waiting and len(found) < 100:
            parts = PurePosixPath(waiting.pop()).parts
            for count in range(1, len(parts) + 1):
                prefix = "/".join(parts[:count])
                target = self._link(commit, prefix)
                if target is None or prefix in found:
                    continue
                leads = os.path.normpath(
                    "/".join([str(PurePosixPath(prefix).parent), target, *parts[count:]])
                )
                found.add(prefix)
                if leads != ".." and not leads.startswith(("/", "../")):
                    found.add(leads)
                    waiting.append(leads)
        return found

    def _link(self, commit: str, path: str) -> str | None:
        listed = self.run("--literal-pathspecs", "ls-tree", "-z", commit, "--", path)
        if not listed.startswith(_SYMLINK.encode()):
            return None
        target = self.run("cat-file", "blob", listed.split(b"\t")[0].split(b" ")[2].decode())
        return os.fsdecode(target)

    # What is put elsewhere

    def push_fenced(
        self, repository: str, commit: str, *, ref: str, expected: str, fence: str, fence_was: str
    ) -> str:
        """Move *ref* from *expected* to *commit*, and *fence* to a value never used before.

        Both move or neither. What git says, which is returned, concludes nothing: read the refs
        again.
        """
        done = self.answer(
            "push",
            "--atomic",
            "--no-verify",
            _lease(ref, expected),
            _lease(fence, fence_was),
            "--",
            address(repository),
            f"{commit}:{ref}",
            f"{self._mark()}:{fence}",
            limit=_REMOTE_LIMIT,
        )
        return _tail(done.stderr or done.stdout)

    def advance(self, repository: str, fence: str, fence_was: str) -> bool:
        """Move *fence* alone from *fence_was* to a value never used before; whether it moved."""
        done = self.answer(
            "push",
            "--quiet",
            "--no-verify",
            _lease(fence, fence_was),
            "--",
            address(repository),
            f"{self._mark()}:{fence}",
            limit=_REMOTE_LIMIT,
        )
        return done.returncode == 0

    def _mark(self) -> str:
        """Write a blob that no other push has or will have."""
        content = f"{uuid4()}\n".encode()
        return self.run("hash-object", "-w", "--stdin", stdin=content).decode().strip()


def _require_bounded(size: int) -> None:
    if size > DIFFERENCE_BYTES:
        message = f"the change is too large: its difference has over {DIFFERENCE_BYTES} bytes"
        raise Unusable(message)


def _lease(ref: str, expected: str) -> str:
    """Return the option by which a push moves *ref* only if it holds what it is thought to."""
    return f"--force-with-lease={ref}:{'' if expected == ZERO else expected}"


@dataclass(frozen=True, slots=True)
class Change:
    """One path that differs between two commits; modes are octal, ``000000`` for not there."""

    path: str
    mode_before: str
    mode_after: str
    letter: str
    after: str
    """The object's name afterwards."""

    @property
    def has_content(self) -> bool:
        """Whether it is afterwards a file or a link, whose object is here."""
        return self.mode_after not in {"000000", GITLINK}

    def __str__(self) -> str:
        if "000000" in {self.mode_before, self.mode_after}:
            return f"{'added' if self.mode_before == '000000' else 'deleted'} {self.path}"
        if self.mode_before != self.mode_after:
            return f"mode {self.mode_before} to {self.mode_after} of {self.path}"
        return f"modified {self.path}"


class Workspace:
    """A fresh folder with a clone for a command, and what the client needs beside it.

    :param root: an empty folder that nobody else may enter.
    :param interrupt: stops git.
    """

    def __init__(self, root: Path, *, interrupt: Interrupt | None = None) -> None:
        self.root = root
        self.files = root / "work"
        """The command's folder: an ordinary clone, with nowhere to push to."""
        self._store = Git(root / STORE, interrupt=interrupt)
        self._identity: tuple[int, int] | None = None
        self.base = ""

    @property
    def store(self) -> Git:
        """The client's own bare repository, in which nothing but the client's git has worked."""
        return self._store

    def clone(self, repository: str, ref: str) -> str:
        """Clone *repository*, with the history of *ref* only, and check that out; return its SHA.

        :raises GitError: the repository cannot be read, or has no such ref.
        """
        self._store.fetch(repository, ref)
        base = self._store.value(ref)
        if base is None:
            raise GitError("fetch", None, f"{ref} is not a commit")
        self.check_out(base, branch=ref.removeprefix("refs/heads/") if "heads/" in ref else None)
        return base

    def check_out(self, commit: str, *, branch: str | None = None) -> None:
        """Make the folder: a clone of its own with *commit* checked out, on *branch* or detached.

        Nothing that the commit holds is executed, and submodules stay empty.
        """
        name = branch or "target"
        self._store.run("update-ref", f"refs/heads/{name}", commit)
        self._store.run("symbolic-ref", "HEAD", f"refs/heads/{name}")
        self._store.run(
            "clone",
            "--quiet",
            # A file with a name here and one in the store would be changed in both.
            "--no-hardlinks",
            "--no-tags",
            "--template=",
            "--single-branch",
            f"--branch={name}",
            "--",
            str(self._store.folder),
            str(self.files),
            inside=False,
        )
        inside = ("-C", str(self.files))
        # An agent that pushes from habit would write to the target without a verdict.
        self._store.run(*inside, "remote", "remove", "origin", inside=False)
        if branch is None:
            self._store.run(*inside, "checkout", "--quiet", "--detach", commit, inside=False)
            self._store.run(*inside, "branch", "--quiet", "-D", name, inside=False)
        self.base = commit
        self._identity = _identity(self.files)

    def snapshot(self, message: str, *, interrupt: Interrupt | None = None) -> Snapshot | None:
        """Put what is in the folder into one commit on top of BASE; ``None`` if nothing changed.

        For when nothing runs in the folder any more. Files that the command's own index tracks are
        in it, ignored or not, and all others that are not ignored. The ignore rules are those of
        the folder and of its ``.git/info/exclude``.

        :raises Unusable: the folder holds what cannot be committed, and the message says what.
        """
        if self._identity != _identity(self.files):
            message = "the folder that was given to the command is not there any more"
            raise Unusable(message)
        found = planted.obstacle(self.files, interrupt=interrupt)
        found = found or planted.intrusion(self._store.folder, interrupt=interrupt)
        if found is not None:
            raise Unusable(found)
        own = Path(tempfile.mkdtemp(prefix="own-", dir=self.root))
        git = Git(own / "commit.git", objects=[self._store.folder], interrupt=interrupt)
        try:
            tree = self._tree(git, own)
        except GitError as error:
            raise Unusable(f"the folder cannot be committed: {error.output}") from error
        if tree == git.run("rev-parse", f"{self.base}^{{tree}}").decode().strip():
            return None
        name, mail = "fencepost worker", "fencepost@localhost"
        commit = git.run(
            "commit-tree",
            "-p",
            self.base,
            tree,
            stdin=message.encode("utf-8", "replace"),
            identity={
                "GIT_AUTHOR_NAME": name,
                "GIT_AUTHOR_EMAIL": mail,
                "GIT_COMMITTER_NAME": name,
                "GIT_COMMITTER_EMAIL": mail,
            },
        )
        sha = commit.decode().strip()
        git.require_bounded(self.base, sha)
        return Snapshot(git=git, commit=sha, fingerprint=git.patch_id(self.base, sha))

    def _tree(self, git: Git, own: Path) -> str:
        """Write the folder's content as a tree, and return its name."""
        index, scratch = own / "index", own / "commands-index"
        tracked = self._commands_index(git, scratch)
        if tracked is None:
            git.run("read-tree", self.base, index=scratch)
            tracked = _staged(git.run("ls-files", "--stage", "-z", index=scratch))
        exclude = self._commands_exclude(own)
        others = git.run(
            "ls-files",
            "--others",
            "--exclude-standard",
            "-z",
            tree=self.files,
            index=scratch,
            settings=[f"core.excludesFile={exclude}"],
        ).split(b"\0")[:-1]
        nested = [os.fsdecode(path) for path in others if path.endswith(b"/")]
        if nested:
            message = f"{nested[0]} is a git repository of its own inside the folder"
            raise Unusable(message)
        was = _links(git.run("ls-tree", "-r", "-z", self.base))
        links = {path: sha for path, (mode, sha) in tracked.items() if mode == GITLINK}
        if added := sorted(links.keys() - was):
            message = f"{os.fsdecode(added[0])} is a submodule that was not there before"
            raise Unusable(message)
        files = self._present(sorted({path for path in tracked if path not in links} | set(others)))
        # Begun with what BASE holds: where attributes say `text=auto`, git leaves a file alone that
        # has CR LF in the index.
        git.run("read-tree", self.base, index=index)
        held = _staged(git.run("ls-files", "--stage", "-z", index=index))
        gone = sorted(held.keys() - set(files) - links.keys())
        git.run(
            "update-index",
            "-z",
            "--index-info",
            stdin=b"".join(b"0 %s\t%s\0" % (ZERO.encode(), path) for path in gone)
            + b"".join(b"%s %s\t%s\0" % (GITLINK.encode(), links[p], p) for p in links),
            index=index,
        )
        git.run(
            "update-index",
            "--add",
            "--replace",
            "-z",
            "--stdin",
            stdin=b"".join(path + b"\0" for path in files),
            tree=self.files,
            index=index,
        )
        tree = git.run("write-tree", "--missing-ok", index=index).decode().strip()
        now = _links(git.run("ls-tree", "-r", "-z", tree))
        if added := sorted(now - was):
            message = f"{os.fsdecode(added[0])} is a git repository of its own inside the folder"
            raise Unusable(message)
        return tree

    def _present(self, paths: list[bytes]) -> list[bytes]:
        """Return those paths that are there, reached through real folders and no others.

        What became a folder is not: what is in it has paths of its own.
        """
        top = os.fsencode(self.files)
        is_real: dict[bytes, bool] = {b"": True}

        def reached(folder: bytes) -> bool:
            if folder not in is_real:
                place = os.path.join(top, folder)  # noqa: PTH118 - bytes
                is_real[folder] = (
                    reached(folder.rpartition(b"/")[0])
                    and os.path.lexists(place)
                    and stat.S_ISDIR(os.lstat(place).st_mode)
                )
                if is_real[folder] and os.path.lexists(place + b"/.git"):
                    message = f"{os.fsdecode(folder)} is a git repository of its own in the folder"
                    raise Unusable(message)
            return is_real[folder]

        return [
            path
            for path in paths
            if reached(path.rpartition(b"/")[0])
            and os.path.lexists(top + b"/" + path)
            and not reached(path)
        ]

    def _commands_index(self, git: Git, scratch: Path) -> dict[bytes, tuple[str, bytes]] | None:
        """Return what the command's own index tracks, or ``None`` if it has no readable one."""
        content = read_strange(self.files / ".git" / "index", _INDEX_BYTES)
        if content is None:
            return None
        scratch.write_bytes(content)
        try:
            return _staged(git.run("ls-files", "--stage", "-z", index=scratch))
        except GitError:
            scratch.unlink()
            return None

    def _commands_exclude(self, own: Path) -> Path:
        """Copy the command's own list of what to ignore, and return the copy."""
        copy = own / "exclude"
        copy.write_bytes(read_strange(self.files / ".git" / "info" / "exclude", 1024 * 1024) or b"")
        return copy


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What a command made of BASE."""

    git: Git
    """The repository that holds the commit."""
    commit: str
    fingerprint: str


def protected_violation(git: Git, base: str, commit: str, protected: Iterable[str]) -> str | None:
    """Return how the change from *base* to *commit* touches a protected path, or ``None``.

    A path is touched if it, something below it, or one of its parents was added, deleted, renamed
    on either side, changed in content or mode, or became a link or a submodule; if a symbolic link
    leads from it to what was; and if a ``.gitattributes`` in a folder above it was. An empty path
    or ``.`` is the whole tree. Names are compared letter by letter; there are no patterns.
    """
    changes = git.touched(base, commit)
    for name in protected:
        path = os.path.normpath(name).lstrip("/")
        if path == ".":
            path = ""
        guarded = {path}
        if path:
            guarded |= git.links_on_the_way(base, path) | git.links_on_the_way(commit, path)
        for change in changes:
            for place in guarded:
                if _touches(change.path, place):
                    via = "" if place == path else f" (through {place})"
                    return f"the path {name} is protected{via}: the submission {_past(change)}"
    return None


def _touches(changed: str, place: str) -> bool:
    """Return whether a change of one path bears on another."""
    if not place or changed == place or changed.startswith(f"{place}/"):
        return True
    if place.startswith(f"{changed}/"):
        return True
    folder, _, name = changed.rpartition("/")
    return name == ".gitattributes" and (not folder or place.startswith(f"{folder}/"))


def _past(change: Change) -> str:
    if str(change).startswith("mode "):
        return f"changed {change}"
    return str(change)


def location(given: Mapping[str, object]) -> tuple[str, str]:
    """Return repository and ref of a target's location.

    :raises GitError: it has no such fields, or a password is among them.
    """
    repository, ref = given.get("repository"), given.get("ref")
    if not isinstance(repository, str) or not isinstance(ref, str) or not ref.startswith("refs/"):
        raise GitError("location", None, "a Git target's location has repository and ref (refs/…)")
    _refuse_password(repository)
    return repository, ref


def attempt_ref(campaign_class: str, campaign_id: int, attempt_no: int) -> str:
    """Return the ref under which a worker puts the result of an attempt."""
    return f"refs/fencepost/{campaign_class}/{campaign_id}/{attempt_no}"


def fence_ref(campaign_class: str, campaign_id: int) -> str:
    """Return the ref that is moved together with the target's, so that no late push lands."""
    return f"refs/fencepost/{campaign_class}/{campaign_id}/fence"


def address(repository: str) -> str:
    """Return a repository's address as git takes it from any folder.

    :raises GitError: it is of a kind that starts programs (``ext::``), has a password in it, or is
        not an address.
    """
    _refuse_password(repository)
    if not repository or repository.startswith("-") or "::" in repository.partition("/")[0]:
        raise GitError("address", None, f"{repository!r} is not the address of a repository")
    if "://" not in repository and Path(repository).exists():
        return str(Path(repository).absolute())
    return repository


def _refuse_password(repository: str) -> None:
    """Refuse an address that would show a password to logs, briefs and the list of processes."""
    if _PASSWORD.search(repository):
        message = (
            "the address of the repository has a password in it: take it out, and name a git "
            "configuration file with a credential helper in FENCEPOST_GIT_CONFIG"
        )
        raise GitError("address", None, message)


def without_credentials(said: str) -> str:
    """Return *said* without what stands before the host in addresses."""
    return _CREDENTIALS.sub("", said)


def _tail(output: bytes | str) -> str:
    """Return the end of what git said, without credentials."""
    return text.tail(without_credentials(text.harmless(output).strip()), 2000)


def _global_settings() -> str:
    """Return the content of the only settings file that the client's git reads."""
    lines = ["[safe]", "\tdirectory = *", ""]
    extra = os.environ.get("FENCEPOST_GIT_CONFIG")
    if extra:
        lines += ["[include]", f'\tpath = "{Path(extra).absolute()}"', ""]
    return "\n".join(lines)


def _environment(settings: Path) -> dict[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if name in _KEPT or name.startswith("LC_")
    }
    kept.setdefault("PATH", os.defpath)
    kept.setdefault("GIT_SSH_COMMAND", "ssh -oBatchMode=yes -oConnectTimeout=15")
    return kept | {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": str(settings),
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_CEILING_DIRECTORIES": "/",
        "LC_ALL": "C.UTF-8",
    }


def _communicate(
    command: list[str],
    *,
    stdin: bytes,
    folder: Path,
    environment: Mapping[str, str],
    limit: timedelta,
    interrupt: Interrupt | None,
) -> subprocess.CompletedProcess[bytes]:
    """Run a command like ``subprocess.run``, but stop it when the interrupt is set."""
    if interrupt:
        raise Interrupted(interrupt.reason or "interrupted")
    deadline = time.monotonic() + limit.total_seconds()
    # From a file: `communicate` sends no more of its input once it has timed out.
    said = tempfile.TemporaryFile()  # noqa: SIM115 - closed below
    with tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        process = subprocess.Popen(
            command,
            stdin=given,
            stdout=said,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=dict(environment),
            start_new_session=True,
        )
    with process, said:
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(process.pid, resource.RLIMIT_DATA, (_MEMORY_BYTES, _MEMORY_BYTES))
        while True:
            try:
                _, stderr = process.communicate(timeout=0.25)
            except subprocess.TimeoutExpired:
                is_too_much = os.fstat(said.fileno()).st_size > OUTPUT_BYTES
                if not is_too_much and not interrupt and time.monotonic() < deadline:
                    continue
                _end_group(process)
                if is_too_much:
                    break
                if interrupt:
                    raise Interrupted(interrupt.reason or "interrupted") from None
                raise GitError(command[-1], None, "did not end in time") from None
            if os.fstat(said.fileno()).st_size > OUTPUT_BYTES:
                break
            said.seek(0)
            return subprocess.CompletedProcess(command, process.returncode, said.read(), stderr)
        message = f"has over {OUTPUT_BYTES} bytes to say"
        raise TooMuch(command[-1], None, message)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End git and the programs it started: TERM, and KILL two seconds later."""
    for number, seconds in ((signal.SIGTERM, 2), (signal.SIGKILL, 10)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=seconds)
            return


def _identity(folder: Path) -> tuple[int, int] | None:
    """Return what tells a folder from any other, or ``None`` if there is no folder there."""
    try:
        status = folder.lstat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None


def _staged(listed: bytes) -> dict[bytes, tuple[str, bytes]]:
    """Return mode and hash by path, from ``ls-files --stage -z``."""
    found = {}
    for entry in listed.split(b"\0")[:-1]:
        facts, _, path = entry.partition(b"\t")
        mode, sha, _ = facts.split(b" ")
        found[path] = (mode.decode(), sha)
    return found


def _links(listed: bytes) -> set[bytes]:
    """Return the paths of submodules, from ``ls-tree -r -z``."""
    entries = (entry.partition(b"\t") for entry in listed.split(b"\0")[:-1])
    return {path for facts, _, path in entries if facts.startswith(GITLINK.encode())}


def read_strange(path: Path, limit: int) -> bytes | None:
    """Read a file that a stranger made: no links, no pipes, nothing larger than *limit*."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > limit:
            return None
        return file.read(status.st_size)
