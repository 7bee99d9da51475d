#!/usr/bin/python
"""Take part in the measurement of the fabric between two nodes."""

from __future__ import annotations

import json
import time
from pathlib import Path

from ansible.module_utils.apollo import fabric_pair as core
from ansible.module_utils.apollo.machine_facts import Event
from ansible.module_utils.apollo.whole_files import write_files
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: fabric_pair
short_description: Take part in the measurement of the fabric between two nodes
description:
  - Runs on both nodes of a pair at once. Each is server, then client of C(ib_write_bw), and rank of an all-reduce over
    all their GPUs. Each keeps what it has measured itself in a file, from which it reaches the journal of a run.
  - A figure beyond its limit is a line in RV(faults), and so is one that could not be measured; the caller decides.
author: [Apollo inference]
attributes:
  check_mode: {support: full, details: Nothing is measured.}
  diff_mode: {support: none, details: A measurement has no earlier state.}
  idempotent: {support: none, details: Every call measures anew.}
options:
  names: {type: list, elements: str, required: true, description: "Names of both nodes, the first one's ranks first."}
  addresses: {type: list, elements: str, required: true, description: Their addresses on the fabric.}
  index: {type: int, required: true, choices: [0, 1], description: Which of them this node is.}
  bandwidth:
    description: How ib_write_bw is called, on which port of the nodes, and the least figure in Gb/s.
    type: dict
    required: true
    suboptions:
      command: {type: list, elements: str, required: true, description: The command without the server's address.}
      port: {type: int, required: true, description: The first of two free ports.}
      at_least_gbps: {type: float, required: true, description: Least figure of each direction.}
  allreduce:
    description: How this node's ranks are started, once for each algorithm of the limits. It may be left out.
    type: dict
    suboptions:
      command: {type: list, elements: str, required: true, description: What starts them, beginning with C(docker run).}
      ranks: {type: int, required: true, description: Ranks of both nodes together.}
      limits:
        description: Bus bandwidth in GB/s by algorithm with at_least and at_most; C(default) is NCCL's own choice.
        type: dict
        required: true
  timeout_s: {type: int, default: 300, description: Seconds that each measurement may take.}
  meet_s: {type: int, default: 60, description: Seconds to wait for the other node.}
  key: {type: str, required: true, description: "What the figures hold for, such as cards and driver, to compare with."}
  file: {type: path, required: true, description: File on the node for the figures.}
"""

EXAMPLES = r"""
- name: Measure the link between two nodes
  fabric_pair:
    names: [node1, node2]
    addresses: [10.77.0.1, 10.77.0.2]
    index: "{{ ['node1', 'node2'].index(inventory_hostname) }}"
    bandwidth: {command: [ib_write_bw, -F, --report_gbits], port: 18515, at_least_gbps: 90}
    key: 580.126.20
    file: /var/lib/apollo/accepted.json
"""

RETURN = r"""
facts:
  description: What this node has measured, as lines of a journal.
  returned: always
  type: list
  elements: dict
faults:
  description: What is wrong, a line each with value, limit and remedy.
  returned: always
  type: list
  elements: str
"""

RETRY_S = 0.5


class Pair:
    """This node's part."""

    def __init__(self, module: AnsibleModule) -> None:
        self.module, self.params, self.index = module, module.params, module.params["index"]
        self.facts: list[Event] = []
        self.faults: list[str] = []

    def run(self, command: list[str]) -> tuple[int, str]:
        code, out, err = self.module.run_command(["timeout", str(self.params["timeout_s"]), *command])
        return code, f"{out}\n{err}"

    def serve(self, port: int) -> None:
        self.run([*self.params["bandwidth"]["command"], "-p", str(port)])

    def ask(self, port: int) -> tuple[int, str]:
        """As soon as the other side listens."""
        other, gives_up = self.params["addresses"][1 - self.index], time.monotonic() + self.params["meet_s"]
        while True:
            code, text = self.run([*self.params["bandwidth"]["command"], "-p", str(port), other])
            if code == 0 or time.monotonic() > gives_up:
                return code, text
            time.sleep(RETRY_S)

    def measure_bandwidth(self) -> None:
        """The second node asks first, then the first one."""
        asked, port = self.params["bandwidth"], self.params["bandwidth"]["port"]
        for asker in (1, 0):
            if asker != self.index:
                self.serve(port + asker)
                continue
            names = self.params["names"]
            way = core.way([names[asker], names[1 - asker]])
            code, text = self.ask(port + asker)
            try:
                found = core.parse_bandwidth(text)
            except ValueError as error:
                self.faults.append(f"{way}: bandwidth is not known: {error}, exit code {code}: {last_line(text)}")
                continue
            self.facts.append(core.bandwidth_fact(found, way, round(time.time())))
            self.faults += core.bandwidth_faults(found, way, asked["at_least_gbps"])

    def reduce(self, algorithm: str) -> None:
        """Both nodes' ranks; the first node reads what came of it."""
        command: list[str] = self.params["allreduce"]["command"]
        chosen = [] if algorithm == core.OWN_CHOICE else [f"--env=NCCL_ALGO={algorithm}"]
        code, text = self.run([*command[:2], *chosen, *command[2:]])
        if self.index != 0:
            return
        between = core.pair(self.params["names"])
        try:
            found = core.parse_allreduce(text)
        except ValueError as error:
            self.faults.append(f"{between}: {error}, exit code {code} with {algorithm}: {last_line(text)}")
            return
        self.facts += core.allreduce_facts(found, between, round(time.time()))
        self.faults += core.allreduce_faults(found, between, self.params["allreduce"])

    def measure(self) -> None:
        self.measure_bandwidth()
        for algorithm in self.params["allreduce"]["limits"] if self.params["allreduce"] else []:
            self.reduce(algorithm)

    def keep(self) -> None:
        """The figures stay whatever they are; the key only where nothing is wrong, so that the next run looks again."""
        path = Path(self.params["file"])
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = {"key": "" if self.faults else self.params["key"], "facts": self.facts}
        write_files(self.module, path.parent, {path.name: json.dumps(kept, indent=1) + "\n"})


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it printed nothing"])[-1].strip()[:200]


def main() -> None:
    words = {"type": "list", "elements": "str", "required": True}
    wanted = {"type": "dict", "required": True}
    number = {"type": "int", "required": True}
    bandwidth = {"command": words, "port": number, "at_least_gbps": {"type": "float", "required": True}}
    allreduce = {"command": words, "ranks": number, "limits": wanted}
    module = AnsibleModule(
        argument_spec={
            "names": words,
            "addresses": words,
            "index": {**number, "choices": [0, 1]},
            "bandwidth": {**wanted, "options": bandwidth},
            "allreduce": {"type": "dict", "options": allreduce},
            "timeout_s": {"type": "int", "default": 300},
            "meet_s": {"type": "int", "default": 60},
            "key": {"type": "str", "required": True},
            "file": {"type": "path", "required": True},
        },
        supports_check_mode=True,
    )
    measured = Pair(module)
    if not module.check_mode:
        measured.measure()
        measured.keep()
    module.exit_json(changed=True, facts=measured.facts, faults=measured.faults)


if __name__ == "__main__":
    main()
