"""Fixtures for all tests: the project's modules and their core are importable, and a module runs as Ansible runs it."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import ansible.module_utils
import pytest
from ansible.module_utils.testing import patch_module_args
from hypothesis import settings

PROJECT = Path(__file__).resolve().parent.parent

ansible.module_utils.__path__.append(str(PROJECT / "module_utils"))
sys.path[:0] = [str(PROJECT), str(PROJECT / "library"), str(PROJECT / "filter_plugins")]

# The same examples on every machine: a test that fails, fails for everybody.
settings.register_profile("apollo", deadline=None, derandomize=True)
settings.load_profile("apollo")

RunModule = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def project() -> Path:
    """The root of the clone."""
    return PROJECT


@pytest.fixture
def run_module(capsys: pytest.CaptureFixture[str]) -> RunModule:
    """Run a module's main() with these options and give back what it returned to Ansible."""

    def run(module: str | ModuleType, check: bool = False, diff: bool = False, **params: Any) -> dict[str, Any]:
        program = importlib.import_module(module) if isinstance(module, str) else module
        arguments = {**params, "_ansible_check_mode": check, "_ansible_diff": diff}
        capsys.readouterr()
        with patch_module_args(arguments), pytest.raises(SystemExit):
            program.main()
        result: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
        return {"failed": False, **result}

    return run


@pytest.fixture(scope="session")
def engine_cache() -> Path:
    """Where bin/lab keeps what it built once for all clones."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "apollo-lab"
