"""Images go in the order in which they stand on one another, and what cannot go is named."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import docker
import pytest
from docker.errors import APIError, ImageNotFound, NotFound

from lab.nodes import is_usable, remove_node
from lab.removal import remove_images
from lab.settings import LABEL_CONTENT, LabError, read_settings


class Images:
    """An engine's images: each may stand on another one, and then that one cannot go first."""

    def __init__(self, parents: dict[str, str | None], others: tuple[str, ...] = ()) -> None:
        self.parents = dict(parents)
        self.others = others

    def list(self, **_: Any) -> list[SimpleNamespace]:
        return [SimpleNamespace(id=name) for name in self.parents if name not in self.others]

    def remove(self, name: str, force: bool) -> None:
        assert force
        if name not in self.parents:
            raise ImageNotFound("gone")
        if name in self.parents.values():
            raise APIError("has children", response=cast(Any, SimpleNamespace(status_code=409, url="", reason="")))
        del self.parents[name]


def engine(images: Images) -> docker.DockerClient:
    containers = SimpleNamespace(list=lambda **_: [])
    return cast(docker.DockerClient, SimpleNamespace(images=images, containers=containers))


def test_a_node_that_is_being_removed_is_no_node_and_its_end_is_waited_for() -> None:
    asked: list[str] = []

    def wait(condition: str, timeout: int) -> None:
        asked.append(condition)
        assert timeout > 0
        raise NotFound("gone")

    leaving = cast(Any, SimpleNamespace(status="removing", labels={LABEL_CONTENT: "x"}, wait=wait))
    volume = SimpleNamespace(remove=lambda: asked.append("volume"))
    places = {"containers": SimpleNamespace(get=lambda _: leaving), "volumes": SimpleNamespace(get=lambda _: volume)}
    assert not is_usable(leaving, "x")
    remove_node(cast(Any, SimpleNamespace(**places)), read_settings({}, Path("/clone")).nodes[0])
    assert asked == ["removed", "volume"]


def test_images_that_stand_on_one_another_all_go() -> None:
    images = Images({"a-base": None, "b-node": "a-base", "c-engine": "b-node"})
    remove_images(engine(images))
    assert images.parents == {}


def test_image_under_a_foreign_one_is_named() -> None:
    images = Images({"base": None, "node": "base", "foreign": "base"}, others=("foreign",))
    with pytest.raises(LabError, match="images base stay"):
        remove_images(engine(images))
    assert set(images.parents) == {"base", "foreign"}
