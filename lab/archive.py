"""Small tar archives: how files get into a container before it starts."""

import io
import tarfile
from dataclasses import dataclass


@dataclass(frozen=True)
class File:
    """One file to put into a container."""

    path: str
    content: str
    mode: int = 0o644


def pack(files: list[File]) -> bytes:
    """Pack files, owned by root, into a tar archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for file in files:
            data = file.content.encode()
            member = tarfile.TarInfo(file.path.lstrip("/"))
            member.size, member.mode = len(data), file.mode
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()
