"""The simulated hardware packages, as flat apt repositories that the nodes read from /opt/lab/apt.

The first is what the vendors offer; the folders in it are what they may publish later, for stories to add.
"""

import hashlib
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import docker
import yaml

from lab.content import build_folder, content_hash
from lab.helper import run_helper

HERE = Path(__file__).parent
HARDWARE = HERE / "builds" / "hardware"
MAIN = "main"
ORIGINS = {"cuda": "NVIDIA"}
PROGRAM = """#!/usr/bin/python3
# Simulated by the lab.
import sys

sys.path.insert(0, "/usr/lib/apollo-lab")
from simulated.{module} import {function}

sys.exit({function}())
"""
BUILD = """cd /build/trees
for folder in *; do
    mkdir -p "/build/$folder"
    for tree in "$folder"/*; do dpkg-deb --root-owner-group -Zgzip -z1 --build "$tree" "/build/$folder" >/dev/null; done
done"""


@dataclass(frozen=True)
class Package:
    """One entry of lab/builds/hardware/packages.yml; `repository` is the folder that offers it."""

    name: str
    version: str
    repository: str = MAIN
    depends: list[str] = field(default_factory=list)
    provides: list[str] = field(default_factory=list)
    programs: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    holds_modules: bool = False


def load_packages(path: Path = HARDWARE / "packages.yml") -> list[Package]:
    """Read the list of packages."""
    return [Package(**entry) for entry in yaml.safe_load(path.read_text(encoding="utf-8"))]


def control_text(package: Package) -> str:
    """Write a package's control file."""
    depends = list(package.depends)
    if package.programs:
        depends.append("apollo-lab-hardware")
    fields = {
        "Package": package.name,
        "Version": package.version,
        "Architecture": "all",
        "Maintainer": "Apollo lab <lab@localhost>",
        "Depends": ", ".join(depends),
        "Provides": ", ".join(package.provides),
        "Description": f"simulated {package.name}\n Stands in for the vendor's package on a node without the hardware.",
    }
    return "".join(f"{key}: {value}\n" for key, value in fields.items() if value)


def lay_out(package: Package, tree: Path) -> None:
    """Lay a package's files out as dpkg-deb wants them."""
    own_files = HARDWARE / package.name
    if own_files.is_dir():
        shutil.copytree(own_files, tree)
    if package.holds_modules:
        target = tree / "usr/lib/apollo-lab/simulated"
        shutil.copytree(HERE / "simulated", target, ignore=shutil.ignore_patterns("__pycache__"))
    for path, entry in package.programs.items():
        module, function = entry.split(".")
        write(tree / path, PROGRAM.format(module=module, function=function), 0o755)
    for path, text in package.texts.items():
        write(tree / path, text)
    write(tree / "DEBIAN/control", control_text(package))


def write(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


def index_entry(package: Package, archive: Path) -> str:
    """Describe one archive for the Packages index."""
    data = archive.read_bytes()
    place = f"Filename: ./{archive.name}\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n"
    return control_text(package) + place


def release_text(index: str, repository: str = MAIN) -> str:
    """Write the Release file: the origin by which the nodes prefer these packages; one folder is another vendor's."""
    digest = hashlib.sha256(index.encode()).hexdigest()
    origin = ORIGINS.get(repository, "apollo-lab")
    head = f"Origin: {origin}\nLabel: {origin}\nSuite: lab\nArchitectures: all amd64\n"
    return f"{head}Date: Thu, 01 Jan 2026 00:00:00 UTC\nSHA256:\n {digest} {len(index.encode())} Packages\n"


def write_index(folder: Path, packages: list[Package], repository: str) -> None:
    """Describe what lies in one repository."""
    place = folder / repository
    offered = [package for package in packages if package.repository == repository]
    index = "\n".join(index_entry(package, next(place.glob(f"{package.name}_*.deb"))) for package in offered)
    write(place / "Packages", index)
    write(place / "Release", release_text(index, repository))


def ensure_repository(client: docker.DockerClient, base: str, share: Path) -> bool:
    """Build the repositories in share/apt unless they are current; say whether they were built."""
    content = content_hash([HARDWARE, HERE / "simulated", Path(__file__)])

    def build(folder: Path) -> None:
        packages = load_packages()
        repositories = {package.repository for package in packages}
        for package in packages:
            lay_out(package, folder / "trees" / package.repository / package.name)
        run_helper(client, base, ["sh", "-ec", BUILD], share, {folder: "/build"})
        shutil.rmtree(folder / "trees")
        for repository in repositories:
            write_index(folder, packages, repository)

    return build_folder(share / "apt", content, build)


def ensure_firmware(share: Path) -> bool:
    """Lay the programs that a bare node has into share/firmware; say whether that was needed."""

    def build(folder: Path) -> None:
        shutil.copytree(HERE / "simulated", folder / "simulated", ignore=shutil.ignore_patterns("__pycache__"))

    return build_folder(share / "firmware", content_hash([HERE / "simulated"]), build)
