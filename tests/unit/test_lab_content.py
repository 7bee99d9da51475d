"""Builds are repeated when their content changed, and a killed build leaves nothing that counts."""

from pathlib import Path

import pytest

from lab.content import build_folder, content_hash, locked
from lab.settings import LabError


def write_one(folder: Path) -> None:
    (folder / "one").write_text("1")


def test_the_hash_sees_names_bytes_and_rights_but_not_times(tmp_path: Path) -> None:
    file = tmp_path / "tree" / "a"
    file.parent.mkdir()
    file.write_text("x")
    first = content_hash([tmp_path / "tree"])
    file.write_text("x")
    assert content_hash([tmp_path / "tree"]) == first
    file.chmod(0o755)
    second = content_hash([tmp_path / "tree"])
    file.write_text("y")
    third = content_hash([tmp_path / "tree"])
    file.rename(tmp_path / "tree" / "b")
    assert len({first, second, third, content_hash([tmp_path / "tree"])}) == 4


def test_a_folder_is_built_once_per_content(tmp_path: Path) -> None:
    target = tmp_path / "built"
    assert build_folder(target, "v1", write_one)
    assert not build_folder(target, "v1", write_one)
    assert build_folder(target, "v2", write_one)


def test_a_replaced_folder_stays_for_those_who_have_it_open(tmp_path: Path) -> None:
    target = tmp_path / "built"
    build_folder(target, "v1", write_one)
    before = (target / "one").stat().st_ino
    build_folder(target, "v2", write_one)
    assert (tmp_path / "built.old" / "one").stat().st_ino == before
    build_folder(target, "v3", write_one)
    assert (tmp_path / "built.old" / ".content").read_text() == "v2"


def test_half_a_build_is_made_anew(tmp_path: Path) -> None:
    target = tmp_path / "built"

    def die(folder: Path) -> None:
        write_one(folder)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_folder(target, "v1", die)
    assert not target.exists()
    assert build_folder(target, "v1", write_one)
    assert [file.name for file in tmp_path.iterdir()] == ["built"]


def test_a_folder_that_is_worked_in_is_refused_by_name(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(LabError, match="busy"), locked(tmp_path, "busy"):
        pass
    with locked(tmp_path, "busy"):
        pass
