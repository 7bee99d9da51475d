"""What the roles render passes the checkers of the programs that will read it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.playbook import run_playbook

KEY = "a-key-of-a-test-of-32-characters"
PLANS = ("27b", "397b")
SYSTEM_UNITS = Path("/usr/lib/systemd/system")


def need(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed here: bin/test installs it as root on Debian or Ubuntu")


def said(*command: str | Path) -> str:
    """What a checker has to say; nothing, when it is content."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr + (f"exit code {done.returncode}" if done.returncode else "")


@pytest.fixture(scope="module", params=PLANS)
def rendered(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the files of one plan, as for the first node of inventory/apollo."""
    folder = tmp_path_factory.mktemp(f"rendered-{request.param}")
    variables = {"out": str(folder), "plan_name": request.param, "gateway_keys": {"somebody": KEY}}
    run = run_playbook(
        "tests/support/render.yml", f"--extra-vars={json.dumps(variables)}", inventory="inventory/apollo"
    )
    assert run.code == 0, run.output
    return folder


def test_haproxy_accepts_its_configuration(rendered: Path, tmp_path: Path) -> None:
    need("haproxy")
    text = (rendered / "haproxy.cfg").read_text().replace("/etc/haproxy/keys.map", str(rendered / "keys.map"))
    here = re.sub(r"^    (?:user|group|chroot) .*\n", "", text, flags=re.MULTILINE)
    (tmp_path / "haproxy.cfg").write_text(here)
    assert said("haproxy", "-c", "-q", "-f", tmp_path / "haproxy.cfg") == ""


def test_netplan_accepts_the_fabric(rendered: Path, tmp_path: Path) -> None:
    need("netplan")
    file = tmp_path / "etc" / "netplan" / "60-fabric.yaml"
    file.parent.mkdir(parents=True)
    shutil.copy(rendered / "60-fabric.yaml", file)
    file.chmod(0o600)
    assert said("netplan", "generate", "--root-dir", tmp_path) == ""
    assert "Address=10.77.0.1/30" in next(tmp_path.rglob("*.network")).read_text()


def test_systemd_accepts_the_units(rendered: Path, tmp_path: Path) -> None:
    need("systemd-analyze")
    units = lay_out(rendered, tmp_path)
    assert {"gpu-ready.service"} < set(units)
    assert said("systemd-analyze", "verify", "--man=no", f"--root={tmp_path}", *units) == ""


def test_systemd_refuses_a_misspelt_key(rendered: Path, tmp_path: Path) -> None:
    need("systemd-analyze")
    units = lay_out(rendered, tmp_path)
    with (tmp_path / "etc/systemd/system/gpu-ready.service").open("a") as unit:
        unit.write("WantedBye=multi-user.target\n")
    assert "WantedBye" in said("systemd-analyze", "verify", "--man=no", f"--root={tmp_path}", *units)


def lay_out(rendered: Path, root: Path) -> list[str]:
    """A tree as on a node: the rendered units, the system's own, and a stand-in for each program they start."""
    target = root / "etc" / "systemd" / "system"
    target.mkdir(parents=True)
    shutil.copytree(SYSTEM_UNITS, root / "usr/lib/systemd/system", symlinks=True)
    for foreign in ("docker", "nvidia-persistenced", "opensm@"):
        (target / f"{foreign}.service").write_text("[Service]\nType=exec\nExecStart=/usr/bin/true\n")
    for drop_in in rendered.glob("*.service.conf"):
        (target / f"{drop_in.stem}.d").mkdir()
        shutil.copy(drop_in, target / f"{drop_in.stem}.d" / "10-apollo.conf")
    for unit in rendered.glob("*.service"):
        shutil.copy(unit, target)
    for program in re.findall(
        r"^Exec\w+=-?(/\S+)", "".join(path.read_text() for path in rendered.iterdir()), re.MULTILINE
    ):
        stand_in = root / program.lstrip("/")
        stand_in.parent.mkdir(parents=True, exist_ok=True)
        stand_in.write_text("#!/bin/sh\n")
        stand_in.chmod(0o755)
    return [unit.name for unit in rendered.glob("*.service")]
