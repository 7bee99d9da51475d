"""The stages of a test run: what each runs, and what must have passed before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

KILLED = 137
PREPARE = ("prepare", "interrupted", "upgrade", "slow_gpu", "missing_gpu", "fabric_down", "foreign_disk")
SERVING = ("switch", "lifecycle", "rollback", "gateway")
SCENARIOS = (*SERVING, *PREPARE, "default")
LINT = {
    "ruff": ("ruff", "check", "."),
    "ruff format": ("ruff", "format", "--check", "."),
    "shell syntax": ("bash", "-n", "bin/environment", "bin/lab", "bin/test", ".ci/run", "tests/runner/programs"),
    "yamllint": ("yamllint", "--strict", "."),
    "mypy core": ("mypy", "-p", "ansible.module_utils.apollo"),
    "mypy": ("mypy",),
    "ansible-lint": ("ansible-lint", "--nocolor"),
}
CHECKERS = ("haproxy=haproxy", "netplan=netplan.io", "systemd-analyze=systemd")
BROWSER = ("chromium=chromium",)
ARGUMENTS_OF_VLLM = "tests/contract/test_vllm_arguments.py"


@dataclass(frozen=True)
class Stage:
    """One command; ``results`` names the JUnit file in which pytest counts its tests."""

    name: str
    command: tuple[str, ...]
    results: str | None = None
    needs: str | None = None
    expected: int = 0
    uses_lab: bool = False


def lint() -> list[Stage]:
    return [Stage(f"lint: {name}", command) for name, command in LINT.items()]


def pytest(name: str, *paths: str, needs: str | None = None, uses_lab: bool = False) -> Stage:
    command = ("pytest", "--quiet", "--durations=5", "--durations-min=1", *paths)
    return Stage(name, command, results=f"{name}.xml", needs=needs, uses_lab=uses_lab)


def programs(*pairs: str) -> Stage:
    return Stage("programs", ("tests/runner/programs", *pairs))


def unit() -> list[Stage]:
    return [pytest("unit", "tests/unit")]


def contract() -> list[Stage]:
    return [programs(*CHECKERS), pytest("contract", "tests/contract")]


def lab() -> list[Stage]:
    """From no node at all, after a first try that was killed half-way, to a report in a browser."""
    killed = ("timeout", "--signal=KILL", "45", "bin/lab")
    return [
        programs(*BROWSER),
        Stage("lab: no node from before", ("bin/lab", "down"), uses_lab=True),
        Stage("lab: first try is killed half-way", killed, expected=KILLED, uses_lab=True),
        Stage("lab: bin/lab", ("bin/lab",), uses_lab=True),
        pytest("lab", ARGUMENTS_OF_VLLM, "tests/lab", needs="lab: bin/lab", uses_lab=True),
    ]


def molecule(scenario: str, needs: str | None = None) -> list[Stage]:
    """One story. What Molecule remembers of an earlier run would make it keep nodes that are to be made anew."""
    forget = ("molecule", "reset", "--scenario-name", scenario)
    command = ("molecule", "test", "--destroy=never", "--scenario-name", scenario)
    return [
        Stage(f"forget: {scenario}", forget, needs=needs),
        Stage(f"molecule: {scenario}", command, needs=needs, uses_lab=True),
    ]


def quick() -> list[Stage]:
    return [*lint(), *unit(), *contract()]


def everything() -> list[Stage]:
    """The order matters: stories of serving reuse the nodes of bin/lab, prepare and default start from bare ones."""
    return [
        *quick(),
        *lab(),
        *[stage for scenario in SERVING for stage in molecule(scenario, needs="lab: bin/lab")],
        *[stage for scenario in PREPARE for stage in molecule(scenario)],
        *molecule("default"),
        Stage("lab: down", ("bin/lab", "down"), uses_lab=True),
    ]


def chosen(words: Sequence[str]) -> list[Stage]:
    """The stages that the words of the command line ask for; ValueError says which words there are."""
    parts = {"quick": quick, "lint": lint, "unit": unit, "contract": contract, "lab": lab}
    match list(words):
        case []:
            return everything()
        case [part] if part in parts:
            return parts[part]()
        case ["molecule"]:
            return [stage for scenario in SCENARIOS for stage in molecule(scenario)]
        case ["molecule", scenario] if scenario in SCENARIOS:
            return molecule(scenario)
    known = ", ".join([*parts, *(f"molecule {scenario}" for scenario in SCENARIOS)])
    raise ValueError(f"unknown part {' '.join(words)!r}: use one of {known}, or nothing for all of it")
