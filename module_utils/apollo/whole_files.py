"""Files that appear in one step, or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write_files(module: Any, folder: Path, texts: Mapping[str, str]) -> bool:
    """Write what differs, each file in one step; say whether anything did. In check mode nothing is written."""
    stale = [
        name
        for name, text in texts.items()
        if not (folder / name).exists() or (folder / name).read_bytes() != text.encode()
    ]
    for name in [] if module.check_mode else stale:
        part = folder / f"{name}.part"
        part.write_text(texts[name], encoding="utf-8")
        module.atomic_move(str(part), str(folder / name))
    return bool(stale)
