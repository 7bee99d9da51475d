"""The module model_fit: a node's models and GPUs in, a table and one line for each reason out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import RunModule
from tests.support import models

SMI = "#!/bin/sh\nfor gpu in 0 1 2 3; do echo '{name}, {memory}, {capability}'; done\n"


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A node with four A100 and the dense model under models/."""
    install(tmp_path, monkeypatch, models.A100.name, 40960)
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(models.config(models.DENSE)))
    return tmp_path


def install(root: Path, monkeypatch: pytest.MonkeyPatch, name: str, memory: int, capability: str = "8.0") -> None:
    program = root / "bin" / "nvidia-smi"
    program.parent.mkdir(exist_ok=True)
    program.write_text(SMI.format(name=name, memory=memory, capability=capability))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")


def engine(node: Path, settings: dict[str, Any] | None = None, folder: str = "models") -> dict[str, Any]:
    told = {**models.USUAL, "tensor-parallel-size": 4, **(settings or {})}
    return {"name": "vllm-p-0", "gpus": [0, 1, 2, 3], "arguments": [str(node / folder)], "settings": told}


@pytest.mark.parametrize("check", [False, True])
def test_what_fits_comes_with_its_figures(run_module: RunModule, node: Path, check: bool) -> None:
    result = run_module("model_fit", check=check, engines=[engine(node)])
    assert (result["failed"], result["changed"], result["unknown"]) == (False, False, [])
    assert result["engines"]["vllm-p-0"]["fits"] is True
    assert result["engines"]["vllm-p-0"]["weights_gib"] == pytest.approx(12.5, abs=0.1)


def test_what_does_not_fit_fails_with_the_whole_table(run_module: RunModule, node: Path) -> None:
    broken = engine(node, {"kv-cache-dtype": "fp8", "max-model-len": 300000})
    result = run_module("model_fit", engines=[broken])
    assert result["failed"]
    assert result["msg"].startswith("vllm-p-0: fp8-kv-cache: ")
    assert "; vllm-p-0: context: " in result["msg"]
    assert len(result["engines"]["vllm-p-0"]["reasons"]) == 2


def test_an_accepted_risk_is_no_reason(run_module: RunModule, node: Path) -> None:
    risky = engine(node, {"no-enable-prefix-caching": False})
    assert "prefix-caching-on-hybrid" in run_module("model_fit", engines=[risky])["msg"]
    accepted = {**risky, "accepts": ["prefix-caching-on-hybrid"]}
    assert not run_module("model_fit", engines=[accepted])["failed"]


@pytest.mark.parametrize("require", [True, False])
def test_a_model_that_is_not_there_fails_only_where_it_is_required(
    run_module: RunModule, node: Path, require: bool
) -> None:
    result = run_module("model_fit", engines=[engine(node, folder="nothing")], require=require)
    assert result["failed"] is require
    assert result["unknown"][0].endswith("nothing/config.json cannot be read: run the stage fetch first")


def test_a_bare_node_is_not_judged(run_module: RunModule, node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(node / "nowhere"))
    result = run_module("model_fit", engines=[engine(node)], require=False)
    assert (result["failed"], result["engines"]) == (False, {})
    assert run_module("model_fit", engines=[engine(node)])["failed"]
    assert not run_module("model_fit", engines=[])["failed"]


def test_a_gpu_that_does_not_answer_is_named(run_module: RunModule, node: Path) -> None:
    result = run_module("model_fit", engines=[{**engine(node), "gpus": [4]}])
    assert "gpu: wants GPU 4, 4 answer" in result["msg"]


def test_less_memory_than_the_data_sheet_says_counts(
    run_module: RunModule, node: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(node, monkeypatch, models.A100.name, 19968)
    assert "memory: " not in run_module("model_fit", engines=[engine(node)]).get("msg", "")
    install(node, monkeypatch, models.A100.name, 9856)
    assert "vllm-p-0: memory: " in run_module("model_fit", engines=[engine(node)])["msg"]


def test_a_gpu_is_judged_by_what_it_says_of_itself(
    run_module: RunModule, node: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_fp8 = engine(node, {"kv-cache-dtype": "fp8"})
    install(node, monkeypatch, "Some GPU, rev. A", 81920, "9.0")
    assert not run_module("model_fit", engines=[in_fp8])["failed"]
    install(node, monkeypatch, "Some GPU, rev. A", 81920, "8.0")
    assert "fp8-kv-cache" in run_module("model_fit", engines=[in_fp8])["msg"]
    install(node, monkeypatch, "Some GPU, rev. A", 81920, "[N/A]")
    assert "name, MiB and compute capability wanted" in run_module("model_fit", engines=[in_fp8])["msg"]


def test_a_config_that_says_too_little_is_named(run_module: RunModule, node: Path) -> None:
    (node / "models" / "config.json").write_text("{}")
    assert "config.json has no num_hidden_layers" in run_module("model_fit", engines=[engine(node)])["msg"]
    (node / "models" / "config.json").write_text("<html>")
    assert "config.json is no JSON" in run_module("model_fit", engines=[engine(node)])["msg"]


def test_the_weights_on_the_disk_are_counted(run_module: RunModule, node: Path) -> None:
    small = run_module("model_fit", engines=[engine(node)])["engines"]["vllm-p-0"]["weights_gib"]
    with (node / "models" / "model.safetensors").open("wb") as file:
        file.truncate(100_000_000_000)
    large = run_module("model_fit", engines=[engine(node)])["engines"]["vllm-p-0"]["weights_gib"]
    assert large > small + 5
