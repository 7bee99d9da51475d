"""The run that an interrupted bin/lab leaves behind: the next one goes on with it, and measures nothing twice."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.content import content_hash
from lab.settings import Lab, LabError

SHAPED_BY = ("catalog", "inventory/lab", "roles/bench")


@contextmanager
def unfinished(lab: Lab, sweeps: object) -> Iterator[tuple[str, bool]]:
    """Name the run, and say whether it goes on. Whatever ends with an answer closes it, an interruption does not."""
    file = lab.state / "unfinished.json"
    shape = content_hash([lab.root / part for part in SHAPED_BY], json.dumps(sweeps, sort_keys=True))
    run_id = kept_run(file, shape)
    goes_on = run_id != ""
    if not goes_on:
        run_id = f"{time.strftime('%Y%m%d-%H%M%S')}-lab"
        file.write_text(json.dumps({"run_id": run_id, "shape": shape}), encoding="utf-8")
    try:
        yield run_id, goes_on
    except LabError:
        file.unlink()
        raise
    file.unlink()


def kept_run(file: Path, shape: str) -> str:
    """Read which run was interrupted; one of other settings, or half a file, counts as none."""
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        return str(kept["run_id"]) if kept["shape"] == shape else ""
    except (OSError, ValueError, KeyError, TypeError):
        return ""
