"""Open a page past every proxy. It needs nothing else, so that a node's own programs can have it beside them."""

from __future__ import annotations

import http.client
import urllib.request

ASK_TIMEOUT_S = 10


def ask(url: str, timeout_s: float | None = None) -> tuple[str | None, str]:
    """Give the answer's text, or None and the reason."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(url, timeout=timeout_s or ASK_TIMEOUT_S) as answer:
            text: str = answer.read().decode()
    except (OSError, ValueError, http.client.HTTPException) as error:
        return None, f"{url}: {error}"
    return text, ""
