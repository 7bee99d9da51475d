"""bin/lab status: what there is of this lab now."""

import docker
from rich.console import Console
from rich.table import Table

from lab.inside import answer
from lab.nodes import find_container
from lab.settings import Lab, Node
from lab.summary import gateway, read_layout


def node_row(client: docker.DockerClient, node: Node) -> list[str]:
    """Describe one node."""
    container = find_container(client, node)
    if container is None:
        return [node.name, "absent", "", node.management_address]
    state = "not running"
    if container.status == "running":
        _, state = answer(container, "systemctl", "is-system-running")
    return [node.name, container.status, state, node.management_address]


def print_status(client: docker.DockerClient, lab: Lab, console: Console) -> None:
    """Print nodes, the running plan and the gateway."""
    table = Table("node", "container", "systemd", "address", box=None, pad_edge=False)
    rows = [node_row(client, node) for node in lab.nodes]
    for row in rows:
        table.add_row(*row)
    console.print(table)
    if rows[0][1] == "running":
        layout = read_layout(client, lab)
        console.print(f"plan {layout['plan']}, gateway {gateway(lab)[0]}", markup=False, highlight=False)
