"""The lab's own ssh keys: one for the operator, one host key, and the known_hosts that match."""

import subprocess
from pathlib import Path

from lab.settings import Lab


def ensure_keys(lab: Lab) -> None:
    """Create the keys once and write known_hosts to match them."""
    lab.logs.mkdir(parents=True, exist_ok=True)
    for name in ("id_ed25519", "host_ed25519"):
        ensure_key(lab.state / name)
    host_key = " ".join(public_key(lab, "host_ed25519").split()[:2])
    addresses = [node.management_address for node in lab.nodes]
    (lab.state / "known_hosts").write_text("".join(f"{address} {host_key}\n" for address in addresses))


def ensure_key(path: Path) -> None:
    """Create one key pair; half a pair of a killed run is made anew."""
    public = path.with_name(f"{path.name}.pub")
    if path.exists() and public.exists() and public.stat().st_size:
        return
    path.unlink(missing_ok=True)
    public.unlink(missing_ok=True)
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "apollo-lab", "-f", str(path)]
    subprocess.run(command, check=True)


def public_key(lab: Lab, name: str) -> str:
    """Return the public half of a key."""
    return (lab.state / f"{name}.pub").read_text()
