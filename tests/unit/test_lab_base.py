"""What the rig reads about the computer it runs on."""

from pathlib import Path

import pytest

from lab.base import parse_os_release, select_sources
from lab.vllm_tree import torch_options

TARGETS = """Debian|http://mirror/debian/|bookworm|main
Debian|http://mirror/debian/|bookworm|non-free
Debian|http://mirror/debian/|bookworm|main
Debian|http://mirror/security/|bookworm-security|main
Node Source|http://elsewhere/node|nodistro|main
||bookworm|main
"""


def test_only_the_distribution_itself_becomes_a_source_and_once() -> None:
    assert select_sources(TARGETS, "debian", ("main",)) == [
        "deb http://mirror/debian/ bookworm main",
        "deb http://mirror/security/ bookworm-security main",
    ]


def test_an_empty_index_gives_no_source() -> None:
    assert select_sources("", "debian", ("main",)) == []


def test_os_release_loses_its_quotes() -> None:
    release = parse_os_release('ID=ubuntu\nVERSION_ID="24.04"\n# a comment=1\nVERSION_CODENAME=noble\n')
    assert release == {"ID": "ubuntu", "VERSION_ID": "24.04", "VERSION_CODENAME": "noble"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl", []),
        ("torch-2.13.0+cpu-cp312-cp312-manylinux_2_28_x86_64.whl", ["--torch-backend", "cpu"]),
        ("torch-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl", ["--torch-backend", "cpu"]),
    ],
)
def test_a_folder_with_the_cpu_build_of_torch_for_this_python_is_enough(
    tmp_path: Path, name: str, expected: list[str]
) -> None:
    (tmp_path / name).touch()
    assert torch_options(str(tmp_path), "3.11") == expected


def test_without_a_wheel_folder_uv_knows_where_torch_lies() -> None:
    assert torch_options("", "3.11") == torch_options("https://wheels.invalid/", "3.11") == ["--torch-backend", "cpu"]
