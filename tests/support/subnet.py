"""A subnet without hardware: the distribution's opensm over its InfiniBand simulator, unpacked and not installed."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("opensm", "ibsim-utils", "libumad2sim0")
GUID = "0x506b4b0300aabbcc"
# Two cards and the cable between them, in the simulator's own words.
CABLE = """\
caguid=0x506b4b0300aabbcb
Hca 1 "node1"
[1](506b4b0300aabbcc) "node2"[1]

caguid=0x506b4b0300aabbdb
Hca 1 "node2"
[1](506b4b0300aabbdc) "node1"[1]
"""
WARNINGS_TOO = "0x07"
READY_S, SWEEP_S = 20.0, 30.0


@dataclass(frozen=True)
class Sweep:
    """How one sweep of the subnet ended, what opensm printed, and what it logged."""

    code: int
    printed: str
    log: str


def unpack(folder: Path) -> str:
    """Fetch and unpack the packages; give why that failed, or nothing."""
    archives = folder / "archives"
    (archives / "partial").mkdir(parents=True)
    fetch = ["apt-get", "install", "--yes", "--quiet", "--download-only", "--no-install-recommends"]
    here = [f"-o=Dir::Cache::archives={archives}", "-o=Debug::NoLocking=true", "-o=APT::Sandbox::User=root"]
    try:
        subprocess.run([*fetch, *here, *PACKAGES], check=True, capture_output=True, text=True)
        for archive in archives.glob("*.deb"):
            subprocess.run(["dpkg", "--extract", archive, folder], check=True, capture_output=True)
    except FileNotFoundError as error:
        return f"{error.filename} is not here"
    except subprocess.CalledProcessError as error:
        return f"apt does not give {', '.join(PACKAGES)}: {str(error.stderr).strip().splitlines()[-1:]}"
    return ""


def sweep(tree: Path, work: Path, command: str) -> Sweep:
    """Run the command of a unit once over the simulated cable; its partition file and log lie in ``work``."""
    words = shlex.split(command.replace("%I", GUID))
    log = work / "opensm.log"
    words = [str(log) if word.startswith("/var/log/") else word for word in words]
    with _cable(tree, work) as environment:
        program = shutil.which(Path(words[0]).name, path=environment["PATH"]) or words[0]
        done = subprocess.run(
            [program, *words[1:], "--once", "-D", WARNINGS_TOO],
            env={**environment, "LD_PRELOAD": str(_find(tree, "libumad2sim.so"))},
            cwd=work,
            capture_output=True,
            text=True,
            timeout=SWEEP_S,
            check=False,
        )
    return Sweep(done.returncode, done.stdout + done.stderr, log.read_text() if log.is_file() else "")


@contextmanager
def _cable(tree: Path, work: Path) -> Iterator[dict[str, str]]:
    """Let the simulator run, and give the environment in which programs see it."""
    (work / "cable.net").write_text(CABLE)
    environment = _environment(tree, work)
    command, log = ["ibsim", "-s", "-n", "cable.net"], work / "ibsim.log"
    with log.open("w") as out:
        simulator = subprocess.Popen(command, env=environment, cwd=work, stdin=subprocess.PIPE, stdout=out, stderr=out)
    try:
        _wait_for(log, "simulator ready")
        yield environment
    finally:
        simulator.kill()
        simulator.communicate()


def _environment(tree: Path, work: Path) -> dict[str, str]:
    """Programs and libraries of the tree; the simulator's name is one of its own."""
    return {
        **os.environ,
        "PATH": f"{tree}/usr/sbin:{tree}/usr/bin:/usr/sbin:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": ":".join(sorted({str(path.parent) for path in tree.rglob("*.so*")})),
        "IBSIM_SOCKNAME": f"apollo-{os.getpid()}-{time.monotonic_ns()}",
        "SIM_HOST": "node1",
        "OSM_TMP_DIR": f"{work}/",
        "OSM_CACHE_DIR": f"{work}/",
    }


def _find(tree: Path, name: str) -> Path:
    """Find a library of the packages, in the tree or, where they are installed, in the system."""
    return next((path for root in (tree, Path("/usr/lib")) for path in root.rglob(name)), Path(name))


def _wait_for(file: Path, words: str) -> None:
    end = time.monotonic() + READY_S
    while words not in file.read_text():
        if time.monotonic() > end:
            raise TimeoutError(f"no '{words}' within {READY_S:.0f} s: {file.read_text()}")
        time.sleep(0.05)
