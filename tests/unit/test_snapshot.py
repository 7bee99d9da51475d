"""A model's files are complete, or it is said what is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.apollo import snapshot

Module = Callable[..., dict[str, Any]]


def shard(path: Path, data: int = 16, cut: int = 0) -> None:
    """Write a safetensors file; ``cut`` bytes are missing at its end."""
    header = json.dumps({"__metadata__": {}, "w": {"dtype": "U8", "shape": [data], "data_offsets": [0, data]}}).encode()
    whole = len(header).to_bytes(8, "little") + header + bytes(data)
    path.write_bytes(whole[: len(whole) - cut])


def model(directory: Path, shards: int = 2) -> Path:
    """Write a small but complete model."""
    directory.mkdir(parents=True)
    names = [f"model-{number:05}.safetensors" for number in range(shards)]
    for name in names:
        shard(directory / name)
    (directory / "config.json").write_text("{}")
    (directory / "tokenizer.json").write_text("{}")
    index = {"weight_map": {f"w{number}": name for number, name in enumerate(names)}}
    (directory / snapshot.INDEX).write_text(json.dumps(index))
    return directory


def stand_in(directory: Path) -> Path:
    directory.mkdir(parents=True)
    (directory / "config.json").write_text("{}")
    (directory / "tokenizer.json").write_text("{}")
    return directory


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("config.json", True),
        ("sub/x.json", True),
        (".complete", False),
        (".cache/huggingface/x", False),
        ("a.safetensors.incomplete", False),
        ("a.partial", False),
    ],
)
def test_hidden_and_unfinished_files_are_no_part(name: str, part: bool) -> None:
    assert snapshot.is_part(name) is part


def test_model_without_weights_needs_config_and_tokenizer() -> None:
    files = {"config.json": snapshot.File(2, 0), "tokenizer.json": snapshot.File(2, 0)}
    assert snapshot.faults("m", files, None, weights=False) == []
    assert snapshot.faults("m", files, None, weights=True) == ["m/model.safetensors is missing"]
    assert snapshot.faults("m", {}, None, weights=False)[0] == "m/config.json is missing"


def test_many_faults_are_told_in_one_line() -> None:
    assert snapshot.summary(["a", "b", "c", "d", "e"]) == "a; b; c and 2 more"


def test_space_counts_what_stays_reserved() -> None:
    fault = snapshot.space_fault("/m", [snapshot.File(30_000_000_000, 0)], 40_000_000_000, 20)
    assert fault.startswith("/m needs 30.0 GB more, 40.0 GB are free and 20.0 GB stay reserved: ")
    assert snapshot.space_fault("/m", [snapshot.File(20_000_000_000, 0)], 40_000_000_000, 20) == ""
    assert snapshot.space_fault("/m", [], 0, 20) == ""


def test_complete_model_is_verified_once_and_then_trusted(run_module: Module, tmp_path: Path) -> None:
    path = model(tmp_path / "m")
    first = run_module("model_snapshot", path=str(path))
    second = run_module("model_snapshot", path=str(path))
    assert (first["changed"], first["verified"]) == (True, True)
    assert (second["changed"], second["verified"]) == (False, False)
    assert json.loads((path / ".complete").read_text())["files"]["model-00000.safetensors"]["size"] > 16


def test_check_mode_writes_nothing(run_module: Module, tmp_path: Path) -> None:
    path = model(tmp_path / "m")
    assert run_module("model_snapshot", check=True, path=str(path))["changed"]
    assert not (path / ".complete").exists()


def test_cut_off_shard_is_named_with_both_sizes(run_module: Module, tmp_path: Path) -> None:
    path = model(tmp_path / "m")
    whole = (path / "model-00001.safetensors").stat().st_size
    shard(path / "model-00001.safetensors", cut=3)
    result = run_module("model_snapshot", path=str(path))
    assert result["failed"]
    assert f"model-00001.safetensors has {whole - 3} bytes, {whole} wanted by its own header" in result["msg"]
    assert "\n" not in result["msg"]


def test_missing_shard_is_named(run_module: Module, tmp_path: Path) -> None:
    path = model(tmp_path / "m")
    (path / "model-00000.safetensors").unlink()
    assert "model-00000.safetensors is missing" in run_module("model_snapshot", path=str(path))["msg"]


def test_shard_that_is_no_safetensors_file_is_found(run_module: Module, tmp_path: Path) -> None:
    path = model(tmp_path / "m")
    (path / "model-00000.safetensors").write_text("<html>not found</html>")
    assert run_module("model_snapshot", path=str(path))["failed"]


def test_change_after_the_manifest_is_noticed(run_module: Module, tmp_path: Path) -> None:
    path = model(tmp_path / "m")
    run_module("model_snapshot", path=str(path))
    shard(path / "model-00000.safetensors", cut=1)
    assert run_module("model_snapshot", path=str(path))["failed"]


def test_other_revision_is_verified_anew(run_module: Module, tmp_path: Path) -> None:
    path = model(tmp_path / "m")
    run_module("model_snapshot", path=str(path), revision="a")
    assert run_module("model_snapshot", path=str(path), revision="b")["verified"]


def test_model_is_copied_once(run_module: Module, tmp_path: Path) -> None:
    source, target = model(tmp_path / "source"), tmp_path / "store" / "m"
    options = {"path": str(target), "source": str(source), "reserve_gb": 0}
    planned = run_module("model_snapshot", check=True, **options)
    assert planned["changed"]
    assert not target.exists()
    first, second = run_module("model_snapshot", **options), run_module("model_snapshot", **options)
    assert first["copied"] == planned["copied"]
    assert len(first["copied"]) == 5
    assert (second["changed"], second["copied"]) == (False, [])


def test_disk_that_is_full_in_the_middle_is_one_line_and_the_next_run_goes_on(
    run_module: Module, tmp_path: Path
) -> None:
    source, target = model(tmp_path / "source"), tmp_path / "m"
    target.mkdir()
    full = target / "model-00001.safetensors.partial"
    full.symlink_to("/dev/full")
    options = {"path": str(target), "source": str(source), "reserve_gb": 0}
    told = run_module("model_snapshot", **options)
    assert told["failed"]
    assert told["msg"].startswith(f"{target}: No space left on device: make room")
    full.unlink()
    assert 0 < len(run_module("model_snapshot", **options)["copied"]) < 5


def test_interrupted_copy_is_finished(run_module: Module, tmp_path: Path) -> None:
    source, target = model(tmp_path / "source"), tmp_path / "m"
    target.mkdir()
    (target / "model-00000.safetensors.partial").write_bytes(b"half")
    result = run_module("model_snapshot", path=str(target), source=str(source), reserve_gb=0)
    assert not result["failed"]
    assert not list(target.glob("*.partial"))


def test_incomplete_source_is_refused_before_anything_is_copied(run_module: Module, tmp_path: Path) -> None:
    source, target = model(tmp_path / "source"), tmp_path / "m"
    shard(source / "model-00001.safetensors", cut=1)
    result = run_module("model_snapshot", path=str(target), source=str(source), reserve_gb=0)
    assert "complete the source" in result["msg"]
    assert not target.exists()


def test_full_disk_is_refused_before_anything_is_copied(run_module: Module, tmp_path: Path) -> None:
    source, target = model(tmp_path / "source"), tmp_path / "m"
    result = run_module("model_snapshot", path=str(target), source=str(source), reserve_gb=10**9)
    assert "stay reserved" in result["msg"]
    assert not target.exists()


def test_missing_model_without_a_source_says_what_to_do(run_module: Module, tmp_path: Path) -> None:
    result = run_module("model_snapshot", check=True, path=str(tmp_path / "m"))
    assert "put the weights there or set model_store_source" in result["msg"]


def test_stand_in_is_complete_without_weights(run_module: Module, tmp_path: Path) -> None:
    path = stand_in(tmp_path / "m")
    assert not run_module("model_snapshot", path=str(path), weights=False)["failed"]
    assert run_module("model_snapshot", path=str(path), revision="x")["failed"]


INDEX = json.dumps({"weight_map": {"w": "a.safetensors"}})
MANIFEST = snapshot.manifest("", "", {"config.json": snapshot.File(2, 0), "a.safetensors": snapshot.File(9, 0)})


@pytest.mark.parametrize(
    ("told", "index", "sizes", "gone"),
    [
        (MANIFEST, INDEX, {"config.json": 2, "a.safetensors": 9}, ""),
        (MANIFEST, INDEX, {"config.json": 2}, "a.safetensors"),
        (MANIFEST, INDEX, {"config.json": 2, "a.safetensors": 8}, "a.safetensors"),
        (MANIFEST, None, {}, "a.safetensors"),
        ({}, INDEX, {"config.json": 2}, "a.safetensors"),
        ({}, INDEX, {"config.json": 2, "a.safetensors": 8}, ""),
        ({}, None, {}, "config.json"),
    ],
)
def test_file_that_a_model_had_and_lost_is_named(
    told: dict[str, Any], index: str | None, sizes: dict[str, int], gone: str
) -> None:
    assert snapshot.gone(told, index, sizes) == gone
