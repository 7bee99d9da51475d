"""The node containers: created bare, adopted when they are already there, never replaced without need."""

import json
import os
import time
from contextlib import suppress
from typing import Any

import docker
from docker.errors import NotFound
from docker.models.containers import Container

from lab.archive import File, pack
from lab.content import content_hash
from lab.inside import answer
from lab.keys import public_key
from lab.settings import FABRIC_INTERFACE, LABEL_CONTENT, Lab, LabError, Node
from lab.simulated.state import DEFAULT

BOOT_TIMEOUT_S = 120
SHARED_MEMORY = "2g"
CAPABILITIES = [
    *("AUDIT_CONTROL", "AUDIT_WRITE", "DAC_READ_SEARCH", "IPC_LOCK", "LEASE", "MAC_ADMIN", "MKNOD", "NET_ADMIN"),
    *("NET_RAW", "SETFCAP", "SYSLOG", "SYS_ADMIN", "SYS_BOOT", "SYS_CHROOT", "SYS_MODULE", "SYS_NICE", "SYS_PTRACE"),
    "SYS_TIME",
]
# A story gives the storage role real, small disks: files behind loop devices.
LOOP_DEVICES = ["b 7:* rwm", "c 10:237 rwm"]


def container_options(lab: Lab, node: Node, cgroup_version: str) -> dict[str, Any]:
    """Say how a node runs. Version 1 of cgroups shares the computer's tree, version 2 gets its own."""
    volumes = [f"{lab.share}:/opt/lab:ro", f"{node.container}-docker:/var/lib/docker"]
    if cgroup_version == "1":
        volumes.append("/sys/fs/cgroup:/sys/fs/cgroup:rw")
    options: dict[str, Any] = {
        "name": node.container,
        "hostname": node.name,
        "cgroupns": "host" if cgroup_version == "1" else "private",
        "volumes": volumes,
        "shm_size": SHARED_MEMORY,
        "tmpfs": {"/run": "exec", "/run/lock": ""},
        "network": lab.management_network,
        "restart_policy": {"Name": "always"},
        "security_opt": ["seccomp=unconfined", "apparmor=unconfined"],
        "cap_add": CAPABILITIES,
        "device_cgroup_rules": LOOP_DEVICES,
    }
    if os.environ.get("LAB_PRIVILEGED") == "1":
        options |= {"privileged": True, "cap_add": None, "security_opt": None}
    return options


def ensure_nodes(client: docker.DockerClient, lab: Lab, image: str, fresh: bool) -> list[str]:
    """Bring all nodes up and return the names of those that were made anew."""
    anew: list[str] = []
    version = str(client.info().get("CgroupVersion") or "1")
    for node in lab.nodes:
        options = container_options(lab, node, version)
        content = content_hash([], image, json.dumps(options, sort_keys=True), public_key(lab, "id_ed25519"))
        container = find_container(client, node)
        if container is not None and (fresh or not is_usable(container, content)):
            remove_node(client, node)
            container = None
        if container is None:
            container = create_node(
                client, lab, node, image, options | {"labels": lab.labels | {LABEL_CONTENT: content}}
            )
            anew.append(node.name)
        if container.status != "running":
            container.start()
    for node in lab.nodes:
        wait_until_booted(client, node)
    return anew


def find_container(client: docker.DockerClient, node: Node) -> Container | None:
    """Return the node's container, or nothing."""
    try:
        return client.containers.get(node.container)
    except NotFound:
        return None


def is_usable(container: Container, content: str) -> bool:
    """Say whether a container of an earlier run is complete and of today's content."""
    return container.status not in {"created", "removing"} and container.labels.get(LABEL_CONTENT) == content


def create_node(client: docker.DockerClient, lab: Lab, node: Node, image: str, options: dict[str, Any]) -> Container:
    """Create a bare node with its two networks and the few files that tell it who it is."""
    client.volumes.create(f"{node.container}-docker", labels=lab.labels)
    network = options.pop("network")
    addresses = client.api.create_endpoint_config(ipv4_address=node.management_address)
    container = client.containers.create(image, **options, network=network, networking_config={network: addresses})
    client.networks.get(lab.fabric_network).connect(container, ipv4_address=node.fabric_address)
    container.put_archive("/", pack(identity_files(lab, node)))
    return container


def identity_files(lab: Lab, node: Node) -> list[File]:
    """List the files that make a node reachable and give it its hardware."""
    addresses = f"FABRIC_ADDRESS={node.fabric_address}\nFABRIC_INTERFACE={FABRIC_INTERFACE}\n"
    host_key = lab.state / "host_ed25519"
    return [
        File("/etc/lab/node.env", addresses),
        File("/etc/lab/hardware.json", json.dumps(DEFAULT, indent=2) + "\n"),
        File("/root/.ssh/authorized_keys", public_key(lab, "id_ed25519"), 0o600),
        File("/etc/ssh/ssh_host_ed25519_key", host_key.read_text(), 0o600),
        File("/etc/ssh/ssh_host_ed25519_key.pub", public_key(lab, "host_ed25519")),
    ]


def wait_until_booted(client: docker.DockerClient, node: Node) -> None:
    """Wait until systemd has started everything, sshd included."""
    deadline = time.monotonic() + BOOT_TIMEOUT_S
    state = "not asked"
    while time.monotonic() < deadline:
        _, state = answer(client.containers.get(node.container), "systemctl", "is-system-running")
        if state in {"running", "degraded"}:
            return
        time.sleep(0.3)
    raise LabError(
        f"{node.name} is {state!r} after {BOOT_TIMEOUT_S} s: see 'docker exec {node.container} journalctl -b'"
    )


def remove_node(client: docker.DockerClient, node: Node) -> None:
    """Remove a node and its Docker data."""
    container = find_container(client, node)
    if container is not None and container.status == "removing":  # for a bin/lab that was killed meanwhile
        with suppress(NotFound):  # gone already
            container.wait(condition="removed", timeout=BOOT_TIMEOUT_S)
    elif container is not None:
        container.remove(force=True, v=True)
    try:
        client.volumes.get(f"{node.container}-docker").remove()
    except NotFound:
        return
