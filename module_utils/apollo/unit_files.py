"""Whether units come back after a reboot, as the disk says it.

``systemctl show`` tells what the manager has kept: where anything refers to a unit whose file went and came back, it
still is what it was before.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def unit_file_states(module: Any, names: Iterable[str]) -> dict[str, str]:
    """Ask for each unit, named without ``.service``: enabled, disabled, or empty without a file."""
    return {name: module.run_command(["systemctl", "is-enabled", f"{name}.service"])[1].strip() for name in names}
