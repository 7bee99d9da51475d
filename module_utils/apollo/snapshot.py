"""A model's files: which must be there, whether one is cut short, and the manifest that says all were checked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MANIFEST = ".complete"
INDEX = "model.safetensors.index.json"
SINGLE_FILE = "model.safetensors"
TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json", "tekken.json")
HEADER_LIMIT = 100_000_000


@dataclass(frozen=True)
class File:
    """Size and time of one file; ``true_size`` is what its own header says, where it has one."""

    size: int
    mtime_ns: int
    true_size: int | None = None


def is_part(name: str) -> bool:
    """Whether a file belongs to the model: hidden and unfinished ones do not."""
    return not any(piece.startswith(".") for piece in name.split("/")) and not name.endswith(
        (".incomplete", ".partial")
    )


def shards(index: str) -> list[str]:
    """Read the names of all shards from an index."""
    return sorted(set(json.loads(index)["weight_map"].values()))


def true_size(header_length: bytes, header: bytes) -> int:
    """Compute how long a safetensors file is from its first eight bytes and its header."""
    tensors = (entry for name, entry in json.loads(header).items() if name != "__metadata__")
    ends = [int(entry["data_offsets"][1]) for entry in tensors]
    return 8 + int.from_bytes(header_length, "little") + max(ends, default=0)


def faults(where: str, files: Mapping[str, File], index: str | None, weights: bool) -> list[str]:
    """List what is missing or cut short; an empty list means complete.

    ``weights`` says whether weights must be there at all: a stand-in with random weights has none.
    """
    wanted = ["config.json", *(shards(index) if index else [SINGLE_FILE] if weights else [])]
    missing = [f"{where}/{name} is missing" for name in wanted if name not in files]
    if not any(name in files for name in TOKENIZERS):
        missing.append(f"{where} has no tokenizer ({', '.join(TOKENIZERS)})")
    short = (
        f"{where}/{name} has {file.size} bytes, {file.true_size} wanted by its own header"
        for name, file in sorted(files.items())
        if file.true_size is not None and file.true_size != file.size
    )
    return [*missing, *short]


def manifest(repository: str, revision: str, files: Mapping[str, File]) -> dict[str, Any]:
    """Give the record that this very snapshot was found complete."""
    listed = {name: {"size": file.size, "mtime_ns": file.mtime_ns} for name, file in sorted(files.items())}
    return {"repository": repository, "revision": revision, "files": listed}


def is_vouched_for(told: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether an earlier manifest holds for what is there now, so that nothing need be read again."""
    return told == now


def gone(told: Mapping[str, Any], index: str | None, sizes: Mapping[str, int]) -> str:
    """Name one file that a model had and has no longer, or not whole; empty when nothing is known to be gone.

    ``told`` is the manifest of when it was found complete, if it ever was. No file is read for it.
    """
    had = {name: file["size"] for name, file in told.get("files", {}).items()}
    wanted = had or dict.fromkeys(["config.json", *(shards(index) if index else [])])
    lost = (name for name, size in sorted(wanted.items()) if name not in sizes or size not in (None, sizes[name]))
    return next(lost, "")


def to_copy(source: Mapping[str, File], target: Mapping[str, File]) -> list[str]:
    """Name the files that the target lacks or holds otherwise."""
    return [
        name
        for name, file in sorted(source.items())
        if name not in target or (target[name].size, target[name].mtime_ns) != (file.size, file.mtime_ns)
    ]


def space_fault(where: str, missing: Iterable[File], free: int, reserve_gb: float) -> str:
    """Say that the files do not fit; empty when they do."""
    needed_gb, free_gb = sum(file.size for file in missing) / 1e9, free / 1e9
    if needed_gb == 0 or needed_gb + reserve_gb <= free_gb:
        return ""
    return (
        f"{where} needs {needed_gb:.1f} GB more, {free_gb:.1f} GB are free and {reserve_gb:.1f} GB stay reserved: "
        "make room or lower model_store_reserve_gb"
    )


def summary(found: Sequence[str]) -> str:
    """Put findings into one line."""
    return "; ".join(found[:3]) + (f" and {len(found) - 3} more" if len(found) > 3 else "")
