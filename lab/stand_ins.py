"""Stand-in models: the architecture's shape with a handful of random weights, and a tokenizer of single bytes."""

import json
import shutil
from pathlib import Path
from typing import Any

from lab.content import build_folder, content_hash

MODELS = Path(__file__).parent / "builds" / "models"
VOCABULARY = 272
NAMED_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>")
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
README = """# A stand-in for {name}

Made by the lab: the shape of the architecture with random weights that the engine invents at each start
(`--load-format dummy`). It answers with noise. It says nothing about the real model, its speed or its quality.
"""


def byte_symbols() -> list[str]:
    """List the printable symbol of each byte, as byte-level tokenizers write them."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    shifted = iter(range(256, 512))
    return [chr(byte) if byte in printable else chr(next(shifted)) for byte in range(256)]


def added_tokens() -> list[dict[str, Any]]:
    """List the tokens behind the bytes, filled up to the size of the vocabulary."""
    reserved = [f"<|reserved_{number}|>" for number in range(VOCABULARY - 256 - len(NAMED_TOKENS))]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return [
        {"id": 256 + index, "content": content, "special": content.startswith("<|")} | flags
        for index, content in enumerate([*NAMED_TOKENS, *reserved])
    ]


def tokenizer() -> dict[str, Any]:
    """Return a tokenizer.json: one token per byte, no merges."""
    split = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    vocabulary = {symbol: byte for byte, symbol in enumerate(byte_symbols())}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added_tokens(),
        "normalizer": None,
        "pre_tokenizer": split,
        "post_processor": None,
        "decoder": split,
        "model": {"type": "BPE", "vocab": vocabulary, "merges": [], "byte_fallback": False},
    }


def tokenizer_config() -> dict[str, Any]:
    """Return a tokenizer_config.json with a chat template of the model family's shape."""
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": None,
        "eos_token": "<|endoftext|>",
        "pad_token": "<|endoftext|>",
        "model_max_length": 262144,
        "clean_up_tokenization_spaces": False,
        "chat_template": CHAT_TEMPLATE,
    }


def build_models(folder: Path) -> None:
    """Write all stand-ins into `folder`, named as the catalog's models."""
    for source in sorted(MODELS.iterdir()):
        target = folder / source.name
        shutil.copytree(source, target)
        (target / "tokenizer.json").write_text(json.dumps(tokenizer(), ensure_ascii=False), encoding="utf-8")
        (target / "tokenizer_config.json").write_text(json.dumps(tokenizer_config(), indent=2), encoding="utf-8")
        (target / "README.md").write_text(README.format(name=source.name), encoding="utf-8")


def ensure_models(share: Path) -> bool:
    """Build the stand-ins in share/models unless they are current; say whether they were built."""
    return build_folder(share / "models", content_hash([MODELS, Path(__file__)]), build_models)
