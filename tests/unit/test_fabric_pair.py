"""Two nodes measure the link between them; what a tool did not measure is no figure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.apollo import fabric_pair as core
from ansible.module_utils.basic import AnsibleModule

from tests.conftest import RunModule

HEAD = """---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF		Device         : ibp65s0
 Number of qps   : 4		Transport type : IB
 Connection type : RC		Using SRQ      : OFF
 Mtu             : 4096[B]
 Link type       : IB
---------------------------------------------------------------------------------------
 local address: LID 0x01 QPN 0x0123 PSN 0x2fd4a1 RKey 0x1ff0bd VAddr 0x007f8f2c0a0000
 remote address: LID 0x02 QPN 0x0124 PSN 0x5e30c8 RKey 0x1ff0be VAddr 0x007f282a06e000
---------------------------------------------------------------------------------------
"""
IN_GBITS = f"""{HEAD} #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
Conflicting CPU frequency values detected: 1500.000000 != 3300.016000. CPU Frequency is not max.
 1048576    57546            0.00               96.54  		     0.011509
---------------------------------------------------------------------------------------
"""
IN_MIB = f"""{HEAD} #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]
 1048576    57546            0.00               11508.46  		     0.011508
"""
SWEEP = f"""{HEAD} #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 2          5000           0.142947            0.012281            0.767588
 65536      5000             96.10              96.02              0.183143
"""
SIMULATED = " SIMULATED by a test\n" + IN_GBITS
SIZES = [
    {"size_bytes": 8388608, "algbw_gbytes_s": 6.1, "busbw_gbytes_s": 10.68},
    {"size_bytes": 1073741824, "algbw_gbytes_s": 8.74, "busbw_gbytes_s": 15.3},
]
TOLD = {
    **{"backend": "nccl", "version": "2.30.7", "ranks": 8, "hosts": ["n1"] * 4 + ["n2"] * 4},
    **{"wrong": 0, "sizes": SIZES, "algorithm": ""},
}
VIA_IB = "n1:71:98 [3] NCCL INFO Channel 00/0 : 3[3] -> 4[0] [send] via NET/IB/0/GDRDMA"
LIMITS = {"default": {"at_least": 13.5, "at_most": 22}, "Ring": {"at_least": 10, "at_most": 12.5}}
EXPECTED = {"ranks": 8, "limits": LIMITS}


def printed(channel: str = VIA_IB, **told: Any) -> str:
    """What both ranks' container prints."""
    return f"n1:71:71 [0] NCCL INFO NET/IB : Using [0]ibp65s0:1/IB\n{channel}\n{core.MARK}{json.dumps(TOLD | told)}\n"


@pytest.mark.parametrize(("text", "gbps"), [(IN_GBITS, 96.54), (IN_MIB, 96.54), (SWEEP, 96.02)])
def test_bandwidth_is_in_gigabits_whatever_the_tool_prints(text: str, gbps: float) -> None:
    assert core.parse_bandwidth(text).gbps == pytest.approx(gbps, abs=0.01)


@pytest.mark.parametrize(
    "text", ["", HEAD, IN_GBITS.replace("Gb/sec", "furlongs"), "Couldn't connect to 10.77.0.2:18515"]
)
def test_no_figure_is_an_error_and_never_zero(text: str) -> None:
    with pytest.raises(ValueError, match="printed"):
        core.parse_bandwidth(text)


def test_a_simulated_figure_never_becomes_a_value() -> None:
    told = core.bandwidth_fact(core.parse_bandwidth(SIMULATED), "n1 to n2", 1.0)
    assert told["value"] is None
    assert "96.5" in told["remark"]


def test_the_largest_size_counts_and_not_the_average() -> None:
    found = core.parse_allreduce(printed())
    assert (found.busbw_gbytes_s, found.algbw_gbytes_s, found.hosts, found.networks) == (
        15.3,
        8.74,
        ("n1", "n2"),
        ("IB",),
    )
    assert found.direct
    assert core.allreduce_faults(found, "n1 and n2", EXPECTED) == []


def test_facts_of_the_ring_are_told_apart() -> None:
    assert {
        fact["metric"]: fact["value"] for fact in core.allreduce_facts(core.parse_allreduce(printed()), "both", 1)
    } == {
        "allreduce_busbw_gbytes_s": 15.3,
        "allreduce_algbw_gbytes_s": 8.74,
    }
    ring = core.allreduce_facts(core.parse_allreduce(printed(algorithm="Ring")), "both", 1)
    assert [fact["metric"] for fact in ring] == ["allreduce_ring_busbw_gbytes_s"]


def test_gloo_is_no_figure_of_nccl() -> None:
    found = core.parse_allreduce(printed(backend="gloo"))
    assert [fact["value"] for fact in core.allreduce_facts(found, "both", 1)] == [None, None]
    assert "nccl with 8 on 2 expected" in core.allreduce_faults(found, "both", EXPECTED)[0]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (printed(hosts=["n1"] * 8), "on 1 nodes"),
        (printed(ranks=4), "with 4 ranks"),
        (printed(wrong=3), "3 wrong sums"),
        (printed(VIA_IB.replace("IB/0/GDRDMA", "Socket/0")), "went over Socket"),
        (printed(""), "went over no network"),
        (printed(sizes=[SIZES[1] | {"busbw_gbytes_s": 3.0}]), "at least 13.5"),
        (printed(sizes=[SIZES[1] | {"busbw_gbytes_s": 180.0}]), "at most 22"),
        (printed(algorithm="Ring"), "by Ring reaches 15.3 GB/s busbw, at most 12.5"),
    ],
)
def test_a_fast_figure_alone_proves_nothing(text: str, fault: str) -> None:
    assert fault in " ".join(core.allreduce_faults(core.parse_allreduce(text), "n1 and n2", EXPECTED))


def options(folder: Path, index: int, **changed: Any) -> dict[str, Any]:
    bandwidth = {"command": ["ib_write_bw", "-F"], "port": 18515, "at_least_gbps": 90}
    allreduce = {"command": ["docker", "run", "image"], **EXPECTED}
    return {
        **{"names": ["n1", "n2"], "addresses": ["10.0.0.1", "10.0.0.2"], "index": index, "meet_s": 0},
        **{"bandwidth": bandwidth, "allreduce": allreduce, "key": "cards", "file": str(folder / "accepted.json")},
        **changed,
    }


class Tools:
    """Stands for timeout, ib_write_bw and docker."""

    def __init__(self, bandwidth: str = IN_GBITS, code: int = 0) -> None:
        self.bandwidth, self.code = bandwidth, code
        self.calls: list[list[str]] = []

    def __call__(self, _: AnsibleModule, command: list[str], **__: Any) -> tuple[int, str, str]:
        assert command[0] == "timeout"
        self.calls.append(command[2:])
        if command[2] == "docker":
            ring = "--env=NCCL_ALGO=Ring" in command
            return 0, printed(algorithm="Ring", sizes=[SIZES[0]]) if ring else printed(), ""
        return self.code, self.bandwidth, ""


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> Tools:
    found = Tools()
    monkeypatch.setattr(AnsibleModule, "run_command", lambda self, *args, **kwargs: found(self, *args, **kwargs))
    return found


def test_each_node_serves_once_and_asks_once(run_module: RunModule, tools: Tools, tmp_path: Path) -> None:
    run_module("fabric_pair", **options(tmp_path, 0, allreduce=None))
    assert tools.calls == [["ib_write_bw", "-F", "-p", "18516"], ["ib_write_bw", "-F", "-p", "18515", "10.0.0.2"]]
    tools.calls.clear()
    run_module("fabric_pair", **options(tmp_path, 1, allreduce=None))
    assert tools.calls == [["ib_write_bw", "-F", "-p", "18516", "10.0.0.1"], ["ib_write_bw", "-F", "-p", "18515"]]


def test_figures_are_kept_on_the_node_that_measured_them(run_module: RunModule, tools: Tools, tmp_path: Path) -> None:
    told = run_module("fabric_pair", **options(tmp_path, 0))
    kept = json.loads((tmp_path / "accepted.json").read_text())
    assert told["faults"] == []
    assert kept == {"key": "cards", "facts": told["facts"]}
    assert [(fact["metric"], fact["subject"], fact["value"]) for fact in kept["facts"]] == [
        ("ib_bandwidth_gbps", "n1 to n2", 96.54),
        ("allreduce_busbw_gbytes_s", "n1 and n2", 15.3),
        ("allreduce_algbw_gbytes_s", "n1 and n2", 8.74),
        ("allreduce_ring_busbw_gbytes_s", "n1 and n2", 10.68),
    ]
    assert [fact["metric"] for fact in run_module("fabric_pair", **options(tmp_path, 1))["facts"]] == [
        "ib_bandwidth_gbps"
    ]
    assert tools.calls


@pytest.mark.parametrize(
    ("text", "code", "fault"),
    [
        (IN_GBITS.replace("96.54", "41.20"), 0, "41.2 Gb/s, at least 90"),
        ("Couldn't connect", 1, "exit code 1: Couldn't"),
    ],
)
def test_what_is_wrong_is_told_and_looked_at_again_next_time(
    run_module: RunModule, tools: Tools, tmp_path: Path, text: str, code: int, fault: str
) -> None:
    tools.bandwidth, tools.code = text, code
    told = run_module("fabric_pair", **options(tmp_path, 0, allreduce=None))
    assert not told["failed"]
    assert fault in told["faults"][0]
    assert json.loads((tmp_path / "accepted.json").read_text())["key"] == ""


def test_check_mode_measures_nothing(run_module: RunModule, tools: Tools, tmp_path: Path) -> None:
    assert run_module("fabric_pair", True, **options(tmp_path, 0))["changed"]
    assert (tools.calls, list(tmp_path.iterdir())) == ([], [])
