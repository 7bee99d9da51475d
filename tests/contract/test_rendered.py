"""What the roles render passes the checkers of the programs that will read it."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from ansible.module_utils.apollo import packages

from tests.contract import layouts
from tests.support import subnet
from tests.support.playbook import run_playbook

KEY = "a-key-of-a-test-of-32-characters"
PLANS = ("27b", "397b")
SYSTEM_UNITS = Path("/usr/lib/systemd/system")
RUNTIME_VARIABLES = Path(__file__).parents[2] / "roles/container_runtime/vars/main.yml"


def need(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed here: bin/test installs it as root on Debian or Ubuntu")


def said(*command: str | Path) -> str:
    """What a checker has to say; nothing, when it is content."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr + (f"exit code {done.returncode}" if done.returncode else "")


def render(folder: Path, **variables: object) -> Path:
    """The folder with the files as for the first node of inventory/apollo."""
    given = {"out": str(folder), "gateway_keys": {"somebody": KEY}, **variables}
    run = run_playbook("tests/support/render.yml", f"--extra-vars={json.dumps(given)}", inventory="inventory/apollo")
    assert run.code == 0, run.output
    return folder


@pytest.fixture(scope="module", params=PLANS)
def rendered(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of one plan."""
    return render(tmp_path_factory.mktemp(f"rendered-{request.param}"), plan_name=request.param)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The gateway's files for two models on eight nodes."""
    layout = {key: layouts.larger("mixed-8", 8)[key] for key in ("plan", "endpoints", "gateway")}
    return render(tmp_path_factory.mktemp("rendered-mixed"), gateway_layout=layout)


def haproxy_says(rendered: Path, folder: Path) -> str:
    """What the gateway's own checker says of the rendered configuration."""
    need("haproxy")
    text = (rendered / "haproxy.cfg").read_text().replace("/etc/haproxy/keys.map", str(rendered / "keys.map"))
    here = re.sub(r"^    (?:user|group|chroot) .*\n", "", text, flags=re.MULTILINE)
    (folder / "haproxy.cfg").write_text(here)
    return said("haproxy", "-c", "-q", "-f", folder / "haproxy.cfg")


def test_haproxy_accepts_its_configuration(rendered: Path, tmp_path: Path) -> None:
    assert haproxy_says(rendered, tmp_path) == ""


def test_haproxy_accepts_a_plan_of_several_models(mixed: Path, tmp_path: Path) -> None:
    assert haproxy_says(mixed, tmp_path) == ""


def test_each_model_has_its_own_endpoints_and_caps_in_the_gateway(mixed: Path) -> None:
    parts = re.split(r"^backend engines-", (mixed / "haproxy.cfg").read_text(), flags=re.MULTILINE)[1:]
    server = re.compile(r"^    server (\S+) .* maxconn (\d+)$", re.MULTILINE)
    servers = {part.split()[0]: server.findall(part) for part in parts}
    assert servers == {
        "qwen3.5-397b": [("vllm-mixed-8-0", "40"), ("vllm-mixed-8-1", "40")],
        "qwen3.6-27b": [(f"vllm-mixed-8-{number}", "125") for number in (2, 3, 4, 5)],
    }


def test_one_model_asks_nobody_to_name_it(rendered: Path) -> None:
    assert "req.body" not in (rendered / "haproxy.cfg").read_text()


def test_netplan_accepts_the_fabric(rendered: Path, tmp_path: Path) -> None:
    need("netplan")
    file = tmp_path / "etc" / "netplan" / "60-fabric.yaml"
    file.parent.mkdir(parents=True)
    shutil.copy(rendered / "60-fabric.yaml", file)
    file.chmod(0o600)
    assert said("netplan", "generate", "--root-dir", tmp_path) == ""
    assert "Address=10.77.0.1/30" in next(tmp_path.rglob("*.network")).read_text()


def test_docker_accepts_its_configuration(rendered: Path, tmp_path: Path) -> None:
    settings = json.loads((rendered / "daemon.json").read_text())
    assert settings["runtimes"]["nvidia"]["path"] == "nvidia-container-runtime"
    assert "live-restore" not in settings
    file = tmp_path / "daemon.json"
    file.write_text(json.dumps({**settings, "data-root": str(tmp_path / "data")}))
    assert not check_by_dockerd(file).returncode


def test_docker_gives_its_containers_longer_than_the_engines_take_to_stop(rendered: Path) -> None:
    stop = re.compile(r"^TimeoutStopSec=(\d+)$", re.MULTILINE)
    engines = [stop.findall(unit.read_text()) for unit in rendered.glob("vllm-*.service")]
    daemon = stop.findall((rendered / "docker.service.conf").read_text())
    containers = json.loads((rendered / "daemon.json").read_text())["shutdown-timeout"]
    assert engines
    assert max(int(limit) for limits in engines for limit in limits) <= containers < int(daemon[0])


def test_docker_refuses_a_misspelt_key(rendered: Path, tmp_path: Path) -> None:
    file = tmp_path / "daemon.json"
    file.write_text((rendered / "daemon.json").read_text().replace('"log-driver"', '"log-drivers"'))
    done = check_by_dockerd(file)
    assert done.returncode
    assert "log-drivers" in done.stdout + done.stderr


def check_by_dockerd(file: Path) -> subprocess.CompletedProcess[str]:
    """Check as the role does: by an option of dockerd from version 23 on, before that by its start as nobody."""
    need("dockerd")
    command = "dockerd --validate --config-file=%s"
    if "--validate" not in said("dockerd", "--help"):
        if os.geteuid():
            pytest.skip("a dockerd older than 23 is asked as nobody, and only root can become nobody")
        command = yaml.safe_load(RUNTIME_VARIABLES.read_text())["__container_runtime_validate_old"]
    words = shlex.split(command.replace("%s", str(file)))
    return subprocess.run(words, capture_output=True, text=True, check=False)


OFFERS = {
    "Ubuntu": {"nvidia-utils-580-server": "580.1", "nvidia-container-toolkit": "1.19.1-1"},
    "Somebody": {"nvidia-utils-580-server": "580.9", "nvidia-container-toolkit": "1.20.0-1"},
}


PLACES = {
    "Dir::Etc::sourcelist": "sources.list",
    "Dir::Etc::sourceparts": "none",
    "Dir::Etc::preferencesparts": "preferences",
    "Dir::Etc::preferences": "none",
    "Dir::State::lists": "lists",
    "Dir::State::status": "status",
    "Dir::Cache": "cache",
}


def publish(tmp_path: Path) -> None:
    """Lay out two sources of different origin, and a computer that has nothing installed."""
    for folder in ("preferences", "lists/partial", "cache/archives/partial"):
        (tmp_path / folder).mkdir(parents=True)
    for origin, offers in OFFERS.items():
        rows = [f"Package: {name}\nVersion: {version}\nArchitecture: all\n" for name, version in offers.items()]
        (tmp_path / origin).mkdir()
        (tmp_path / origin / "Packages").write_text("\n".join(rows))
        (tmp_path / origin / "Release").write_text(f"Origin: {origin}\nSuite: x\n")
    sources = [f"deb [trusted=yes] file:{tmp_path / origin} ./\n" for origin in OFFERS]
    (tmp_path / "sources.list").write_text("".join(sources))
    (tmp_path / "status").touch()


def candidates(tmp_path: Path, *preferences: Path) -> dict[str, str]:
    """What apt would install from both sources, under these preferences."""
    publish(tmp_path)
    for file in preferences:
        shutil.copy(file, tmp_path / "preferences")
    options = ["-o=APT::Sandbox::User=root", *(f"-o={key}={tmp_path / place}" for key, place in PLACES.items())]
    subprocess.run(["apt-get", *options, "update"], check=True, capture_output=True)
    text = said("apt-cache", *options, "policy", *OFFERS["Ubuntu"])
    return {name: policy.candidate for name, policy in packages.parse_policies(text).items()}


def test_apt_takes_the_driver_from_its_origin_and_the_toolkit_at_its_version(rendered: Path, tmp_path: Path) -> None:
    need("apt-get")
    assert candidates(tmp_path, *rendered.glob("*.pref")) == OFFERS["Ubuntu"]


def test_apt_would_take_the_newest_of_anybody_without_the_preferences(tmp_path: Path) -> None:
    need("apt-get")
    assert candidates(tmp_path) == OFFERS["Somebody"]


def test_apt_reads_the_exclusions_of_unattended_upgrades(rendered: Path) -> None:
    need("apt-config")
    dump = said("apt-config", f"--config-file={rendered / '52apollo'}", "dump")
    patterns = re.findall(r'^Unattended-Upgrade::Package-Blacklist:: "(.*)";$', dump, re.MULTILINE)
    names = [
        "nvidia-utils-580-server",
        "libnvidia-compute-580-server",
        "linux-image-generic",
        "docker-ce",
        "containerd.io",
    ]
    assert not [name for name in names if not any(re.match(pattern, name) for pattern in patterns)]
    assert not any(
        re.match(pattern, name) for pattern in patterns for name in ("openssl", "linux-firmware", "openssh-server")
    )


def test_the_shell_reads_the_subnet_managers_port(rendered: Path) -> None:
    assert said("sh", "-euc", f'. {rendered / "opensm.default"}; echo "$PORTS"') == "0x506b4b0300aabbcc\n"


@pytest.fixture(scope="session")
def opensm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree with the distribution's own opensm and its simulator of a cable."""
    need("apt-get")
    tree = tmp_path_factory.mktemp("opensm")
    if reason := subnet.unpack(tree):
        pytest.skip(f"no opensm of the distribution: {reason}")
    return tree


def managed(opensm: Path, rendered: Path, work: Path, **replaced: str) -> subnet.Sweep:
    """One sweep by the command that the unit runs; the partition's words may be replaced."""
    partitions = (rendered / "partitions.conf").read_text()
    for old, new in replaced.items():
        partitions = partitions.replace(old, new)
    (work / "partitions.conf").write_text(partitions)
    unit = (rendered / "opensm@.service.conf").read_text()
    command = re.findall(r"^ExecStart=(\S.*)$", unit, re.MULTILINE)[0]
    return subnet.sweep(opensm, work, command.replace("/etc/opensm/partitions.conf", str(work / "partitions.conf")))


def test_opensm_manages_a_subnet_as_its_unit_starts_it(opensm: Path, rendered: Path, tmp_path: Path) -> None:
    seen = managed(opensm, rendered, tmp_path)
    assert seen.code == 0
    assert "Priority = 14" in seen.printed
    assert "Guid <0x506b4b0300aabbcc>" in seen.printed
    assert "SUBNET UP" in seen.log
    assert not [line for line in seen.log.splitlines() if "PARSE" in line or "ERR" in line]


def test_opensm_tells_a_misspelt_word_of_the_partition(opensm: Path, rendered: Path, tmp_path: Path) -> None:
    assert "unrecognized partition flag 'mtuu'" in managed(opensm, rendered, tmp_path, mtu="mtuu").log


def test_opensm_refuses_an_option_that_it_does_not_know(opensm: Path, tmp_path: Path) -> None:
    assert "unrecognized option '--rank'" in subnet.sweep(opensm, tmp_path, "/usr/sbin/opensm --rank 14").printed


def test_the_partition_lets_every_node_talk_to_every_other(rendered: Path) -> None:
    """As opensm's documentation of the file has it: NAME=KEY, flags : MEMBERS."""
    lines = [
        line for line in (rendered / "partitions.conf").read_text().splitlines() if line and not line.startswith("#")
    ]
    assert lines == ["Default=0x7fff, ipoib, mtu=5 : ALL=full;"]


def test_systemd_accepts_the_units(rendered: Path, tmp_path: Path) -> None:
    need("systemd-analyze")
    units = lay_out(rendered, tmp_path)
    assert {"gpu-ready.service", "ib-ready.service"} < set(units)
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
    for foreign in ("docker", "nvidia-persistenced", "opensm", "opensm@"):
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
