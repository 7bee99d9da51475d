"""Images that nothing runs from stay, with a small program in place of docker."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Module = Callable[..., dict[str, Any]]
DOCKER = """#!/usr/bin/python3
import json, pathlib, sys
state = pathlib.Path(__file__).with_name("holders.json")
holders, words = json.loads(state.read_text()), sys.argv[1:]
images = {"new": "sha256:" + "1" * 64, "old": "sha256:" + "2" * 64}
if words[0] == "ps":
    assert words[1:] == ["--all", "--quiet", "--filter=label=apollo.keeps"]
    print(*holders, sep="\\n")
elif words[0] == "inspect":
    print(json.dumps([{"Name": "/" + name, "Image": holders[name]} for name in words[1:]]))
elif words[0] == "image":
    if words[-1] not in images:
        sys.exit(1)
    print(json.dumps(images[words[-1]]))
elif words[0] == "create":
    holders[words[1].partition("=")[2]] = words[-1]
elif words[0] == "rm":
    del holders[words[1]]
state.write_text(json.dumps(holders))
"""


@pytest.fixture
def holders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A node whose docker has two images; gives the file with the containers that keep one."""
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "docker").write_text(DOCKER)
    (tmp_path / "docker").chmod(0o755)
    (tmp_path / "holders.json").write_text("{}")
    return tmp_path / "holders.json"


def kept(holders: Path) -> list[str]:
    return [image_id[7] for image_id in json.loads(holders.read_text()).values()]


def test_each_image_is_kept_once(run_module: Module, holders: Path) -> None:
    first, second = (run_module("image_keep", images=["new", "old", "new"]) for _ in range(2))
    assert (first["changed"], second["changed"]) == (True, False)
    assert kept(holders) == ["1", "2"]


def test_image_that_is_no_longer_named_is_let_go(run_module: Module, holders: Path) -> None:
    run_module("image_keep", images=["new", "old"])
    assert run_module("image_keep", images=["new"])["changed"]
    assert kept(holders) == ["1"]


def test_image_that_is_not_here_is_told(run_module: Module, holders: Path) -> None:
    result = run_module("image_keep", images=["gone", "new"])
    assert (result["failed"], result["missing"], kept(holders)) == (False, ["gone"], ["1"])


def test_check_mode_only_says_what_it_would_do(run_module: Module, holders: Path) -> None:
    result = run_module("image_keep", check=True, diff=True, images=["new"])
    assert (result["changed"], result["diff"]["before"], len(result["diff"]["after"])) == (True, [], 1)
    assert kept(holders) == []


def test_bare_node_is_no_failure(run_module: Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert run_module("image_keep", images=["new"])["missing"] == ["new"]
