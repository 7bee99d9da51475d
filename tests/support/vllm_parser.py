"""Run by the pinned vLLM's own Python: parse each command line as ``vllm serve`` would, say what it refuses.

Reads ``{"name": ["/models/x", "--flag", …]}`` as JSON from standard input,
prints ``{"name": "what the parser said"}``, empty where it took everything.
"""

from __future__ import annotations

import json
import sys
from typing import NoReturn

from vllm.entrypoints.launchers.cli_args import make_arg_parser, validate_parsed_serve_args
from vllm.utils.argparse_utils import FlexibleArgumentParser


class SayingParser(FlexibleArgumentParser):
    """A parser that raises what it would print before it leaves."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def refusal(words: list[str]) -> str:
    try:
        validate_parsed_serve_args(make_arg_parser(SayingParser()).parse_args(words))
    except (TypeError, ValueError) as refused:
        return str(refused)
    return ""


if __name__ == "__main__":
    command_lines = json.load(sys.stdin)
    json.dump({name: refusal(words) for name, words in command_lines.items()}, sys.stdout)
