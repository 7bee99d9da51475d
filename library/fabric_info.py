"""Report the fabric of a node: InfiniBand port, subnet manager, IPoIB interface, peers."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ansible.module_utils.apollo import fabric
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: fabric_info
short_description: Report InfiniBand ports, subnet manager, fabric interface and peers
author: Apollo inference
description:
  - Reads C(ibstat), C(sminfo), C(ip) and the answers of peers to C(ping). Changes nothing.
  - A node without C(ibstat) is no failure, RV(present) is then false; the caller decides.
  - A broken expectation is no failure either. It is a line in RV(faults), with value, limit and remedy.
options:
  interface:
    description: Name of the network interface on the fabric.
    type: str
    default: ""
  device:
    description: Name of the RDMA device. Empty means the one behind O(interface), or else the first with a link.
    type: str
    default: ""
  peers:
    description: Fabric addresses of other nodes that must answer.
    type: list
    elements: str
    default: []
  wait_s:
    description: Seconds to wait until nothing is wrong.
    type: int
    default: 0
  timeout_s:
    description: Seconds that one tool may take, and one peer to answer.
    type: int
    default: 5
  expect:
    description: What the node must show. What is left out is not judged.
    type: dict
    default: {}
    suboptions:
      address:
        description: Address of O(interface) with its prefix length.
        type: str
      rate_gbps:
        description: Least rate of the port in Gb/s. Asks for an active port and a subnet manager, too.
        type: float
      mtu:
        description: Bytes in a packet of O(interface), an InfiniBand one in datagram mode.
        type: int
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
    details: Nothing is changed.
  idempotent:
    support: full
"""

EXAMPLES = r"""
- name: Read the fabric
  fabric_info:
    interface: ibp65s0
    peers: [10.77.0.2]
    expect: {address: 10.77.0.1/30, rate_gbps: 100}
    wait_s: 30
  register: fabric

- name: Require a healthy fabric
  ansible.builtin.fail:
    msg: "{{ item }}"
  loop: "{{ fabric.faults }}"
"""

RETURN = r"""
present:
  description: Whether C(ibstat) is installed.
  returned: always
  type: bool
ports:
  description: All ports with device, port, guid, state, physical_state, rate_gbps, base_lid, sm_lid and link_layer.
  returned: always
  type: list
  elements: dict
port:
  description: The port that carries the fabric, or null.
  returned: always
  type: dict
subnet_manager:
  description: The subnet manager that answers, with lid, guid, priority and state, or null.
  returned: always
  type: dict
interface:
  description: The interface with name, addresses, mtu, state and mode (null for Ethernet), or null when absent.
  returned: always
  type: dict
peers:
  description: Whether each peer answers, by address.
  returned: always
  type: dict
  sample: {"10.77.0.2": true}
waited_s:
  description: Seconds until this was so.
  returned: always
  type: float
faults:
  description: What differs from O(expect) and O(peers), a line each with value, limit and remedy.
  returned: always
  type: list
  elements: str
"""

INTERFACES = Path("/sys/class/net")
INTERVAL_S = 1.0


def run(module: AnsibleModule, *command: str) -> tuple[bool, str]:
    """Run a tool within the time limit; say whether it succeeded and what it printed. A missing tool does not."""
    program = module.get_bin_path(command[0])
    if program is None:
        return False, ""
    code, out, _ = module.run_command(["timeout", str(module.params["timeout_s"] + 1), program, *command[1:]])
    return code == 0, str(out)


def device_behind(interface: str) -> str:
    """Give the RDMA device that an IPoIB interface belongs to, or nothing."""
    folder = INTERFACES / interface / "device" / "infiniband"
    return min((entry.name for entry in folder.iterdir()), default="") if interface and folder.is_dir() else ""


def find_interface(module: AnsibleModule) -> fabric.Interface | None:
    """Read the interface as the kernel has it."""
    mode = INTERFACES / module.params["interface"] / "mode"
    text = run(module, "ip", "-json", "address", "show")[1]
    return fabric.find_interface(text, module.params["interface"], mode.read_text().strip() if mode.is_file() else None)


def find_manager(module: AnsibleModule, port: fabric.Port | None) -> fabric.SubnetManager | None:
    """Ask for the subnet manager on the fabric's own port."""
    if port is None:
        return None
    return fabric.parse_sminfo(run(module, "sminfo", "-C", port.device, "-P", str(port.port))[1])


def answers(module: AnsibleModule, address: str) -> bool:
    """Say whether a peer answers within the time limit; several tries, the first answer ends it."""
    return run(module, "ping", "-q", "-c", "1", "-w", str(module.params["timeout_s"]), address)[0]


def inspect(module: AnsibleModule) -> tuple[tuple[fabric.Port, ...], fabric.Report]:
    """Read everything from the node once."""
    ports = fabric.parse_ibstat(run(module, "ibstat")[1])
    port = fabric.choose_port(ports, module.params["device"] or device_behind(module.params["interface"]))
    return ports, fabric.Report(
        port=port,
        subnet_manager=find_manager(module, port),
        interface=find_interface(module),
        peers={address: answers(module, address) for address in module.params["peers"]},
    )


def wait(module: AnsibleModule, expected: fabric.Expected) -> dict[str, Any]:
    """Read and judge until nothing is wrong or the time is over."""
    start = time.monotonic()
    while True:
        ports, report = inspect(module)
        faults = fabric.faults(report, expected)
        waited = time.monotonic() - start
        if not faults or waited + INTERVAL_S > module.params["wait_s"]:
            seen = {"ports": [asdict(port) for port in ports], **asdict(report)}
            return {**seen, "faults": faults, "waited_s": round(waited, 1)}
        time.sleep(INTERVAL_S)


def main() -> None:
    """Read, judge, report."""
    expect = {"address": {"type": "str"}, "rate_gbps": {"type": "float"}, "mtu": {"type": "int"}}
    module = AnsibleModule(
        argument_spec={
            "interface": {"type": "str", "default": ""},
            "device": {"type": "str", "default": ""},
            "peers": {"type": "list", "elements": "str", "default": []},
            "wait_s": {"type": "int", "default": 0},
            "timeout_s": {"type": "int", "default": 5},
            "expect": {"type": "dict", "default": {}, "options": expect},
        },
        supports_check_mode=True,
    )
    present = module.get_bin_path("ibstat") is not None
    expected = fabric.Expected(interface=module.params["interface"] or None, **module.params["expect"])
    module.exit_json(changed=False, present=present, **wait(module, expected))


if __name__ == "__main__":
    main()
