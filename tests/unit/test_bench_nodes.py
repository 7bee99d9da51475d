"""The modules that work on a node: the resident client, the power sampler, and what is left after a crash."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.conftest import RunModule
from tests.unit.test_energy import row, text

SMI = """#!/bin/sh
case "$*" in
  *memory.used*) echo '0, 38000, 0, 54, 210.1, 1410, 0x0000000000000001, 0' ;;
  *) while :; do {lines} sleep 0.05; done ;;
esac
"""
DOCKER = """#!/bin/sh
echo "$@" >> {log}
case "$1 $2" in
  "container inspect") [ -e {log}.up ] && cat {log}.up || exit 1 ;;
  "run --detach") echo "true ${{3##*=}}" > {log}.up ;;
  "rm --force") rm -f {log}.up ;;
esac
exit 0
"""

Put = Callable[[str, str], Path]


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    """Put a program on the path."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    def program(name: str, content: str) -> Path:
        (folder / name).write_text(content)
        (folder / name).chmod(0o755)
        return folder / name

    return program


# --- the resident client ---


def client(tmp_path: Path, **changed: Any) -> dict[str, Any]:
    endpoints = [{"name": f"vllm-27b-{number}", "node": "n1", "model_path": "/models/m"} for number in range(2)]
    paths = {"program_path": "/usr/local/lib/apollo", "work_path": str(tmp_path / "spool")}
    return {"endpoints": endpoints, "image": "vllm:1", "environment": {"A": "b"}, **paths, **changed}


def test_the_client_starts_once_and_takes_what_its_engines_have(
    run_module: RunModule, tmp_path: Path, put: Put
) -> None:
    log = tmp_path / "docker.log"
    put("docker", DOCKER.format(log=log))
    assert [run_module("bench_client", **client(tmp_path))["changed"] for _ in range(2)] == [True, False]
    (started,) = [line for line in log.read_text().splitlines() if line.startswith("run")]
    for word in ("--volumes-from=vllm-27b-0", "--volumes-from=vllm-27b-1", "--env=A=b", "--tokenizer=/models/m"):
        assert word in started.split()


def test_other_settings_start_another_client_and_old_jobs_go(run_module: RunModule, tmp_path: Path, put: Put) -> None:
    put("docker", DOCKER.format(log=tmp_path / "docker.log"))
    run_module("bench_client", **client(tmp_path))
    (tmp_path / "spool" / "vllm-27b-0").mkdir()
    (tmp_path / "spool" / "power.jsonl").touch()
    assert run_module("bench_client", **client(tmp_path, image="vllm:2"))["changed"]
    assert [path.name for path in (tmp_path / "spool").iterdir()] == ["power.jsonl"]


def test_a_client_that_has_fallen_silent_is_started_anew(run_module: RunModule, tmp_path: Path, put: Put) -> None:
    put("docker", DOCKER.format(log=tmp_path / "docker.log"))
    run_module("bench_client", **client(tmp_path))
    (tmp_path / "spool" / "alive.json").write_text(json.dumps({"at_s": time.monotonic() - 100}))
    assert run_module("bench_client", **client(tmp_path))["changed"]


def test_the_client_stops_once(run_module: RunModule, tmp_path: Path, put: Put) -> None:
    put("docker", DOCKER.format(log=tmp_path / "docker.log"))
    run_module("bench_client", **client(tmp_path))
    assert [run_module("bench_client", state="stopped")["changed"] for _ in range(2)] == [True, False]


def test_check_mode_starts_no_client(run_module: RunModule, tmp_path: Path, put: Put) -> None:
    put("docker", DOCKER.format(log=tmp_path / "docker.log"))
    assert run_module("bench_client", check=True, **client(tmp_path))["changed"]
    assert not (tmp_path / "spool").exists()


def test_a_client_that_docker_refuses_ends_in_one_line(run_module: RunModule, tmp_path: Path, put: Put) -> None:
    put("docker", "#!/bin/sh\n[ $1 = run ] && { echo no such image >&2; exit 125; }\nexit 1\n")
    told = run_module("bench_client", **client(tmp_path))
    assert told["failed"]
    assert "no such image" in told["msg"]


# --- the power sampler and its module ---


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    path = tmp_path / "power.jsonl"
    path.write_text(text())
    return path


WINDOW = {"endpoint": "e", "gpus": [0, 1, 2, 3], "start_s": 105, "end_s": 125}


def test_the_energy_of_a_window_is_told_with_the_idle_power(run_module: RunModule, samples: Path, put: Put) -> None:
    put("chronyc", "#!/bin/sh\necho 'A9FEA97B,ntp,3,1.0,-0.000512,0.1,0.1,1,0,0,0,0,0,Normal'\n")
    told = run_module("node_energy", state="read", file=str(samples), windows=[WINDOW], idle={"e": 320.0})
    (found,) = told["energy"]
    assert (told["changed"], told["source"], found["energy_j"]) == (False, "nvml_counter", pytest.approx(20000))
    assert (found["power_idle_w"], found["clock_offset_s"]) == (320, 0.000512)


def test_without_a_sampler_energy_is_unknown(run_module: RunModule, tmp_path: Path, put: Put) -> None:
    told = run_module("node_energy", state="read", file=str(tmp_path / "none"), windows=[WINDOW])
    assert (told["source"], told["energy"][0]["energy_j"]) == (None, None)


def test_the_sampler_runs_as_a_unit_of_its_own(run_module: RunModule, samples: Path, tmp_path: Path, put: Put) -> None:
    log = tmp_path / "log"
    for name in ("systemd-run", "systemctl"):
        put(name, f'#!/bin/sh\necho "$@" >> {log}\n')
    command = ["ipmitool", "dcmi", "power", "reading"]
    options = {"file": str(samples), "program": "/opt/s.py", "interval_s": 2, "host_power_command": command}
    assert run_module("node_energy", state="started", **options)["changed"]
    assert not samples.exists()
    assert "/opt/s.py" in log.read_text()
    assert log.read_text().splitlines()[-1].endswith("--interval=2.0 -- ipmitool dcmi power reading")
    assert run_module("node_energy", state="stopped", file=str(samples))["changed"]


def test_check_mode_starts_no_sampler(run_module: RunModule, samples: Path) -> None:
    told = run_module("node_energy", check=True, state="started", file=str(samples), program="/opt/s.py")
    assert told["changed"]
    assert samples.exists()


def test_idle_power_is_measured_over_a_while(run_module: RunModule, tmp_path: Path, put: Put) -> None:
    path, now = tmp_path / "power.jsonl", time.time()
    lines: list[dict[str, Any]] = [{"source": "power_samples", "interval_s": 0.1}]
    for number in range(40):
        gpus = {"0": row(80, 1, counter=False)}
        lines.append({"t": now - 1 + number / 10, "m": number / 10, "gpus": gpus, "host_w": None})
    path.write_text("\n".join(map(json.dumps, lines)))
    told = run_module("node_energy", state="idle", file=str(path), idle_s=0.5, windows=[{"endpoint": "e", "gpus": [0]}])
    assert told["energy"][0]["power_mean_w"] == pytest.approx(80)


def test_engines_that_were_idle_already_need_not_be_waited_for(run_module: RunModule, tmp_path: Path, put: Put) -> None:
    path, now = tmp_path / "power.jsonl", time.time()
    lines: list[dict[str, Any]] = [{"source": "power_samples", "interval_s": 0.1}]
    for number in range(300):
        gpus = {"0": row(80, 1, counter=False)}
        lines.append({"t": now - 20 + number / 10, "m": number / 10, "gpus": gpus, "host_w": None})
    path.write_text("\n".join(map(json.dumps, lines)))
    asked = {"state": "idle", "file": str(path), "windows": [{"endpoint": "e", "gpus": [0]}], "idle_already": True}
    told = run_module("node_energy", **asked, idle_s=15)
    assert told["waited_s"] < 5
    assert (told["energy"][0]["window_s"], told["energy"][0]["power_mean_w"]) == (pytest.approx(15, abs=1), 80)
    assert run_module("node_energy", **asked, idle_s=20.5)["waited_s"] > 0.1


@pytest.fixture
def sampler(project: Path, tmp_path: Path) -> Iterator[Callable[..., list[dict[str, Any]]]]:
    """Run the sampler's program for a moment and give its lines."""
    processes: list[subprocess.Popen[bytes]] = []

    def run(wanted: int, *more: str) -> list[dict[str, Any]]:
        path = tmp_path / "sampled.jsonl"
        command = [sys.executable, str(project / "roles/bench/files/power_sampler.py"), f"--file={path}"]
        processes.append(subprocess.Popen([*command, "--interval=0.05", *more], stderr=subprocess.DEVNULL))
        for _ in range(100):
            lines = path.read_text().splitlines() if path.exists() else []
            if len(lines) > wanted or processes[-1].poll() is not None:
                break
            time.sleep(0.05)
        return [json.loads(line) for line in path.read_text().splitlines()]

    yield run
    for process in processes:
        process.kill()
        process.wait()


class Nvml:
    """The driver's library, as far as the sampler calls it; one function may not be supported."""

    values: ClassVar = {
        **{"nvmlDeviceGetCount_v2": 2, "nvmlDeviceGetTotalEnergyConsumption": 123_456_789},
        **{"nvmlDeviceGetPowerUsage": 212_400, "nvmlDeviceGetTemperature": 54, "nvmlDeviceGetClockInfo": 1410},
        "nvmlDeviceGetCurrentClocksThrottleReasons": 4,
    }

    def __init__(self, unsupported: str = "") -> None:
        self.unsupported = unsupported

    def __getattr__(self, function: str) -> Callable[..., int]:
        def call(*arguments: Any) -> int:
            if function in self.values and function != self.unsupported:
                arguments[-1]._obj.value = self.values[function]
            return 3 if function == self.unsupported else 0

        return call


@pytest.mark.parametrize(("unsupported", "energy"), [("", 123456.789), ("nvmlDeviceGetTotalEnergyConsumption", None)])
def test_the_drivers_library_is_the_first_source(
    project: Path, monkeypatch: pytest.MonkeyPatch, unsupported: str, energy: float | None
) -> None:
    spec = importlib.util.spec_from_file_location("power_sampler", project / "roles/bench/files/power_sampler.py")
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    monkeypatch.setattr(program.ctypes, "CDLL", lambda name: Nvml(unsupported))
    source, looks = next(program.sources(0.01))
    row_of_a_gpu = [energy, 212.4, 54.0, 1410.0, 4.0]
    assert source == "nvml_counter"
    assert next(looks()) == {"0": row_of_a_gpu, "1": row_of_a_gpu}


def test_nvidia_smi_is_the_second_source(put: Put, sampler: Callable[..., list[dict[str, Any]]]) -> None:
    rows = "".join(f"echo '{gpu}, 212.40, 54, 1410, 0x0000000000000004';" for gpu in range(2))
    put("nvidia-smi", SMI.format(lines=rows))
    put("bmc", "#!/bin/sh\necho '    Instantaneous power reading:   1850 Watts'\n")
    head, *lines = sampler(8, "--", "bmc")
    assert head["source"] == "power_samples"
    assert lines[0]["gpus"] == {"0": [None, 212.4, 54.0, 1410.0, 4.0], "1": [None, 212.4, 54.0, 1410.0, 4.0]}
    assert lines[-1]["host_w"] == 1850


def test_a_gpu_that_tells_no_power_is_null(put: Put, sampler: Callable[..., list[dict[str, Any]]]) -> None:
    put("nvidia-smi", SMI.format(lines="echo '0, [N/A], 54, [N/A], [N/A]';"))
    assert sampler(2)[1]["gpus"] == {"0": [None, None, 54.0, None, None]}


def test_without_any_source_the_sampler_says_so_and_ends(
    put: Put, sampler: Callable[..., list[dict[str, Any]]]
) -> None:
    put("nvidia-smi", "#!/bin/sh\necho NVIDIA-SMI has failed\n")
    assert sampler(9)[-1]["source"] is None


# --- what is left after a crash ---


def test_the_scene_of_a_crash_is_told(run_module: RunModule, put: Put) -> None:
    put("journalctl", '#!/bin/sh\ncase "$*" in *dmesg*) echo NVRM: Xid 31 ;; *) echo CUDA error ;; esac\n')
    put("nvidia-smi", SMI)
    told = run_module("crash_scene_info", node="n1", engines=["vllm-27b-0"])
    assert not told["changed"]
    assert told["scene"]["engines"] == {"vllm-27b-0": ["CUDA error"]}
    assert told["scene"]["kernel"] == ["NVRM: Xid 31"]
    assert told["scene"]["gpus"][0]["memory.used"] == "38000"


def test_a_scene_without_tools_is_empty(run_module: RunModule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crash_scene_info.lines_of", lambda *_: [])
    assert run_module("crash_scene_info", check=True, node="n1", engines=["e"])["scene"]["gpus"] == []
