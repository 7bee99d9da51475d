"""Whether two measurements may be compared at all: their settings must be equal, or allowed to differ by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible.module_utils.apollo.bench_rows import Sweep

NOT_RECORDED = "not recorded"


def settings_of(sweep: Sweep) -> dict[str, Any]:
    """Everything by name that shapes a sweep's results, flat: what was asked, what served, and what on."""
    layout = sweep.about["layout"]
    engines = layout["engines"]
    arguments = [_arguments(engine.get("arguments") or []) for engine in engines]
    environments = [engine.get("environment") or {} for engine in engines]
    return {
        **{name: value for name, value in sweep.about["settings"].items() if name != "concurrency"},
        "plan": layout["plan"],
        "variant": ", ".join(sweep.variants),
        "endpoints": len(layout["endpoints"]),
        "models": ", ".join(f"{model['name']} {model.get('revision') or ''}".strip() for model in layout["models"]),
        "image": sweep.about.get("image"),
        "client": sweep.about.get("client"),
        "hardware": _flat(sweep.about.get("hardware") or {}),
        **{f"argument {name}": value for told in arguments for name, value in told.items()},
        **{f"environment {name}": value for told in environments for name, value in told.items()},
    }


def differences(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Each setting that is not the same on both sides."""
    names = sorted({*left, *right})
    both = {name: (left.get(name, NOT_RECORDED), right.get(name, NOT_RECORDED)) for name in names}
    return {name: pair for name, pair in both.items() if pair[0] != pair[1]}


def refusal(made_with: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """Why a limit is not held against a sweep; empty where it may be."""
    unequal = [
        f"{name} is {settings.get(name, NOT_RECORDED)} here and {value} there"
        for name, value in made_with.items()
        if settings.get(name, NOT_RECORDED) != value
    ]
    return "; ".join(unequal)


def is_allowed(name: str, allowed: Iterable[str]) -> bool:
    """A name allows itself and, ending in *, all that begin like it."""
    return any(name == word or (word.endswith("*") and name.startswith(word[:-1])) for word in allowed)


def _arguments(words: Iterable[Any]) -> dict[str, Any]:
    """`--name value` pairs; a flag alone is true, what is bound to one node is left out."""
    told: dict[str, Any] = {}
    name = ""
    for word in map(str, words):
        if word.startswith("--"):
            name = word.lstrip("-").partition("=")[0]
            told[name] = word.partition("=")[2] or True
        elif name:
            told[name] = word if told[name] is True else f"{told[name]} {word}"
    return {name: value for name, value in told.items() if name not in BOUND}


BOUND = frozenset({"host", "port", "node-rank", "master-addr", "master-port", "headless", "nnodes"})


def _flat(hardware: Mapping[str, Any]) -> str:
    """The machine in one line, nodes in order, since their names differ from site to site."""
    return "; ".join(", ".join(f"{key} {value}" for key, value in sorted(node.items())) for node in hardware.values())
