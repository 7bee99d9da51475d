"""What the report says comes from one file per language: texts, heads of columns, and meanings of terms and codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

SECTIONS = (
    *("side_by_side", "scaling", "energy", "roofline", "validity", "limits", "settings"),
    *("hardware", "definitions", "remarks", "reference"),
)
PRIMARY = "en"
REAL_KIND = "hardware"  # whatever a site calls itself else is reported as simulated


@dataclass(frozen=True)
class Words:
    """One language. Meanings that it lacks are shown in the words of the code."""

    language: str
    language_name: str
    texts: Mapping[str, str]
    column_heads: Mapping[str, tuple[str, str]]
    meanings: Mapping[str, str] = field(default_factory=dict)
    sayings: Mapping[str, str] = field(default_factory=dict)  # what data says in English, by its own words

    def __getitem__(self, name: str) -> str:
        return self.texts[name]

    def head(self, name: str) -> tuple[str, str]:
        return self.column_heads[name]

    def meaning(self, name: str, told: str) -> str:
        return self.meanings.get(name, told)

    def say(self, told: str) -> str:
        """A name, a remark or a caption of the data; one that this language does not know stays as it is."""
        return self.sayings.get(" ".join(told.split()), told)


def page(name: str, words: Words) -> str:
    """The file of a document in this language; the first language's has the plain name."""
    return f"{name}.html" if words.language == PRIMARY else f"{name}.{words.language}.html"


def pages(name: str, spoken: Sequence[Words]) -> list[dict[str, str]]:
    """What a document's links to its other languages need."""
    return [{"name": words.language_name, "language": words.language, "page": page(name, words)} for words in spoken]


def languages(files: Mapping[str, Any]) -> list[Words]:
    """Every language that there is, by the name of its file, English first."""
    found = [read_words(data, name) for name, data in sorted(files.items())]
    return sorted(found, key=lambda words: words.language != PRIMARY)


def read_words(data: Any, origin: str) -> Words:
    """Read a file of words; ValueError names the file and what it lacks."""
    lacking = [key for key in ("language", "language_name", "texts", "heads") if key not in (data or {})]
    if lacking:
        raise ValueError(f"{origin}: lacks {', '.join(lacking)}")
    heads = {name: (pair[0], pair[1]) for name, pair in data["heads"].items()}
    known = data.get("meanings") or {}, data.get("said") or {}
    return Words(data["language"], data["language_name"], data["texts"], heads, *known)
