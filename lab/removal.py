"""The end of a lab: its nodes, networks and volumes; and of everything that labs share, when it was the last one."""

import shutil

import docker
from docker.errors import APIError

from lab.nodes import remove_node
from lab.settings import LABEL, SHARED, Lab


def take_down(client: docker.DockerClient, lab: Lab) -> None:
    """Remove the nodes, their data and networks. Images and caches stay."""
    for node in lab.nodes:
        remove_node(client, node)
    mine = {"label": f"{LABEL}={lab.name}"}
    for network in client.networks.list(filters=mine):
        network.remove()
    for volume in client.volumes.list(filters=mine):
        volume.remove()


def other_labs(client: docker.DockerClient, lab: Lab) -> list[str]:
    """Name the other labs that still have containers on this computer."""
    containers = client.containers.list(all=True, filters={"label": LABEL})
    return sorted({container.labels[LABEL] for container in containers} - {lab.name, SHARED})


def remove_images(client: docker.DockerClient) -> None:
    """Remove every image that labs made, the unnamed ones of killed builds included."""
    leftovers: dict[str, str | list[str] | bool] = {"label": f"{LABEL}={SHARED}"}
    for container in client.containers.list(all=True, filters=leftovers):
        container.remove(force=True)
    for image in client.images.list(filters={"reference": "apollo-lab/*"}):
        client.images.remove(str(image.id), force=True)
    for image in client.images.list(all=True, filters=leftovers):
        try:
            client.images.remove(str(image.id), force=True)
        except APIError:
            continue  # gone already, with an image that was built on it


def remove_files(lab: Lab, cache: bool) -> None:
    """Remove the lab's state in the clone, and the cache if it is wanted."""
    shutil.rmtree(lab.state, ignore_errors=True)
    if lab.state.parent.is_dir() and not any(lab.state.parent.iterdir()):
        lab.state.parent.rmdir()
    if cache:
        shutil.rmtree(lab.cache, ignore_errors=True)
