"""The lab's two networks: one for ssh and packages, one that stands for the InfiniBand fabric."""

import docker
from docker.errors import APIError
from docker.types import IPAMConfig, IPAMPool

from lab.settings import Lab, LabError


def ensure_networks(client: docker.DockerClient, lab: Lab) -> None:
    """Create both networks unless they are there."""
    ensure_network(client, lab, lab.management_network, lab.management_subnet, internal=False)
    ensure_network(client, lab, lab.fabric_network, lab.fabric_subnet, internal=True)


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
