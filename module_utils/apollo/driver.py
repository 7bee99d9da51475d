"""What a node's driver is in, and the one step that makes it ready. Pure: values in, a verdict out.

The verdict goes by what is loaded, on disk, installed and on offer, never by what an earlier step changed: a run that
was killed anywhere is finished by the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

READY, INSTALL, REBOOT, REFUSE = "ready", "install", "reboot", "refuse"


@dataclass(frozen=True)
class Offer:
    """What a package source would install: a version, and who published it."""

    version: str
    origin: str


@dataclass(frozen=True)
class State:
    """All that decides, as read from one node; an empty version is a thing that is not there.

    ``listed`` says whether a list of the wanted origin could be read; None where nobody tried.
    """

    gpus: int = 0
    nvswitches: int = 0
    running_kernel: str = ""
    next_kernel: str = ""
    loaded: str = ""
    on_disk: str = ""
    next_on_disk: str = ""
    userspace: str = ""
    nouveau: bool = False
    secure_boot: bool | None = None
    built: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    offers: dict[str, Offer | None] = field(default_factory=dict)
    listed: bool | None = None


@dataclass(frozen=True)
class Wanted:
    """What a site wants; an empty origin is not judged, nor are kernels where none is named."""

    branch: str
    origin: str = ""
    kernels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """The next step, and why, a line each with value, limit and remedy."""

    step: str
    reasons: tuple[str, ...] = ()


def decide(state: State, wanted: Wanted) -> Verdict:
    """Give the next step from this state to a driver that is ready."""
    if reasons := refusals(state, wanted):
        return Verdict(REFUSE, reasons)
    if state.missing:
        return Verdict(INSTALL, (f"{', '.join(state.missing)} not installed",))
    if not state.next_on_disk or state.next_on_disk != state.userspace:
        return Verdict(REFUSE, (_misfit(state),))
    if reasons := _reboot_reasons(state):
        return Verdict(REBOOT, reasons)
    return Verdict(READY)


def refusals(state: State, wanted: Wanted) -> tuple[str, ...]:
    """Say why nothing may be installed here; nothing means that it may."""
    kernel = () if state.kernels or not wanted.kernels else (_flavour(wanted),)
    packages = _branch(state, wanted) or [*_lists(state, wanted), *_offers(state, wanted)]
    return (*_board(state), *kernel, *_secure_boot(state), *packages)


def after_reboot(state: State) -> State:
    """Give the state that the next boot brings."""
    return replace(
        state,
        running_kernel=state.next_kernel,
        loaded=state.next_on_disk,
        on_disk=state.next_on_disk,
        nouveau=False,
    )


def newest_kernel(names: Iterable[str]) -> str:
    """Give the kernel that the boot loader takes: the newest of these releases, or nothing."""
    return max(names, key=lambda name: [int(number) for number in re.findall(r"\d+", name)], default="")


def _board(state: State) -> list[str]:
    if state.nvswitches:
        return [
            f"{state.nvswitches} NVSwitches on the PCI bus, none expected: this is an 8-GPU board, which needs a "
            "fabric manager of the driver's version and is not supported here"
        ]
    if not state.gpus:
        return ["no NVIDIA GPU on the PCI bus, at least one expected: see `lspci -d 10de:`, seat the board"]
    return []


def _flavour(wanted: Wanted) -> str:
    return (
        f"none of {', '.join(wanted.kernels)} is installed, the packages of the running kernel expected: "
        "set nvidia_driver_kernel_flavour, see `dpkg -l 'linux-image-*'`"
    )


def _secure_boot(state: State) -> list[str]:
    if state.secure_boot and state.built:
        return [
            f"Secure Boot is on and {', '.join(state.built)} builds unsigned modules, signed ones expected: purge it, "
            "or enrol its key at the console as docs/prepare.md says"
        ]
    return []


def _branch(state: State, wanted: Wanted) -> list[str]:
    if state.userspace and _major(state.userspace) != wanted.branch:
        return [
            f"driver {state.userspace} is installed, branch {wanted.branch} expected: purge the packages of the other "
            "branch, or set nvidia_driver_branch"
        ]
    return []


def _lists(state: State, wanted: Wanted) -> list[str]:
    """Judge whether anything can be installed at all."""
    if state.missing and state.listed is False:
        return [
            f"no package list of {wanted.origin or 'any source'} can be read, one expected for a driver that is still "
            "to come: see `apt-get update`, the network and its proxy"
        ]
    return []


def _offers(state: State, wanted: Wanted) -> list[str]:
    """Judge what would be installed, a line for each thing that is wrong with it; an unknown package is not judged."""
    faults: dict[str, list[str]] = {}
    for package, offer in state.offers.items():
        if offer is None:
            faults.setdefault(_unoffered(wanted), []).append(package)
        elif wanted.origin and offer.origin != wanted.origin:
            faults.setdefault(_foreign(offer, wanted), []).append(f"{package} {offer.version}")
        elif not package.startswith("linux-") and _major(offer.version) != wanted.branch:
            faults.setdefault(_ended(offer, wanted), []).append(package)
    return [f"{', '.join(names)} {fault}" for fault, names in faults.items()]


def _unoffered(wanted: Wanted) -> str:
    return (
        f"not offered by any source, branch {wanted.branch} expected: set nvidia_driver_branch to a branch that "
        f"{wanted.origin or 'one of them'} offers, see `apt-cache search nvidia-utils`"
    )


def _foreign(offer: Offer, wanted: Wanted) -> str:
    return (
        f"would come from {offer.origin or 'no known origin'}, {wanted.origin} expected: remove that source, or set "
        "nvidia_driver_origin"
    )


def _ended(offer: Offer, wanted: Wanted) -> str:
    return (
        f"would become {offer.version}, branch {wanted.branch} expected: the branch has ended there, pin its last "
        "version or set nvidia_driver_branch"
    )


def _misfit(state: State) -> str:
    have = f"module {state.next_on_disk}" if state.next_on_disk else "no NVIDIA module"
    return (
        f"kernel {state.next_kernel or 'of the next boot'} has {have}, {state.userspace or 'one of the set'} expected: "
        "run playbooks/upgrade.yml, or install the linux-modules-nvidia package of that version for this kernel"
    )


def _reboot_reasons(state: State) -> tuple[str, ...]:
    reasons = []
    if state.nouveau:
        reasons.append("nouveau holds the GPUs")
    if state.loaded != state.userspace:
        reasons.append(f"driver {state.loaded or 'none'} is loaded, {state.userspace} is installed")
    return tuple(reasons)


def _major(version: str) -> str:
    return version.partition(":")[2].split(".")[0] if ":" in version else version.split(".")[0]
