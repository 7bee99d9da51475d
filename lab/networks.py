"""The lab's two networks: one for ssh and packages, one that stands for the InfiniBand fabric."""

import docker
from docker.errors import APIError
from docker.types import IPAMConfig, IPAMPool

from lab.settings import Lab, LabError


def ensure_networks(client: docker.DockerClient, lab: Lab) -> None:
    """Create both networks unless they are there."""
    ensure_network(client, lab, lab.management_network, lab.management_subnet, internal=False)
    ensure_network(client, lab, lab.fabric_network, lab.fabric_subnet, internal=True)


def refuse_another_subnet(client: docker.DockerClient, lab: Lab) -> None:
    """Refuse a lab that stands in another subnet than the one asked for: its nodes would be looked for in vain."""
    for network in client.networks.list(names=[f"^{lab.management_network}$"]):
        have = [pool.get("Subnet") for pool in network.attrs["IPAM"]["Config"] or []]
        if have != [lab.management_subnet]:
            raise LabError(
                f"LAB_SUBNET is {lab.subnet}, but {lab.name} stands in {', '.join(map(str, have))}: "
                "set LAB_SUBNET to that lab's, LAB_NAME to another one, or run bin/lab down first"
            )


def ensure_network(client: docker.DockerClient, lab: Lab, name: str, subnet: str, internal: bool) -> None:
    """Create one network; .254 is this computer, since .1 is a node."""
    if client.networks.list(names=[f"^{name}$"]):
        return
    pool = IPAMPool(subnet=subnet, gateway=subnet.replace(".0/24", ".254"))
    ipam = IPAMConfig(pool_configs=[pool])
    try:
        client.networks.create(name, driver="bridge", ipam=ipam, internal=internal, labels=lab.labels)
    except APIError as error:
        raise LabError(f"network {name} with {subnet}: {error.explanation}; set LAB_SUBNET to a free number") from error
