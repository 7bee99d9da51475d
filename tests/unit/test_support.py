"""What the lab's tests read from a run."""

from __future__ import annotations

import pytest

from tests.support import playbook
from tests.support.kill_at import kill_at

OUTPUT = """\
PLAY RECAP *********************************************************************
node1                      : ok=41   changed=2    unreachable=0    failed=0    skipped=7    rescued=0    ignored=0
node2                      : ok=38   changed=0    unreachable=1    failed=0    skipped=7    rescued=0    ignored=0

"""


def test_recap_is_read_by_host() -> None:
    recap = playbook.recap(OUTPUT)
    assert {host: counters["changed"] for host, counters in recap.items()} == {"node1": 2, "node2": 0}


def test_run_that_died_early_has_no_recap() -> None:
    assert playbook.recap("[ERROR]: no inventory\n") == {}


def test_run_is_killed_at_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert kill_at("two", ["sh", "-c", "echo one; echo two; sleep 60; echo three"])
    assert capsys.readouterr().out == "one\ntwo\n"


def test_run_that_ends_before_its_line_is_told() -> None:
    assert not kill_at("never", ["echo", "one"])
