"""Images that the lab builds, found again by the content that shaped them."""

from dataclasses import dataclass
from pathlib import Path

import docker
from docker.errors import APIError, BuildError, ImageNotFound
from docker.models.images import Image

from lab.base import ensure_base
from lab.content import content_hash
from lab.settings import LABEL, LABEL_CONTENT, SHARED, LabError

BUILDS = Path(__file__).parent / "builds"


@dataclass(frozen=True)
class Recipe:
    """What an image is built of, and its name; without a tag the content's hash is the tag."""

    folder: str
    repository: str
    tag: str = ""


NODE = Recipe("node", "apollo-lab/node")
ENGINE = Recipe("engine", "apollo-lab/vllm-openai-cpu", "v0.32.0")


def ensure_image(client: docker.DockerClient, recipe: Recipe, cache: Path) -> str:
    """Build an image over the base unless one of the same content is there; return its name."""
    base = ensure_base(client, cache)
    content = content_hash([BUILDS / recipe.folder], base)
    name = f"{recipe.repository}:{recipe.tag or content}"
    old = find_image(client, name)
    if old is not None and old.labels.get(LABEL_CONTENT) == content:
        return name
    build(client, BUILDS / recipe.folder, name, {"BASE": base}, {LABEL: SHARED, LABEL_CONTENT: content})
    if old is not None:
        forget_image(client, str(old.id))
    return name


def find_image(client: docker.DockerClient, name: str) -> Image | None:
    """Return an image of this name, or nothing."""
    try:
        return client.images.get(name)
    except ImageNotFound:
        return None


def forget_image(client: docker.DockerClient, identity: str) -> None:
    """Remove an image that has lost its name, unless something still stands on it."""
    try:
        client.images.remove(identity)
    except APIError:
        return


def build(
    client: docker.DockerClient, folder: Path, name: str, arguments: dict[str, str], labels: dict[str, str]
) -> None:
    """Build one image; a failure shows the last thing that the build said."""
    try:
        client.images.build(path=str(folder), tag=name, buildargs=arguments, labels=labels, rm=True, forcerm=True)
    except BuildError as error:
        lines = [str(part.get("stream", "")).strip() for part in error.build_log]
        last = next((line for line in reversed(lines) if line), "no output")
        raise LabError(f"building {name} failed: {error.msg}; last output: {last}") from error
