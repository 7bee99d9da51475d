"""The points of a sweep, each addressed by everything that shapes its result."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

HASH_LENGTH = 16

# What of an engine shapes a result. Its log patterns, for instance, do not.
ENGINE_KEYS = ("name", "rank", "ranks", "node", "model", "variant", "gpus", "arguments", "environment")


def content_hash(content: Any) -> str:
    """The same content has the same hash, whatever the order of its keys."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_LENGTH]


def identity(sweep: Mapping[str, Any]) -> dict[str, Any]:
    """Everything but the point's own settings: engines, models, image, hardware, client."""
    layout = sweep["layout"]
    return {
        "plan": layout["plan"],
        "engines": [{key: engine.get(key) for key in ENGINE_KEYS} for engine in layout["engines"]],
        "models": sorted([model["name"], model.get("revision") or ""] for model in layout.get("models", [])),
        "image": sweep.get("image"),
        "hardware": sweep.get("hardware"),
        "client": sweep.get("client"),
    }


def plan_points(sweep: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One point per concurrency, in the order asked for, with its hash."""
    settings, base = sweep["settings"], identity(sweep)
    points = []
    for concurrency in dict.fromkeys(settings["concurrency"]):
        point = {
            "concurrency": concurrency,
            "prompts": concurrency * settings["prompts_per_slot"],
            "input_tokens": settings["input_tokens"],
            "output_tokens": settings["output_tokens"],
            "warmups": concurrency,
            "seed": settings["seed"] + concurrency,
        }
        points.append({**point, "hash": content_hash({**base, "point": point, "restart": settings["restart"]})})
    return points


def sweep_id(sweep: Mapping[str, Any]) -> str:
    """A sweep with other settings is another sweep; more points of the same settings are not."""
    settings = {name: value for name, value in sweep["settings"].items() if name != "concurrency"}
    return f"{sweep['layout']['plan']}-{content_hash([identity(sweep), settings])[:8]}"
