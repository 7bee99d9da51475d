"""The base of all images: Ubuntu 24.04 where a registry answers, else this computer's own distribution."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import docker
import requests
from docker.errors import APIError, ImageNotFound

from lab.content import content_hash
from lab.settings import LABEL, SHARED, LabError

UBUNTU = "ubuntu:24.04"
PROBE_TIMEOUT_S = 15
REPOSITORY = "apollo-lab/base"
SUPPORTED = {"debian": ("main",), "ubuntu": ("main", "universe")}


def parse_os_release(text: str) -> dict[str, str]:
    """Read the fields of an os-release file."""
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
    return {key: value.strip().strip('"') for key, value in pairs}


def host_release() -> dict[str, str]:
    """Read which distribution this computer runs; a computer that does not say runs none that the lab knows."""
    file = Path("/etc/os-release")
    return parse_os_release(file.read_text(encoding="utf-8")) if file.exists() else {}


def select_sources(index_targets: str, origin: str, components: tuple[str, ...]) -> list[str]:
    """Turn lines of `ORIGIN|URI|SUITE|COMPONENT` into sources.list lines of the distribution itself."""
    lines: list[str] = []
    for row in index_targets.splitlines():
        fields = row.split("|")
        if len(fields) == 4 and fields[0].lower() == origin and fields[3] in components:
            line = f"deb {fields[1]} {fields[2]} {fields[3]}"
            if line not in lines:
                lines.append(line)
    return lines


def registry_answers() -> bool:
    """Say whether the engine reaches a registry that knows Ubuntu, within a short limit."""
    probe = docker.from_env(timeout=PROBE_TIMEOUT_S)
    try:
        probe.images.get_registry_data(UBUNTU)
    except (APIError, requests.RequestException):
        return False
    finally:
        probe.close()
    return True


def ensure_base(client: docker.DockerClient, cache: Path) -> str:
    """Return the name of a base image, built or pulled when it is not there yet."""
    wanted = os.environ.get("LAB_BASE_IMAGE", "")
    name = f"{REPOSITORY}:{content_hash([], UBUNTU, host_release().get('VERSION_CODENAME', ''), wanted)}"
    try:
        client.images.get(name)
    except ImageNotFound:
        if wanted or registry_answers():
            pull(client, wanted or UBUNTU, name)
        else:
            bootstrap(client, name, cache)
    return name


def pull(client: docker.DockerClient, source: str, name: str) -> None:
    """Give an image of the registry the lab's own name, and leave no other name that was not there before."""
    repository, _, tag = source.rpartition(":")
    known = any(source in image.tags for image in client.images.list())
    image = client.images.get(source) if known else client.images.pull(repository, tag=tag)
    image.tag(*name.split(":"))
    if not known:
        client.images.remove(source)


def bootstrap(client: docker.DockerClient, name: str, cache: Path) -> None:
    """Build the base from this computer's own distribution and package sources."""
    release = host_release()
    identity, suite = release.get("ID", "unknown"), release.get("VERSION_CODENAME", "")
    if identity not in SUPPORTED or os.geteuid() != 0:
        raise LabError(
            f"no container registry answers and this is {identity} without root: "
            f"give Docker a registry that has {UBUNTU}, or run on Debian or Ubuntu as root"
        )
    if shutil.which("mmdebstrap") is None:
        run(["apt-get", "install", "--yes", "--no-install-recommends", "mmdebstrap"])
    sources = host_sources(identity)
    with tempfile.TemporaryDirectory(prefix="base-", dir=cache) as folder:
        archive = Path(folder) / "base.tar"
        command = ["mmdebstrap", "--quiet", "--variant=minbase", *host_apt_options(), suite, str(archive), *sources]
        run(command, TMPDIR=folder)
        repository, tag = name.split(":")
        changes = [f"LABEL {LABEL}={SHARED}", 'CMD ["/bin/bash"]']
        client.api.import_image_from_file(str(archive), repository=repository, tag=tag, changes=changes)


def host_sources(identity: str) -> list[str]:
    """Read the distribution's own package sources from this computer; none: mmdebstrap's default."""
    layout = "$(ORIGIN)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)"
    text = run(["apt-get", "indextargets", "--format", layout, "Created-By: Packages"])
    return select_sources(text, identity, SUPPORTED[identity])


def host_apt_options() -> list[str]:
    """Pass on proxies and date checks, which decide whether packages can be fetched at all."""
    wanted = ("Acquire::http::Proxy ", "Acquire::https::Proxy ", "Acquire::Check-")
    lines = run(["apt-config", "dump"]).splitlines()
    return [f"--aptopt={line}" for line in lines if line.startswith(wanted)]


def run(command: list[str], **variables: str) -> str:
    """Run a command of this computer and return what it printed."""
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"} | variables
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise LabError(f"{command[0]} ended with {done.returncode}: {reason}")
    return done.stdout
