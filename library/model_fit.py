#!/usr/bin/python
"""Judge whether a node's engines fit its GPUs: memory, compute capability, shapes, known failures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible.module_utils.apollo.fit import Wanted, fit
from ansible.module_utils.apollo.hardware import Gpu, read_gpus
from ansible.module_utils.apollo.model_shape import Shape, read_shape
from ansible.module_utils.apollo.serving import Serving
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: model_fit
short_description: Judge whether engines fit the GPUs of this node, or say why not
description:
  - Reads each model's own C(config.json) and the sizes of its safetensors, and asks C(nvidia-smi) for the GPUs.
  - Gives weights, draft, cache and recurrent state on each GPU, how many sequences fit, the largest batch and graph.
  - What an engine needs beside weights, cache and state is an estimate.
  - Fails with one line for each reason, and returns the whole table all the same.
author: [Apollo inference]
attributes:
  check_mode: {support: full, details: It only reads.}
  diff_mode: {support: none, details: It changes nothing.}
  idempotent: {support: full, details: It changes nothing.}
options:
  engines:
    type: list
    elements: dict
    required: true
    description: Engines of this node from a plan's layout, with name, gpus, arguments, settings, environment, accepts.
  require:
    type: bool
    default: true
    description: Whether a model or a GPU that is not there yet is a failure. Otherwise its engines are not judged.
  timeout_s: {type: int, default: 120, description: Seconds that C(nvidia-smi) may take.}
"""

EXAMPLES = r"""
- name: Require that the plan fits
  model_fit:
    engines: "{{ plan_layout.engines | selectattr('node', 'eq', inventory_hostname) | list }}"
"""

RETURN = r"""
engines:
  description: "What fits, by engine: fits, reasons, and on each GPU weights_gib, draft_gib, engine_gib, cache_gib,
    cache_kib_per_token, state_mib_per_sequence, sequences_at_context, sequences_at_typical (3072 tokens),
    max_num_seqs and max_cudagraph_capture_size. A figure that could not be computed is null."
  returned: always
  type: dict
unknown: {description: Why some engines could not be judged., returned: always, type: list, elements: str}
"""


def find_gpus(module: AnsibleModule) -> list[Gpu]:
    """Give the GPUs of this node by index; an empty list where no driver answers."""
    program = module.get_bin_path("nvidia-smi")
    if program is None:
        return []
    query = [program, "--query-gpu=name,memory.total,compute_cap", "--format=csv,noheader,nounits"]
    code, out, _ = module.run_command(["timeout", str(module.params["timeout_s"]), *query])
    return read_gpus(out) if code == 0 else []


def read_model(folder: Path) -> tuple[Shape, int | None]:
    """Give a model's shape and the bytes of its weights, None where there are none."""
    text = (folder / "config.json").read_text(encoding="utf-8")
    try:
        config = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{folder}/config.json is no JSON ({error}): fetch the model anew") from None
    sizes = [path.stat().st_size for path in folder.glob("*.safetensors")]
    return read_shape(config), sum(sizes) or None


def smallest(wanted: list[int], gpus: list[Gpu]) -> Gpu:
    """Give the GPU with the least memory among those that an engine wants."""
    missing = [index for index in wanted if index >= len(gpus)]
    if missing:
        raise ValueError(f"gpu: wants GPU {missing[0]}, {len(gpus)} answer: see `nvidia-smi`, or name others")
    return min((gpus[index] for index in wanted), key=lambda gpu: gpu.memory_mib)


def judge(engine: dict[str, Any], gpus: list[Gpu]) -> dict[str, Any]:
    """Judge one engine; OSError tells that its model is not here."""
    shape, stored = read_model(Path(engine["arguments"][0]))
    serving = Serving(engine["settings"], engine.get("environment") or {})
    wanted = Wanted(serving, engine.get("accepts") or [], stored)
    return fit(shape, wanted, smallest(engine["gpus"], gpus)).as_dict()


def judge_all(engines: list[dict[str, Any]], gpus: list[Gpu]) -> tuple[dict[str, Any], list[str]]:
    """Judge what can be judged, and say what cannot be yet."""
    table: dict[str, Any] = {}
    unknown = [] if gpus else ["no GPU answers to nvidia-smi: run the stage prepare first"]
    for engine in engines if gpus else []:
        try:
            table[engine["name"]] = judge(engine, gpus)
        except OSError as error:
            unknown.append(f"{engine['name']}: {error.filename} cannot be read: run the stage fetch first")
        except ValueError as error:
            table[engine["name"]] = {"fits": False, "reasons": [" ".join(str(error).split())]}
    return table, unknown


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "engines": {"type": "list", "elements": "dict", "required": True},
            "require": {"type": "bool", "default": True},
            "timeout_s": {"type": "int", "default": 120},
        },
        supports_check_mode=True,
    )
    try:
        gpus = find_gpus(module)
    except ValueError as error:
        module.fail_json(msg=str(error), engines={}, unknown=[])
    table, unknown = judge_all(module.params["engines"], gpus)
    told = [f"{name}: {reason}" for name, entry in table.items() for reason in entry["reasons"]]
    told += unknown if module.params["require"] and module.params["engines"] else []
    if told:
        module.fail_json(msg="; ".join(told), engines=table, unknown=unknown)
    module.exit_json(changed=False, engines=table, unknown=unknown)


if __name__ == "__main__":
    main()
