"""Content hashes: a build is repeated when what shapes it has changed, and only then."""

import fcntl
import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.settings import LabError

STAMP = ".content"


def content_hash(paths: Iterable[Path], *texts: str) -> str:
    """Hash the named files, whole folders included, and texts. Names count, times do not."""
    digest = hashlib.sha256()
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and "__pycache__" not in file.parts:
                name = file.relative_to(path.parent)
                digest.update(f"{name}\0{file.stat().st_mode & 0o111:o}\0".encode())
                digest.update(file.read_bytes())
    for text in texts:
        digest.update(f"\0{text}".encode())
    return digest.hexdigest()[:16]


def is_current(folder: Path, content: str) -> bool:
    """Say whether `folder` is a complete build of `content`."""
    stamp = folder / STAMP
    return stamp.is_file() and stamp.read_text() == content


def build_folder(folder: Path, content: str, build: Callable[[Path], None]) -> bool:
    """Build `folder` beside its place and move it there when complete; say whether it was built.

    What was there before stays beside it until the next build: engines that run on it go on finding their files.
    """
    if is_current(folder, content):
        return False
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)  # mostly there is none; what stays makes mkdir fail
    partial.mkdir(parents=True)
    build(partial)
    (partial / STAMP).write_text(content)
    retired = folder.with_name(f"{folder.name}.old")
    shutil.rmtree(retired, ignore_errors=True)  # mostly there is none; what stays makes rename fail
    if folder.exists():
        folder.rename(retired)
    partial.rename(folder)
    return True


@contextmanager
def locked(folder: Path, refusal: str = "") -> Iterator[None]:
    """Let only one process at a time work in `folder`: wait, or refuse. A killed process lets go by itself."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | (fcntl.LOCK_NB if refusal else 0))
        except BlockingIOError as error:
            raise LabError(refusal) from error
        yield
