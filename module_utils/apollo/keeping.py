"""Containers that are never started and only keep an image from a clean-up."""

from __future__ import annotations

import json
from collections.abc import Mapping

LABEL = "apollo.keeps"


def parse_holders(inspected: str) -> dict[str, str]:
    """Read ``docker inspect`` of the containers that keep images: their names by the image's id."""
    return {entry["Image"]: entry["Name"].lstrip("/") for entry in json.loads(inspected)}


def commands(wanted: Mapping[str, str], found: Mapping[str, str]) -> list[list[str]]:
    """Give the words for docker that keep these images, ids by name, and no other; none when it is so."""
    names = {image_id: name for name, image_id in wanted.items()}
    letting_go = [["rm", holder] for image_id, holder in found.items() if image_id not in names]
    return [_holder(name, image_id) for image_id, name in names.items() if image_id not in found] + letting_go


def _holder(name: str, image_id: str) -> list[str]:
    holder = f"apollo-keeps-{image_id.removeprefix('sha256:')[:12]}"
    # Were it started, it would do nothing.
    harmless = ["--network=none", "--restart=no", "--entrypoint=/bin/true"]
    return ["create", f"--name={holder}", f"--label={LABEL}={name}", *harmless, image_id]
