"""The points of a sweep, each addressed by everything that shapes its result."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

HASH_LENGTH = 16
ALONE_SEED_STEP = 500_009
WHICH_POINTS = ("concurrency", "alone")

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
        "text": sweep.get("text") or None,
    }


def plan_points(sweep: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One point per concurrency, in the order asked for, with its hash; all endpoints are driven at once."""
    return [_point(sweep, concurrency) for concurrency in dict.fromkeys(sweep["settings"]["concurrency"])]


def plan_alone_points(sweep: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The same with the first endpoint alone, where that is asked for: what all of them are then compared with."""
    endpoints = [endpoint["name"] for endpoint in sweep["layout"]["endpoints"]]
    if not sweep["settings"].get("alone") or len(endpoints) < 2:
        return []
    wanted = dict.fromkeys(sweep["settings"]["concurrency"])
    return [_point(sweep, concurrency, endpoints[:1]) for concurrency in wanted]


def _point(sweep: Mapping[str, Any], concurrency: int, endpoints: Sequence[str] = ()) -> dict[str, Any]:
    settings = sweep["settings"]
    point: dict[str, Any] = {
        "concurrency": concurrency,
        "prompts": concurrency * settings["prompts_per_slot"],
        "input_tokens": settings["input_tokens"],
        "output_tokens": settings["output_tokens"],
        "warmups": concurrency,
        "seed": settings["seed"] + concurrency + (ALONE_SEED_STEP if endpoints else 0),
        "dataset": settings.get("dataset", "random"),
        **({"endpoints": list(endpoints)} if endpoints else {}),
    }
    return {**point, "hash": content_hash({**identity(sweep), "point": point, "restart": settings["restart"]})}


def sweep_id(sweep: Mapping[str, Any]) -> str:
    """A sweep with other settings is another sweep; more points of the same settings are not."""
    settings = {name: value for name, value in sweep["settings"].items() if name not in WHICH_POINTS}
    return f"{sweep['layout']['plan']}-{content_hash([identity(sweep), settings])[:8]}"
