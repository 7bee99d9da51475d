"""Lines that only a keeper with the same secret can have written, for this connection, this direction and this place.

Each side greets with a nonce of its own. Of both nonces and the secret comes a key for each direction, and each
line carries an HMAC over its number. So a line that is forged, repeated, left out, kept from an earlier connection
or sent back to its writer does not fit.

Pure: no clock, no network. Standard library only, since the keeper on the nodes uses this file too.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from dataclasses import dataclass
from typing import Any

# Raise it whenever what keepers say to each other changes. 1 had no greeting.
PROTOCOL = 2
HEAD, WORKER = "head", "worker"
REMEDY = "run site.yml with the plan's tag without --limit"


class RefusedError(ValueError):
    """Why the other side is not listened to, in one line."""


@dataclass
class Seal:
    """The lines of one direction, in order, each once."""

    key: bytes
    number: int = 0

    def close(self, text: bytes) -> bytes:
        """Give the line that says this."""
        return self._code(text) + b" " + text

    def open(self, line: bytes) -> bytes:
        """Give what the line says, if it is the next one of this direction."""
        code, _, text = line.partition(b" ")
        if not hmac.compare_digest(code, self._code(text)):
            raise RefusedError(f"its line {self.number} is not sealed with the secret of this plan: {REMEDY}")
        return text

    def _code(self, text: bytes) -> bytes:
        self.number += 1
        return hmac.digest(self.key, self.number.to_bytes(8, "big") + text, hashlib.sha256).hex().encode()


def new_secret() -> str:
    return secrets.token_hex(32)


def is_secret(text: str) -> bool:
    """Say whether this is a whole secret, as new_secret makes them."""
    return re.fullmatch(r"[0-9a-f]{64}", text) is not None


def greeting(nonce: str) -> bytes:
    return json.dumps({"keeper": PROTOCOL, "nonce": nonce}).encode()


def nonce_of(line: bytes) -> str:
    """Give the nonce of the other side's greeting."""
    try:
        said: Any = json.loads(line)
    except ValueError:
        said = None
    if not isinstance(said, dict):
        raise RefusedError("what it says is no greeting of a keeper")
    protocol, nonce = said.get("keeper", 1), said.get("nonce")
    if protocol != PROTOCOL:
        raise RefusedError(f"it speaks protocol {str(protocol)[:8]} of keepers, {PROTOCOL} wanted: {REMEDY}")
    if not isinstance(nonce, str) or not is_secret(nonce):
        raise RefusedError("its greeting has no nonce")
    return nonce


def seals(secret: str, side: str, head_nonce: str, worker_nonce: str) -> tuple[Seal, Seal]:
    """Give the seals of this connection: for what this side writes, and for what it reads."""
    other = WORKER if side == HEAD else HEAD
    told = [f"apollo keeper {PROTOCOL} {writer} {head_nonce} {worker_nonce}" for writer in (side, other)]
    own, others = (Seal(hmac.digest(secret.encode(), text.encode(), hashlib.sha256)) for text in told)
    return own, others
