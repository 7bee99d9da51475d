"""The spool that modules share with the resident client: one folder per job, files that appear in one step."""

from __future__ import annotations

import io
import json
import os
import shutil
import tarfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ALIVE_LIMIT_S = 30.0
STOP_LIMIT_S = 10.0
LOOK_S = 0.05


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""


def read_json(path: Path) -> dict[str, Any]:
    """An object; whatever is none is empty."""
    try:
        document = json.loads(read_text(path) or "{}")
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    part = path.with_name(f".{path.name}.part")
    part.write_text(json.dumps(document), encoding="utf-8")
    part.replace(path)


def silence_s(spool: Path) -> float | None:
    """Seconds since the client last said that it lives; None while it has never said so."""
    told = read_json(spool / "alive.json").get("at_s")
    return time.monotonic() - told if isinstance(told, int | float) else None


def pack(archive: Path, folders: Mapping[str, Path]) -> Path:
    """Everything in these folders, in one archive that appears in one step."""
    part = archive.with_name(f".{archive.name}.{os.getpid()}.part")
    with tarfile.open(part, "w:gz", compresslevel=6) as packed:
        for name, folder in folders.items():
            for path in sorted(folder.iterdir()) if folder.is_dir() else []:
                _add(packed, path, f"{name}/{path.name}")
    return part.replace(archive)


def _add(packed: tarfile.TarFile, path: Path, name: str) -> None:
    """As it is at this moment: a client that was not told to go on still works in its folder."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return
    about = tarfile.TarInfo(name)
    about.size, about.mtime = len(content), int(time.time())
    packed.addfile(about, io.BytesIO(content))


class Job:
    """One job's folder."""

    def __init__(self, spool: Path, name: str) -> None:
        self.folder = spool / name

    def prepare(self, task: Mapping[str, Any]) -> bool:
        """Hand the job over, unless the very same one waits there; say whether it was handed over."""
        if self.waits_for_go(task):
            return False
        self.clear()
        self.folder.mkdir(parents=True)
        write_json(self.folder / "task.json", task)
        return True

    def waits_for_go(self, task: Mapping[str, Any]) -> bool:
        return self.holds(task) and not any((self.folder / name).exists() for name in ("go", "stop", "done.json"))

    def holds(self, task: Mapping[str, Any]) -> bool:
        """Whether this very job is here; the client renames the file when it takes the job."""
        handed = read_json(self.folder / "task.json") or read_json(self.folder / "taken.json")
        return handed == dict(task)

    def clear(self) -> None:
        """End what an earlier start left running here, and remove what it wrote."""
        if (self.folder / "taken.json").exists() and not self.is_done:
            self.stop("another job takes its place")
            ends = time.monotonic() + STOP_LIMIT_S
            while not self.is_done and time.monotonic() < ends:
                time.sleep(LOOK_S)
        shutil.rmtree(self.folder, ignore_errors=True)  # mostly there is none

    def go(self, key: str = "") -> None:
        """Let it begin, with the key that its server asks for; the client removes the key as soon as it has read it."""
        if key:
            os.close(os.open(self.folder / "key", os.O_WRONLY | os.O_CREAT, 0o600))
            (self.folder / "key").write_text(key, encoding="utf-8")
        (self.folder / "go").touch()

    def stop(self, reason: str) -> None:
        (self.folder / "stop").write_text(reason, encoding="utf-8")

    @property
    def is_done(self) -> bool:
        return (self.folder / "done.json").exists()
