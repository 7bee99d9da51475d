"""bin/environment says in one line what it cannot do."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract import house

NOBODY = 65534


@pytest.fixture
def foreign_clone() -> Iterator[Path]:
    """A clone that may be read, but not written, with a .venv in it that is not complete."""
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder)
        (clone / "bin").mkdir()
        (clone / ".venv").mkdir()
        for name in ("bin/environment", "bin/lab", "requirements.txt", "requirements-dev.txt"):
            shutil.copy(house.PROJECT / name, clone / name)
        for place in (clone / ".venv", clone):
            place.chmod(0o555)
        yield clone
        clone.chmod(0o755)


def test_clone_of_another_user_is_refused_in_one_line(foreign_clone: Path) -> None:
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    done = subprocess.run(
        [str(foreign_clone / "bin/lab"), "status"],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": str(foreign_clone)},
        **user,  # type: ignore[call-overload] # whom to run as, where this is root
    )
    assert done.returncode != 0
    (line,) = done.stderr.splitlines()
    assert "may not write there: work as that user" in line


def test_another_shell_than_bash_is_refused_before_anything_is_made() -> None:
    script = "unset BASH_VERSION; source bin/environment"
    done = subprocess.run(["bash", "-c", script], cwd=house.PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "needs bash" in line
