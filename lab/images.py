"""Images that the lab builds, found again by the content that shaped them."""

from dataclasses import dataclass
from pathlib import Path

import docker
from docker.errors import BuildError, ImageNotFound

from lab.base import ensure_base
from lab.content import content_hash
from lab.settings import LABEL, LABEL_CONTENT, SHARED, LabError

BUILDS = Path(__file__).parent / "builds"


@dataclass(frozen=True)
class Image:
    """What an image is built of, and its name; without a tag the content's hash is the tag."""

    folder: str
    repository: str
    tag: str = ""


NODE = Image("node", "apollo-lab/node")
ENGINE = Image("engine", "apollo-lab/vllm-openai-cpu", "v0.32.0")


def ensure_image(client: docker.DockerClient, image: Image, cache: Path) -> str:
    """Build an image over the base unless one of the same content is there; return its name."""
    base = ensure_base(client, cache)
    content = content_hash([BUILDS / image.folder], base)
    name = f"{image.repository}:{image.tag or content}"
    try:
        if client.images.get(name).labels.get(LABEL_CONTENT) == content:
            return name
    except ImageNotFound:
        pass
    build(client, BUILDS / image.folder, name, {"BASE": base}, {LABEL: SHARED, LABEL_CONTENT: content})
    return name


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
