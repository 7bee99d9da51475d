"""Commands of bin/lab."""

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path

import docker
import requests
from docker.errors import DockerException
from rich.console import Console

from lab.job import alone, run_job
from lab.networks import refuse_another_subnet
from lab.removal import other_labs, remove_files, remove_images, take_down
from lab.rig import Rig
from lab.settings import Lab, LabError, read_settings
from lab.status import print_status

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = {
    "run": "the main job: both plans prepared, served, measured, judged (default)",
    "up": "the nodes only: adopt those that are there, make missing ones",
    "fresh": "the nodes only, all made anew and bare",
    "status": "what there is now",
    "down": "remove nodes and networks; what was built stays for the next time",
    "clean": "remove everything that the lab ever made on this computer",
}
EPILOG = """environment:
  LAB_NAME=apollo-lab  LAB_SUBNET=77   labs live side by side if both differ
  LAB_BASE_IMAGE=ubuntu:24.04          base of the images, not what is found out
  LAB_PRIVILEGED=1                     nodes run privileged, not with few rights
"""


def main() -> int:
    """Run one command; what the operator can mend is said in one line."""
    commands = "\n".join(f"  {name:<8} {text}" for name, text in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="bin/lab",
        description=f"Two simulated nodes on this computer, and the main job on them.\n\ncommands:\n{commands}",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", nargs="?", default="run", choices=COMMANDS, metavar="command")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: nothing is left running, the screen is whole
    os.umask(0o022)  # the nodes' package manager reads what is built here, as a user without rights
    try:
        execute(arguments.command, read_settings(os.environ, ROOT))
    except LabError as error:
        return ended(str(error))
    except (DockerException, requests.RequestException, subprocess.SubprocessError, OSError) as error:
        return ended(f"{type(error).__name__}: {' '.join(str(error).split())}: mend that, then start it again")
    except KeyboardInterrupt:
        return ended("interrupted; start it again to go on", 130)
    return 0


def ended(why: str, code: int = 1) -> int:
    """Say why there is no more to do."""
    print(f"bin/lab: {why}", file=sys.stderr)
    return code


def execute(command: str, lab: Lab) -> None:
    """Do what a command says."""
    console = Console()
    if command == "clean":
        clean(lab)
        return
    client = connect()
    if command == "down":
        with alone(lab):
            take_down(client, lab)
        return
    refuse_another_subnet(client, lab)
    if command == "run":
        run_job(client, lab, console)
    elif command == "status":
        print_status(client, lab, console)
    else:
        with alone(lab):
            bring_up(Rig(client, lab), fresh=command == "fresh")


def connect() -> docker.DockerClient:
    """Connect to the container engine; building an image may take its time."""
    try:
        return docker.from_env(timeout=900)
    except DockerException as error:
        raise LabError(f"no container engine answers: {error}") from error


def bring_up(rig: Rig, fresh: bool) -> None:
    """Build what is missing and bring the nodes up, one line each."""

    def ignore(_: str) -> None:
        """Say nothing: this command is for scripts."""

    for act in (rig.build_images, rig.build_hardware, rig.build_engine):
        act(ignore)
    anew = rig.start_nodes(ignore, fresh)
    for node in rig.lab.nodes:
        print(f"{node.name} {node.management_address} {'made anew' if node.name in anew else 'adopted'}")


def clean(lab: Lab) -> None:
    """Remove this lab; and what all labs share, unless another one still uses it."""
    client = connect()
    with alone(lab):
        take_down(client, lab)
    others = other_labs(client, lab)
    remove_files(lab, cache=not others)
    if others:
        print(f"images and cache stay, for the labs {', '.join(others)}")
    else:
        remove_images(client)
