#!/usr/bin/python
"""Tell whether engines have served nothing but probes since they started."""

from __future__ import annotations

from ansible.module_utils.apollo.bench_counters import freshness
from ansible.module_utils.apollo.bench_server import ask
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: vllm_fresh
short_description: Tell whether engines have served nothing but probes since they started
description:
  - A point is measured on an engine that was started anew and has proved that it answers. An engine that has generated
    a token for its probes, and no more than I(probe_tokens_max), is just that, and need not be started once more.
  - An engine that cannot be asked, or does not count its tokens, is not fresh.
author: [Apollo inference]
attributes:
  check_mode: {support: full, details: It only reads.}
  diff_mode: {support: none, details: It changes nothing.}
  idempotent: {support: full, details: It changes nothing.}
options:
  urls: {type: list, elements: str, required: true, description: Base URLs of the engines.}
  probe_tokens_max: {type: int, default: 16, description: Tokens that probes may have generated on each.}
  timeout_s: {type: int, default: 10, description: Seconds to wait for the counters.}
"""

EXAMPLES = r"""
- name: Ask whether all endpoints were just started
  vllm_fresh:
    urls: "{{ plan_layout.endpoints | map(attribute='url') | list }}"
"""

RETURN = r"""
fresh: {description: Whether every engine has answered its probes and nothing else., returned: always, type: bool}
generated_tokens:
  description: Tokens that each engine has generated since its start; null when not known.
  returned: always
  type: list
  elements: int
"""


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "urls": {"type": "list", "elements": "str", "required": True},
            "probe_tokens_max": {"type": "int", "default": 16},
            "timeout_s": {"type": "int", "default": 10},
        },
        supports_check_mode=True,
    )
    params = module.params
    pages = [ask(f"{url}/metrics", params["timeout_s"])[0] for url in params["urls"]]
    found = [freshness(page, params["probe_tokens_max"]) for page in pages]
    module.exit_json(
        changed=False, fresh=all(fresh for _, fresh in found), generated_tokens=[count for count, _ in found]
    )


if __name__ == "__main__":
    main()
