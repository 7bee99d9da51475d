"""What the operator reads while the job runs and when it is over."""

import io
import json
import tarfile
from pathlib import Path

import pytest
from rich.console import Console

from lab.archive import File, pack
from lab.display import PlainDisplay, Progress, make_display
from lab.job import twice
from lab.playbook import Playbook, activity, failure_lines
from lab.settings import LabError
from lab.summary import curl_lines, verdict_lines

FAILURE = """TASK [fabric : check | Require the port] ***
ok: [node1]
fatal: [node2]: FAILED! => {"msg": "port is Down, wanted Active: look at the cable"}
PLAY RECAP ***
"""


def test_a_playbook_runs_as_the_operator_would_type_it() -> None:
    playbook = Playbook("site.yml", "397b", {"a": [1, 8]})
    wanted = ["ansible-playbook", "-i", "inventory/lab", "site.yml", "--tags", "397b", "--extra-vars", '{"a": [1, 8]}']
    assert playbook.command() == wanted


def test_tasks_and_handlers_are_shown_plays_and_results_are_not() -> None:
    assert activity("TASK [gateway : deploy | Render it] ****") == "gateway : deploy | Render it"
    assert activity("RUNNING HANDLER [Reload the gateway] ***") == "Reload the gateway"
    assert activity("PLAY [Serve] *****") == activity("ok: [node1]") == ""


def test_a_failure_is_shown_from_the_first_host_that_failed() -> None:
    assert failure_lines(FAILURE.splitlines())[0].startswith("fatal: [node2]")
    assert failure_lines(["no", "host"]) == ["no", "host"]


def test_without_a_terminal_each_event_is_a_line_with_the_time() -> None:
    stream = io.StringIO()
    display = make_display(Progress(["Build", "Serve"], [60, 120]), Console(file=stream))
    assert isinstance(display, PlainDisplay)
    for index in (0, 1):
        display.start(index)
        display.note("a thing")
        display.finish()
    display.close()
    text = stream.getvalue()
    assert "[1/2] Build; about 3 minutes left in all" in text
    assert "[2/2] Serve; about 2 minutes left in all" in text
    assert text.count("done in 0:00") == 2


def test_a_terminal_gets_a_list_that_ends_complete() -> None:
    stream = io.StringIO()
    display = make_display(Progress(["Build"], [60]), Console(file=stream, force_terminal=True, width=80))
    display.start(0)
    display.note("base image")
    display.finish()
    display.close()
    assert "done" in stream.getvalue()


def test_the_verdict_is_shown_with_what_broke_and_a_missing_one_is_said(tmp_path: Path) -> None:
    assert "No verdict" in verdict_lines(tmp_path)[0]
    verdict = {"summary": "fail: 2 checks of limits: 1 pass, 1 fail", "worst": ["No request fails: 3, wanted = 0"]}
    (tmp_path / "verdict.json").write_text(json.dumps(verdict))
    assert verdict_lines(tmp_path)[:2] == [f"Verdict: {verdict['summary']}", "  No request fails: 3, wanted = 0"]


def test_a_sweep_gets_a_second_chance_and_no_third() -> None:
    calls: list[str] = []

    def fail(_: object) -> None:
        calls.append("x")
        raise LabError("broken")

    with pytest.raises(LabError, match="broken"):
        twice(fail)(calls.append)
    assert calls == ["x", "once more: only what does not count", "x"]


def test_the_curl_line_carries_the_key() -> None:
    text = "\n".join(curl_lines("http://172.30.77.11:8080", "secret", "m"))
    assert "Authorization: Bearer secret" in text
    assert '"model": "m"' in text


def test_files_for_a_node_belong_to_root_and_keep_their_rights() -> None:
    with tarfile.open(fileobj=io.BytesIO(pack([File("/root/.ssh/authorized_keys", "key", 0o600)]))) as archive:
        member = archive.getmembers()[0]
    assert (member.name, member.mode, member.uid) == ("root/.ssh/authorized_keys", 0o600, 0)
