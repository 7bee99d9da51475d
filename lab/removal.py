"""The end of a lab: its nodes, networks and volumes; and of everything that labs share, when it was the last one."""

import shutil
from http import HTTPStatus

import docker
from docker.errors import APIError, ImageNotFound

from lab.nodes import remove_node
from lab.settings import LABEL, SHARED, Lab, LabError


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
    """Remove every image that labs made, the unnamed ones of killed builds included.

    Raises LabError that names what something else on this computer still stands on.
    """
    for container in client.containers.list(all=True, filters={"label": f"{LABEL}={SHARED}"}):
        container.remove(force=True)
    left = made_images(client)
    while left and (remaining := [image for image in left if not removed(client, image)]) != left:
        left = remaining
    if left:
        raise LabError(f"images {', '.join(left)} stay: something that is no lab's stands on them, remove that first")


def made_images(client: docker.DockerClient) -> list[str]:
    """Identify the images that labs made."""
    named = client.images.list(filters={"reference": "apollo-lab/*"})
    labelled = client.images.list(all=True, filters={"label": f"{LABEL}={SHARED}"})
    return sorted({str(image.id) for image in [*named, *labelled]})


def removed(client: docker.DockerClient, image: str) -> bool:
    """Remove an image, or leave it for later when another one stands on it."""
    try:
        client.images.remove(image, force=True)
    except ImageNotFound:
        return True
    except APIError as error:
        if error.status_code != HTTPStatus.CONFLICT:
            raise
        return False
    return True


def remove_files(lab: Lab, cache: bool) -> None:
    """Remove the lab's state in the clone, and the cache if it is wanted."""
    shutil.rmtree(lab.state, ignore_errors=True)  # a lab that never came up has none
    if lab.state.parent.is_dir() and not any(lab.state.parent.iterdir()):
        lab.state.parent.rmdir()
    if cache:
        shutil.rmtree(lab.cache, ignore_errors=True)  # a lab that built nothing has none
