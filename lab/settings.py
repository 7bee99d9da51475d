"""Names, addresses and places of one lab. Pure: nothing here touches the computer."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

LABEL = "apollo-lab"
LABEL_CONTENT = "apollo-lab.content"
SHARED = "shared"
NODE_NAMES = ("node1", "node2")
FABRIC_INTERFACE = "ibp65s0"
NAME_RULE = re.compile(r"[a-z][a-z0-9-]{0,30}")
SUBNET_RULE = re.compile(r"[1-9][0-9]{0,2}")  # as inventory/lab writes it into addresses: 077 would be another one


class LabError(Exception):
    """Something that the operator can act on; its text is one line."""


@dataclass(frozen=True)
class Node:
    """One simulated node: where it is reached and which fabric address it shall get."""

    name: str
    container: str
    management_address: str
    fabric_address: str


@dataclass(frozen=True)
class Lab:
    """One lab. Several may live beside each other: they differ in name and subnet."""

    name: str
    subnet: int
    root: Path
    cache: Path

    @property
    def state(self) -> Path:
        """Keys, logs and known hosts of this lab, in the clone."""
        return self.root / ".lab" / self.name

    @property
    def logs(self) -> Path:
        """One log per playbook run."""
        return self.state / "logs"

    @property
    def lock(self) -> Path:
        """Where those who work on this lab's nodes meet, also from several clones."""
        return self.cache / "labs" / self.name

    @property
    def share(self) -> Path:
        """What every node sees read-only under /opt/lab."""
        return self.cache / "share"

    @property
    def labels(self) -> dict[str, str]:
        """The labels by which the lab knows its own containers, networks and volumes."""
        return {LABEL: self.name}

    @property
    def management_network(self) -> str:
        """Name of the network that ssh uses."""
        return f"{self.name}-management"

    @property
    def fabric_network(self) -> str:
        """Name of the network that stands for InfiniBand."""
        return f"{self.name}-fabric"

    @property
    def management_subnet(self) -> str:
        """Subnet that ssh uses."""
        return f"172.30.{self.subnet}.0/24"

    @property
    def fabric_subnet(self) -> str:
        """Subnet of the IPoIB addresses."""
        return f"10.{self.subnet}.0.0/24"

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes in the order in which plans count them."""
        return tuple(
            Node(
                name=name,
                container=f"{self.name}-{name}",
                management_address=f"172.30.{self.subnet}.{11 + index}",
                fabric_address=f"10.{self.subnet}.0.{1 + index}",
            )
            for index, name in enumerate(NODE_NAMES)
        )


def read_settings(environment: Mapping[str, str], root: Path) -> Lab:
    """Read LAB_NAME, LAB_SUBNET and XDG_CACHE_HOME; refuse what Docker or IPv4 would refuse later."""
    name = environment.get("LAB_NAME") or "apollo-lab"
    if not NAME_RULE.fullmatch(name) or name == SHARED:
        raise LabError(f"LAB_NAME is {name!r}: use up to 31 lower-case letters, digits and dashes, a letter first")
    subnet = environment.get("LAB_SUBNET") or "77"
    if not SUBNET_RULE.fullmatch(subnet) or int(subnet) > 254:
        raise LabError(f"LAB_SUBNET is {subnet!r}: use a number from 1 to 254, such as 77")
    cache = Path(environment.get("XDG_CACHE_HOME") or Path(environment.get("HOME") or "/root") / ".cache")
    return Lab(name=name, subnet=int(subnet), root=root, cache=cache / "apollo-lab")
