"""Puts the sqitch plan and its deploy scripts into a wheel and a source distribution.

They have no copy below ``src``: they are taken from the project's folder above this one. A wheel
that is built of a source distribution finds them where that has put them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PARTS = ("sqitch.plan", "deploy")
REWORKED = "reworked/deploy"
"""What was released and is not the newest; there is none before the first."""


class ScriptsHook(BuildHookInterface[Any]):
    """The build hook that ``pyproject.toml`` names."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files to include, unless the package already holds them."""
        if version == "editable":
            return  # found in the checkout
        root = Path(self.root)
        inside = "fencepost/sql" if self.target_name == "wheel" else "src/fencepost/sql"
        if (root / "src/fencepost/sql/sqitch.plan").is_file():
            return
        parts = (*PARTS, REWORKED) if (root.parent / REWORKED).exists() else PARTS
        for part in parts:
            source = root.parent / part
            if not source.exists():
                message = f"{source} is missing: build from a checkout or a source distribution"
                raise FileNotFoundError(message)
            build_data["force_include"][str(source)] = f"{inside}/{part}"
