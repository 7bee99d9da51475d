"""Which plan an operator asked for, by tag or by variable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ansible.module_utils.apollo.names import unknown_name


def choose_plan(run_tags: Sequence[str], plans: Iterable[str], stages: Iterable[str], default: str) -> str:
    """Choose the plan named by a tag, else ``default``.

    Tags of the story (``stages``) may stand beside it. Raises ValueError for two plan tags,
    for a tag that is neither plan nor stage, and for an unknown default.
    """
    known, words = set(plans), set(stages)
    asked = sorted(set(run_tags) & known)
    for tag in run_tags:
        if tag not in known and tag not in words:
            raise ValueError(unknown_name("plan or tag", tag, known | words))
    if len(asked) > 1:
        raise ValueError(f"two plans asked for by tags ({', '.join(asked)}), one can run at a time: name one plan")
    chosen = asked[0] if asked else str(default)  # 27 in an inventory is a number
    if chosen not in known:
        raise ValueError(unknown_name("plan", chosen, known))
    return chosen
