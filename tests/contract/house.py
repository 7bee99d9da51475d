"""The project's own files, as the contract tests look at them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from ansible.parsing.dataloader import DataLoader

PROJECT = Path(__file__).resolve().parents[2]
TASK_BLOCKS = ("block", "rescue", "always")


@cache
def files() -> list[Path]:
    """Every file that is in git or would be added: what git ignores is no part of the project."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=PROJECT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    paths = (PROJECT / name for name in sorted(set(listed.split("\0"))) if name)
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def under(*folders: str, suffix: str = "") -> list[Path]:
    """The project's files below these folders whose names end in suffix."""
    roots = [PROJECT / folder for folder in folders]
    return [path for path in files() if any(path.is_relative_to(root) for root in roots) and path.name.endswith(suffix)]


def name(path: Path) -> str:
    """A path as people write it: from the root of the clone."""
    return str(path.relative_to(PROJECT))


def roles() -> list[str]:
    return sorted({path.relative_to(PROJECT / "roles").parts[0] for path in under("roles")})


def modules() -> list[str]:
    return sorted(path.stem for path in under("library", suffix=".py"))


def playbooks() -> list[Path]:
    return [PROJECT / "site.yml", *under("playbooks", suffix=".yml")]


def read_yaml(path: Path) -> Any:
    """Load YAML as Ansible does, with its own tags such as !vault."""
    return DataLoader().load_from_file(str(path), cache="none", unsafe=False)


def plain_yaml(text: str) -> Any:
    return yaml.safe_load(text)


def tasks_in(entries: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Every task of a list, those inside of blocks too."""
    for entry in entries or []:
        if any(key in entry for key in TASK_BLOCKS):
            for key in TASK_BLOCKS:
                yield from tasks_in(entry.get(key, []))
        else:
            yield entry


def play_tasks(path: Path) -> Iterator[dict[str, Any]]:
    """Every task of a task file, a handler file or a playbook."""
    for entry in read_yaml(path) or []:
        if "hosts" in entry:
            for section in ("pre_tasks", "tasks", "post_tasks", "handlers"):
                yield from tasks_in(entry.get(section, []))
        else:
            yield from tasks_in([entry])


def role_task_files() -> list[Path]:
    folders = [f"roles/{role}/{kind}" for role in roles() for kind in ("tasks", "handlers")]
    return under(*folders, suffix=".yml")


def task_files() -> list[Path]:
    """Every file with tasks in it: those of roles, playbooks and molecule's stories."""
    stories = [path for path in under("molecule", suffix=".yml") if path.name != "molecule.yml"]
    return [*role_task_files(), *playbooks(), *stories]
