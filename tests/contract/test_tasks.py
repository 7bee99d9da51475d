"""Every task that calls one of our own modules gives it options that exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract import house, modules


@pytest.mark.parametrize("path", house.task_files(), ids=house.name)
def test_own_modules_get_options_that_exist(path: Path) -> None:
    for task in house.play_tasks(path):
        for module in set(task) & set(house.modules()):
            unknown = set(task[module] or {}) - modules.accepted_options(module)
            assert not unknown, f"{house.name(path)}: task {task.get('name')!r} gives {module} {sorted(unknown)}"


@pytest.mark.parametrize("path", house.role_task_files(), ids=house.name)
def test_registered_names_are_private_to_their_role(path: Path) -> None:
    role = path.relative_to(house.PROJECT / "roles").parts[0]
    for task in house.play_tasks(path):
        register = task.get("register")
        assert register is None or register.startswith(f"__{role}_"), f"{house.name(path)}: {register}"
