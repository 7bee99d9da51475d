"""A role's own programs on a node: written once, whole, with the modes that they need."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Module = Callable[..., dict[str, Any]]
FILES = {"wait": "#!/usr/bin/python3\nimport parser\n", "parser.py": "LIMIT = 1\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "lib" / "apollo"


@pytest.fixture
def install(run_module: Module, folder: Path) -> Module:
    def run(files: dict[str, str] = FILES, **how: Any) -> dict[str, Any]:
        return run_module("node_programs", path=str(folder), files=files, executables=["wait"], **how)

    return run


def modes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in [folder, *folder.iterdir()]}


def test_programs_are_installed_once(install: Module, folder: Path) -> None:
    first, second = install(), install()
    assert (first["changed"], first["written"]) == (True, ["wait", "parser.py"])
    assert (second["changed"], second["written"], second["diff"]) == (False, [], [])
    assert {name: (folder / name).read_text() for name in FILES} == FILES
    assert modes(folder) == {"apollo": 0o755, "wait": 0o755, "parser.py": 0o644}


def test_check_mode_tells_and_writes_nothing(install: Module, folder: Path) -> None:
    told = install(check=True)
    assert (told["changed"], told["written"]) == (True, ["wait", "parser.py"])
    assert not folder.parent.exists()


def test_only_what_differs_is_written_and_shown(install: Module, folder: Path) -> None:
    install()
    (folder / "other.py").write_text("stays\n")
    told = install({**FILES, "parser.py": "LIMIT = 2\n"})
    assert told["written"] == ["parser.py"]
    assert [(part["before"], part["after"]) for part in told["diff"]] == [("LIMIT = 1\n", "LIMIT = 2\n")]
    assert (folder / "other.py").read_text() == "stays\n"


@pytest.mark.parametrize(("name", "mode"), [("wait", 0o644), ("parser.py", 0o666), ("", 0o700)])
def test_wrong_mode_is_set_right(install: Module, folder: Path, name: str, mode: int) -> None:
    install()
    (folder / name).chmod(mode)
    told = install()
    assert (told["changed"], told["written"]) == (True, [])
    assert modes(folder) == {"apollo": 0o755, "wait": 0o755, "parser.py": 0o644}


def test_program_that_is_not_among_the_files_is_refused(run_module: Module, folder: Path) -> None:
    told = run_module("node_programs", path=str(folder), files=FILES, executables=["waits"])
    assert told["failed"]
    assert told["msg"] == "executables has waits, names in files expected: add or correct them"
    assert not folder.exists()
