"""What a probe of a container's GPUs shows. Pure: values in, faults out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    """How one call ended: its exit code and what it printed."""

    code: int
    text: str

    @property
    def last(self) -> str:
        """The last line, in which programs say their result or why there is none."""
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        return lines[-1] if lines else "nothing"


@dataclass(frozen=True)
class Probe:
    """The same call at the start of a container, and after systemd has read its units again; None: not made."""

    start: Answer | None = None
    first: Answer | None = None
    after_reload: Answer | None = None


def faults(probe: Probe, wanted: str) -> list[str]:
    """List what is wrong, a line with value, limit and remedy; the first fault makes later calls pointless."""
    if probe.start is None or probe.start.code:
        said = probe.start.last if probe.start else "nothing"
        return [f"no container with GPUs starts ({said}), one expected: see `journalctl -u docker`"]
    if probe.first is None or probe.first.code or probe.first.last != wanted:
        said = probe.first.last if probe.first else "nothing"
        return [
            f"CUDA in a container says {said}, {wanted} expected: see `nvidia-smi` on the node, `journalctl -k --grep "
            "NVRM`, and the toolkit's version"
        ]
    again = probe.after_reload
    if again is None or again.code or again.last != wanted:
        said = again.last if again else "nothing"
        return [
            f"after `systemctl daemon-reload` CUDA in a container says {said}, {wanted} expected: its GPUs are gone, "
            "use a toolkit of 1.18 or newer with the runtime nvidia"
        ]
    return []
