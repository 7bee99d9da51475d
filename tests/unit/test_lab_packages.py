"""The simulated packages and the stand-in models, before anything is built."""

import json
import re
from pathlib import Path

import lab.simulated
from lab.packages import control_text, lay_out, load_packages, release_text
from lab.settings import Lab
from lab.stand_ins import MODELS, VOCABULARY, build_models, byte_symbols, tokenizer

SIMULATED = Path(str(lab.simulated.__file__)).parent


def test_every_package_says_that_it_is_simulated() -> None:
    for package in load_packages():
        assert "Description: simulated " in control_text(package)


def test_every_dependency_inside_the_repository_exists() -> None:
    packages = load_packages()
    outside = {"python3", "adduser", "init-system-helpers"}
    known = {package.name for package in packages} | {name for package in packages for name in package.provides}
    wanted = {entry.split(" ")[0] for package in packages for entry in package.depends}
    assert wanted <= known | outside


def test_a_bare_node_has_the_kernel_of_the_first_repository() -> None:
    kernel = (MODELS.parent / "node" / "kernel" / "install").read_text()
    offered = {package.name: package.version for package in load_packages() if package.repository == "main"}
    version = re.search(r"^version=(\S+)$", kernel, re.MULTILINE)
    image = re.search(r"^image=(\S+)$", kernel, re.MULTILINE)
    assert version is not None
    assert image is not None
    assert {offered[name] for name in ("linux-generic", "linux-image-generic", image[1])} == {version[1]}


def test_a_later_repository_brings_another_version_of_what_the_first_has() -> None:
    first = {package.name: package.version for package in load_packages() if package.repository == "main"}
    for package in load_packages():
        assert package.repository == "main" or first.get(package.name) != package.version


def test_another_vendors_source_says_so() -> None:
    assert "Origin: NVIDIA\n" in release_text("", "cuda")


def test_every_program_names_a_function_that_exists() -> None:
    for package in load_packages():
        for entry in package.programs.values():
            module, function = entry.split(".")
            assert re.search(rf"^def {function}\(\)", (SIMULATED / f"{module}.py").read_text(), re.MULTILINE)


def test_programs_and_own_files_land_in_the_tree(tmp_path: Path) -> None:
    package = next(package for package in load_packages() if package.name == "opensm")
    lay_out(package, tmp_path / "tree")
    program = tmp_path / "tree/usr/sbin/opensm"
    assert program.stat().st_mode & 0o111
    assert "from simulated.opensm import main" in program.read_text()
    assert (tmp_path / "tree/usr/lib/systemd/system/opensm@.service").is_file()
    assert "apollo-lab-hardware" in (tmp_path / "tree/DEBIAN/control").read_text()


def test_the_release_names_the_origin_that_the_nodes_prefer() -> None:
    preferences = (MODELS.parent / "node" / "preferences").read_text()
    origin = re.search(r"o=(\S+)", preferences)
    assert origin is not None
    assert f"Origin: {origin.group(1)}\n" in release_text("")


def test_stand_ins_are_the_catalogs_models(tmp_path: Path) -> None:
    build_models(tmp_path)
    catalog = Path(__file__).parents[2] / "catalog" / "models"
    entries = "".join(file.read_text() for file in catalog.glob("*.yml"))
    wanted = set(re.findall(r"^directory: (\S+)", entries, re.MULTILINE))
    assert {folder.name for folder in tmp_path.iterdir()} == wanted
    for folder in tmp_path.iterdir():
        assert json.loads((folder / "config.json").read_text())["vocab_size"] == VOCABULARY
        assert "stand-in" in (folder / "README.md").read_text()


def test_the_tokenizer_has_one_token_per_byte_and_fills_the_vocabulary() -> None:
    assert len(set(byte_symbols())) == 256
    table = tokenizer()
    identities = [*table["model"]["vocab"].values(), *(token["id"] for token in table["added_tokens"])]
    assert sorted(identities) == list(range(VOCABULARY))


def test_state_lies_in_the_clone() -> None:
    assert Lab("x", 77, Path("/clone"), Path("/cache")).logs == Path("/clone/.lab/x/logs")
