"""Short-lived containers that build something for the lab, and the end of those that a killed run left behind."""

from pathlib import Path

import docker
from docker.errors import ContainerError

from lab.settings import LABEL, SHARED, LabError

LABEL_SHARE = "apollo-lab.share"


def run_helper(
    client: docker.DockerClient, image: str, command: list[str], share: Path, mounts: dict[Path, str] | None = None
) -> str:
    """Run a command in an image, with folders of this computer mounted, and return what it printed."""
    volumes = {str(source): {"bind": target, "mode": "rw"} for source, target in (mounts or {}).items()}
    labels = {LABEL: SHARED, LABEL_SHARE: str(share)}
    try:
        output = client.containers.run(image, entrypoint=command, volumes=volumes, labels=labels, remove=True)
    except ContainerError as error:
        text = error.stderr.decode(errors="replace") if isinstance(error.stderr, bytes) else str(error.stderr or "")
        lines = text.strip().splitlines() or ["no output"]
        raise LabError(f"{command[0]} failed in {image} with {error.exit_status}: {lines[-1]}") from error
    return output.decode(errors="replace").strip()


def remove_helpers(client: docker.DockerClient, share: Path) -> None:
    """End the helpers of killed runs: whoever holds the lock of `share` knows that they help nobody."""
    for container in client.containers.list(all=True, filters={"label": f"{LABEL_SHARE}={share}"}):
        container.remove(force=True)
