"""Images go in the order in which they stand on one another, and what cannot go is named."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import docker
import pytest
from docker.errors import APIError, ImageNotFound

from lab.removal import remove_images
from lab.settings import LabError


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


def test_images_that_stand_on_one_another_all_go() -> None:
    images = Images({"a-base": None, "b-node": "a-base", "c-engine": "b-node"})
    remove_images(engine(images))
    assert images.parents == {}


def test_image_under_a_foreign_one_is_named() -> None:
    images = Images({"base": None, "node": "base", "foreign": "base"}, others=("foreign",))
    with pytest.raises(LabError, match="images base stay"):
        remove_images(engine(images))
    assert set(images.parents) == {"base", "foreign"}
