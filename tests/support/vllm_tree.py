"""How to run a script with the lab's copy of vLLM: its compiled parts are for one version of Python."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

IMAGE = "apollo-lab/vllm-openai-cpu:v0.32.0"
COMPILED = re.compile(r"\.cpython-3(\d+)-")


def version(tree: Path) -> str | None:
    """The Python for which the tree was made, from the name of any compiled part of it."""
    matches = (COMPILED.search(path.name) for path in tree.glob("*/*.so"))
    return next((f"3.{match[1]}" for match in matches if match), None)


def python(tree: Path, script: Path) -> list[str] | None:
    """The command that runs the script beside the tree: with a Python of this computer, else in the lab's image."""
    wanted = version(tree)
    if wanted is None:
        return None
    if wanted == f"{sys.version_info.major}.{sys.version_info.minor}":
        return [sys.executable, str(script)]
    if local := shutil.which(f"python{wanted}"):
        return [local, str(script)]
    return _container(tree, script) if _has_image() else None


def _has_image() -> bool:
    if shutil.which("docker") is None:
        return False
    return subprocess.run(["docker", "image", "inspect", IMAGE], capture_output=True, check=False).returncode == 0


def _container(tree: Path, script: Path) -> list[str]:
    mounts = [f"--volume={tree}:/opt/lab/vllm:ro", f"--volume={script}:/script.py:ro"]
    settings = ["--env=HF_HUB_OFFLINE", "--env=VLLM_CPU_CI_ENV", "--env=VLLM_NO_USAGE_STATS"]
    return ["docker", "run", "--rm", "--interactive", *mounts, *settings, "--entrypoint=python3", IMAGE, "/script.py"]
