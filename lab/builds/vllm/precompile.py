"""Runs once in the engine's container, over the writable tree: spares every later start the same work.

Compiles all modules, then lets the engine inspect the stand-ins' architectures: it keeps what it learnt in its cache.
"""

import compileall
import os
import py_compile

TREE = "/opt/lab/vllm"
ARCHITECTURES = ("Qwen3ForCausalLM", "Qwen3NextForCausalLM", "Qwen3NextMTP")

os.environ["VLLM_CACHE_ROOT"] = f"{TREE}/cache"
# Some packages hold files that are templates or for other Pythons: that they do not compile is no failure.
compileall.compile_dir(TREE, quiet=2, workers=0, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)

from vllm.model_executor.models.registry import ModelRegistry  # noqa: E402  (only after the tree is compiled)

if __name__ == "__main__":
    for architecture in ARCHITECTURES:
        if ModelRegistry._try_inspect_model_cls(architecture) is None:
            raise SystemExit(f"the engine cannot inspect {architecture}")
