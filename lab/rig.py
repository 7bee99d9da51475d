"""The rig as a whole: what it is built of, its nodes, and their end."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import docker

from lab.base import ensure_base
from lab.content import locked
from lab.helper import remove_helpers
from lab.images import ENGINE, NODE, ensure_image
from lab.keys import ensure_keys
from lab.networks import ensure_networks
from lab.nodes import ensure_nodes
from lab.packages import ensure_firmware, ensure_repository
from lab.settings import Lab
from lab.stand_ins import ensure_models
from lab.vllm_tree import ensure_archive, ensure_tree

Note = Callable[[str], None]


class Rig:
    """Builds what is missing, once, and starts nodes on it."""

    def __init__(self, client: docker.DockerClient, lab: Lab) -> None:
        self.client, self.lab = client, lab

    def was_built(self) -> bool:
        """Say whether an earlier run built everything; it may still be out of date."""
        return all((self.lab.share / part).is_dir() for part in ("apt", "firmware", "models", "vllm", "images"))

    @contextmanager
    def building(self) -> Iterator[None]:
        """Be the only one who builds, and end what a killed run left running."""
        with locked(self.lab.cache):
            remove_helpers(self.client, self.lab.share)
            yield

    def build_images(self, note: Note) -> None:
        """Build the images of nodes and engine."""
        with self.building():
            note("base image")
            ensure_base(self.client, self.lab.cache)
            for image in (NODE, ENGINE):
                note(f"image {image.repository}")
                ensure_image(self.client, image, self.lab.cache)

    def build_hardware(self, note: Note) -> None:
        """Build the simulated packages and the stand-in models."""
        with self.building():
            note("packages")
            ensure_repository(self.client, ensure_base(self.client, self.lab.cache), self.lab.share)
            ensure_firmware(self.lab.share)
            note("models")
            ensure_models(self.lab.share)

    def build_engine(self, note: Note) -> None:
        """Install the engine's Python packages, compiled, and save its image for the nodes."""
        with self.building():
            image = ensure_image(self.client, ENGINE, self.lab.cache)
            ensure_tree(self.client, image, self.lab.share, note)
            note("saving the image for the nodes")
            ensure_archive(self.client, image, self.lab.share)

    def start_nodes(self, note: Note, fresh: bool = False) -> list[str]:
        """Bring the nodes up, bare if `fresh`; return the names of those made anew."""
        with self.building():
            image = ensure_image(self.client, NODE, self.lab.cache)
        ensure_keys(self.lab)
        ensure_networks(self.client, self.lab)
        note("waiting until the nodes have booted")
        return ensure_nodes(self.client, self.lab, image, fresh)
