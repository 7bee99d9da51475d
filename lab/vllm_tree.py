"""The engine's Python packages: the real vLLM for CPUs, as one folder that nodes and containers mount read-only."""

import os
import platform
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import docker

from lab.base import run
from lab.content import build_folder, content_hash
from lab.helper import run_helper
from lab.settings import LabError

RECIPE = Path(__file__).parent / "builds" / "vllm"
VERSION = "0.32.0"
METADATA = f"Metadata-Version: 2.1\nName: vllm\nVersion: {VERSION}+cpu\n"
TREE = "/opt/lab/vllm"


def find_uv() -> str:
    """Find uv beside this Python, or anywhere else."""
    beside = Path(sys.executable).parent / "uv"
    found = str(beside) if beside.exists() else shutil.which("uv")
    if not found:
        raise LabError("uv is missing: start the lab with bin/lab, which brings it")
    return found


def torch_options(find_links: str, python: str) -> list[str]:
    """Say where the CPU build of torch comes from: a wheel folder that has it, else where uv knows it lies."""
    folders = [Path(entry) for entry in find_links.replace(",", " ").split()]
    pattern = f"torch-*+cpu-cp{python.replace('.', '')}-*.whl"
    if any(next(folder.glob(pattern), None) for folder in folders if folder.is_dir()):
        return []
    return ["--torch-backend", "cpu"]


def python_of(client: docker.DockerClient, image: str, share: Path) -> str:
    """Ask the engine's image for its Python version."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    return run_helper(client, image, ["python3", "-c", code], share)


def install(folder: Path, python: str) -> None:
    """Install the locked packages into `folder` and give vLLM the name under which it looks for itself."""
    command = [find_uv(), "pip", "install", "--target", str(folder), "--no-deps", "--only-binary", ":all:"]
    command += ["--python-version", python, "--python-platform", f"{platform.machine()}-manylinux_2_36"]
    wheels = os.environ.get("UV_FIND_LINKS") or os.environ.get("PIP_FIND_LINKS", "")
    command += [*torch_options(wheels, python), *[part for entry in wheels.split() for part in ("--find-links", entry)]]
    run([*command, "--requirement", str(RECIPE / "requirements.txt")])
    metadata = folder / f"vllm-{VERSION}.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text(METADATA, encoding="utf-8")


def ensure_tree(client: docker.DockerClient, image: str, share: Path, note: Callable[[str], None]) -> bool:
    """Build share/vllm unless it is current; say whether it was built."""
    python = python_of(client, image, share)

    def build(folder: Path) -> None:
        note(f"installing vLLM {VERSION} for Python {python}")
        install(folder, python)
        note("compiling it, so that engines start faster")
        mounts = {folder: TREE, RECIPE: "/recipe"}
        run_helper(client, image, ["python3", "/recipe/precompile.py"], share, mounts)

    return build_folder(share / "vllm", content_hash([RECIPE], python, METADATA), build)


def ensure_archive(client: docker.DockerClient, image: str, share: Path) -> bool:
    """Save the engine's image where the nodes load it from; say whether it was written."""

    def build(folder: Path) -> None:
        with (folder / "vllm.tar").open("wb") as stream:
            for chunk in client.images.get(image).save(named=True):
                stream.write(chunk)

    return build_folder(share / "images", str(client.images.get(image).id), build)
