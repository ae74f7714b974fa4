"""Files that show what a verifier saw, named in the ledger by address and SHA-256."""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from .records import Bundle


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where it is and what it was when it was written."""

    uri: str
    sha256: bytes


def default_folder() -> Path:
    """Return the folder for evidence if none is named: below XDG_STATE_HOME."""
    state = os.environ.get("XDG_STATE_HOME")
    base = Path(state) if state else Path.home() / ".local" / "state"
    return base / "fencepost" / "evidence"


class EvidenceFile:
    """A file that gets its name only when it is complete.

    It and the folders that are made for it are the account's own: what a command printed may hold
    what others are not to read.

    :param folder: made if missing; the file is ``CLASS/CAMPAIGN/ATTEMPT-GENERATION.log`` in it.
    """

    def __init__(self, folder: Path, bundle: Bundle) -> None:
        place = folder / bundle.campaign_class / str(bundle.campaign_id)
        for made in (folder, place.parent, place):
            made.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = place / f"{bundle.attempt_no}-{bundle.generation}.log"
        descriptor, name = tempfile.mkstemp(prefix=".", dir=place)
        self._draft = Path(name)
        self.file: BinaryIO = os.fdopen(descriptor, "wb")

    def note(self, line: str) -> None:
        """Write a line of the verifier's own."""
        self.file.write(line.encode("utf-8", "replace") + b"\n")

    def finish(self) -> Evidence:
        """Complete the file, on disk, and return its reference."""
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()
        digest = hashlib.sha256()
        with self._draft.open("rb") as file:
            while chunk := file.read(1024 * 1024):
                digest.update(chunk)
        self._draft.replace(self._path)
        folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return Evidence(uri=self._path.absolute().as_uri(), sha256=digest.digest())

    def __enter__(self) -> EvidenceFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self.file.closed:
            self.file.close()
        self._draft.unlink(missing_ok=True)
