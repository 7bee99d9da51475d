"""The published figures as tables of their own, with the remarks that belong to each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible.module_utils.apollo import report_capacity, report_published
from ansible.module_utils.apollo.report_table import Table, plain_table
from ansible.module_utils.apollo.report_words import Words

# Key in reference/published.yml, caption, and the columns as (head, key).
TABLES: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...] = (
    (
        "results_27b",
        "27B, bfloat16, tensor parallel 4",
        (("N", "n"), ("one node tok/s", "node_tok_s"), ("TTFT s", "ttft_s"), ("both nodes tok/s", "total_tok_s")),
    ),
    (
        "results_397b",
        "397B, GPTQ int4, over two nodes",
        (
            *(("variant", "variant"), ("what", "what"), ("N=1 tok/s", "single_tok_s"), ("N=1 TTFT s", "single_ttft_s")),
            *(
                ("best tok/s", "best_tok_s"),
                ("at N", "best_n"),
                ("TTFT s", "best_ttft_s"),
                ("crashed at N", "crashed_at_n"),
            ),
        ),
    ),
    (
        "comparison",
        "Both models side by side",
        (
            *(
                ("model", "name"),
                ("most tok/s", "max_tok_s"),
                ("one user tok/s", "single_tok_s"),
                ("sessions", "sessions"),
            ),
            *(("tok/s per GPU", "tok_s_per_gpu"), ("needs", "needs"), ("strength", "strength")),
        ),
    ),
    (
        "energy",
        "Energy of one node, 27B at N = 32",
        (("what", "what"), ("value", "value"), ("unit", "unit"), ("status", "status")),
    ),
    (
        "fabric",
        "Fabric",
        (("what", "what"), ("value", "value"), ("unit", "unit"), ("status", "status")),
    ),
    (
        "models",
        "Models",
        (
            *(
                ("model", "name"),
                ("kind", "kind"),
                ("weights", "weights"),
                ("GB", "weights_gb"),
                ("context", "context_tokens"),
            ),
            *(("placement", "placement"), ("minutes to start", "start_minutes")),
        ),
    ),
)
DERIVED = (
    "Not printed there. Time per token follows from throughput and TTFT by Little's law; answers of another length "
    "than the measured one from both. Between the two printed points of the 397B it is a straight line."
)
LISTS = (("incidents", "Incidents"), ("left_open", "Left open there"))


def sections(
    published: Mapping[str, Any], words: Words, people: Mapping[str, Any], prices: Mapping[str, Any]
) -> dict[str, Any]:
    """Tables, lists and the remarks that belong to no table."""
    shown = [name for name, _, _ in TABLES if published.get(name)]
    return {
        "title": published.get("title", ""),
        "source": published.get("source", ""),
        "tables": [
            *_capacity(published, words, people, prices),
            *(_table(published, words, *entry) for entry in TABLES if published.get(entry[0])),
        ],
        "facts": [plain_table("reference-facts", words["machine_and_method"], ["", ""], _facts(published))],
        "lists": [
            {"title": words.say(title), "items": list(map(words.say, published[name]))}
            for name, title in LISTS
            if published.get(name)
        ],
        "remarks": [
            words.say(each["text"]) for each in _remarks(published) if not set(each.get("about", [])) & set(shown)
        ],
    }


def _capacity(
    published: Mapping[str, Any], words: Words, people: Mapping[str, Any], prices: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Derived from the printed figures for the same people as above."""
    if not published.get("results_27b") or not published.get("results_397b"):
        return []
    asked = report_capacity.read_people(people)
    currency = words["reference_cost"].format(currency=prices.get("currency") or "").strip()
    columns = [*map(words.say, ("plan", "people", "at once", "tok/s each (throughput / N)")), currency]
    numbers = {"think": asked.think_time_s, "tokens": asked.answer_tokens, "floor": asked.floor_tok_s}
    caption = words["reference_people"].format(**{name: f"{value:g}" for name, value in numbers.items()})
    found = report_published.rows(published, asked, prices)
    return [{"table": plain_table("reference-capacity", caption, columns, found), "remarks": [words.say(DERIVED)]}]


def _table(
    published: Mapping[str, Any], words: Words, name: str, caption: str, columns: Sequence[tuple[str, str]]
) -> dict[str, Any]:
    rows = [[_said(entry.get(key), words) for _, key in columns] for entry in published[name]]
    table: Table = plain_table(f"reference-{name}", words.say(caption), [words.say(head) for head, _ in columns], rows)
    return {
        "table": table,
        "remarks": [words.say(entry["text"]) for entry in _remarks(published) if name in entry.get("about", [])],
    }


def _said(value: Any, words: Words) -> str | None:
    told = _plain(value)
    return None if told is None else words.say(told)


def _facts(published: Mapping[str, Any]) -> list[tuple[str, str]]:
    named = [(group, published.get(group) or {}) for group in ("hardware", "method", "checks", "ampere")]
    return [(name.replace("_", " "), str(_plain(value))) for _, facts in named for name, value in facts.items()]


def _remarks(published: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list(published.get("remarks") or [])


def _plain(value: Any) -> str | None:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{name.replace('_', ' ')} {entry}" for name, entry in value.items())
    return None if value is None else str(value)
