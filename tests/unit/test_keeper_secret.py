"""The secret of the keepers on one node: offered, written once, never shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.apollo import seal

Module = Callable[..., dict[str, Any]]
SECRET = "5a" * 32


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "apollo" / "keeper.secret"


def test_node_without_a_secret_is_offered_a_new_one_each_time(run_module: Module, path: Path) -> None:
    first, second = (run_module("keeper_secret", path=str(path)) for _ in range(2))
    assert (first["changed"], first["known"], path.exists()) == (False, False, False)
    assert seal.is_secret(first["secret"])
    assert first["secret"] != second["secret"]


def test_secret_is_written_once_for_its_owner_alone(run_module: Module, path: Path) -> None:
    first, second = (run_module("keeper_secret", path=str(path), secret=SECRET) for _ in range(2))
    assert (first["changed"], second["changed"]) == (True, False)
    assert (path.read_text(), path.stat().st_mode & 0o777) == (f"{SECRET}\n", 0o600)
    assert [found.name for found in path.parent.iterdir()] == ["keeper.secret"]


def test_known_secret_is_given_back(run_module: Module, path: Path) -> None:
    run_module("keeper_secret", path=str(path), secret=SECRET)
    result = run_module("keeper_secret", path=str(path))
    assert (result["changed"], result["known"], result["secret"]) == (False, True, SECRET)


def test_file_that_others_may_read_is_mended(run_module: Module, path: Path) -> None:
    run_module("keeper_secret", path=str(path), secret=SECRET)
    path.chmod(0o644)
    assert run_module("keeper_secret", path=str(path), secret=SECRET)["changed"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_half_a_secret_counts_as_none(run_module: Module, path: Path) -> None:
    path.parent.mkdir()
    path.write_text(SECRET[:40])
    assert not run_module("keeper_secret", path=str(path))["known"]


def test_check_mode_writes_nothing(run_module: Module, path: Path) -> None:
    assert run_module("keeper_secret", check=True, path=str(path), secret=SECRET)["changed"]
    assert not path.exists()


def test_writing_shows_the_secret_nowhere(run_module: Module, path: Path) -> None:
    assert SECRET not in json.dumps(run_module("keeper_secret", check=False, path=str(path), secret=SECRET))


def test_what_is_no_secret_is_refused_without_showing_it(run_module: Module, path: Path) -> None:
    result = run_module("keeper_secret", path=str(path), secret="hush")
    assert result["failed"]
    assert "hush" not in result["msg"]


def test_no_task_of_the_role_logs_it(project: Path) -> None:
    tasks = [task for path in (project / "roles").glob("*/tasks/*.yml") for task in yaml.safe_load(path.read_text())]
    asking = [task for task in tasks if "keeper_secret" in task]
    assert [task["no_log"] for task in asking] == [True, True]
