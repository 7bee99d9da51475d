"""What apt and dpkg print about packages, as values. Pure: text in, values out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

NOTHING = "(none)"
LOCAL = "/var/lib/dpkg/status"
ABSENT = ("", "n", "c")  # dpkg's second letter: never installed, or only its settings are left
STATUS_LAYOUT = "${db:Status-Abbrev}|${Package}|${Version}\n"

_SOURCE = re.compile(r"\s*-?\d+ (\S.*)")
_RELEASE = re.compile(r"\s+release (\S.*)")
_ORIGIN = re.compile(r"(?:^|,)o=([^,]*)")
_PACKAGE = re.compile(r"(\S+):$")
_FIELD = re.compile(r"  (Installed|Candidate): (\S+)")
_VERSION = re.compile(r" (?:\*\*\*|   ) (\S+)(?: .*)?$")


@dataclass(frozen=True)
class Policy:
    """What apt would do with one package: the versions it has and takes, and where that comes from."""

    installed: str = ""
    candidate: str = ""
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Offered:
    """What apt says about packages, and who published each of its sources."""

    policies: Mapping[str, Policy]
    origins: Mapping[str, str]

    def publishes(self, origin: str) -> bool:
        """Say whether there is a list of this origin; an empty name is any."""
        publishers = {name for source, name in self.origins.items() if source != LOCAL}
        return origin in publishers if origin else bool(publishers)


@dataclass(frozen=True)
class Installed:
    """A package as dpkg knows it; one that is not whole was left half-way, and a broken one has to come anew."""

    version: str
    held: bool
    whole: bool = True
    broken: bool = False


def parse_origins(text: str) -> dict[str, str]:
    """Read ``apt-cache policy`` without packages: who published each source."""
    origins: dict[str, str] = {}
    source = ""
    for line in text.splitlines():
        if (release := _RELEASE.match(line)) and source:
            found = _ORIGIN.search(release[1])
            origins[source] = found[1] if found else ""
        elif match := _SOURCE.match(line):
            source = match[1].strip()
    return origins


def parse_policies(text: str) -> dict[str, Policy]:
    """Read ``apt-cache policy PACKAGE...``; a package that apt never heard of is not there."""
    blocks: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if match := _PACKAGE.match(line):
            lines = blocks.setdefault(match[1], [])
        else:
            lines.append(line)
    return {package: _policy(block) for package, block in blocks.items()}


def parse_status(text: str) -> dict[str, Installed]:
    """Read ``dpkg-query --show`` in STATUS_LAYOUT: what is there, whole or not, and what of it is held."""
    rows = (line.split("|") for line in text.splitlines() if line.count("|") == 2)
    return {
        name: Installed(version, held=status[0] == "h", whole=status[1] == "i", broken=status[2:3] == "R")
        for status, name, version in rows
        if status[1:2] not in ABSENT
    }


def unfinished(known: Mapping[str, Installed]) -> tuple[str, ...]:
    """Name the packages that an interrupted run has left half-way."""
    return tuple(name for name, package in known.items() if package.broken or not package.whole)


def lock_holder(locks: str, inode: int) -> int | None:
    """Read ``/proc/locks``: the process that has locked the file of this number."""
    rows = (line.split() for line in locks.splitlines())
    return next((int(row[4]) for row in rows if len(row) > 5 and row[5].endswith(f":{inode}")), None)


def origin_of(policy: Policy, origins: Mapping[str, str]) -> str:
    """Name who published the candidate; nothing when it is only known from having been installed."""
    sources = [source for source in policy.sources.get(policy.candidate, ()) if source != LOCAL]
    return next((origins[source] for source in sources if source in origins), "")


def upgradable(policies: Mapping[str, Policy], names: Iterable[str]) -> tuple[str, ...]:
    """Name the installed packages for which apt would take another version than they have."""
    known = ((name, policies.get(name, Policy())) for name in names)
    return tuple(name for name, policy in known if policy.installed and policy.candidate != policy.installed)


def _policy(lines: Iterable[str]) -> Policy:
    fields: dict[str, str] = {}
    sources: dict[str, tuple[str, ...]] = {}
    version = ""
    for line in lines:
        if match := _FIELD.match(line):
            fields[match[1]] = "" if match[2] == NOTHING else match[2]
        elif match := _VERSION.match(line):
            version = match[1]
        elif (match := _SOURCE.match(line)) and version:
            sources[version] = (*sources.get(version, ()), match[1].strip())
    return Policy(fields.get("Installed", ""), fields.get("Candidate", ""), sources)
