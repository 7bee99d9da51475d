"""nvidia-smi of a node without GPUs."""

import sys
import time
from collections.abc import Sequence
from typing import Any

from .gpus import Gpu, Process, find_engines, list_gpus, list_processes
from .smi_query import Context, query_gpus, query_processes
from .smi_text import nvlinks, overview, row_remapper, title, topology, versions
from .state import HardwareError, check_driver, flag, forget_leaks, initialise_gpus, raise_flag, read_state


def select(gpus: list[Gpu], arguments: list[str]) -> list[Gpu]:
    """Keep the GPUs that -i or --id names by index, UUID or bus id."""
    for position, argument in enumerate(arguments):
        wanted = argument.removeprefix("--id=") if argument.startswith("--id=") else ""
        if argument in {"-i", "--id"} and position + 1 < len(arguments):
            wanted = arguments[position + 1]
        if wanted:
            names = {name.strip() for name in wanted.split(",")}
            gpus = [gpu for gpu in gpus if names & {str(gpu.index), gpu.uuid, gpu.bus_id}]
    return gpus


def option(arguments: list[str], *names: str) -> str | None:
    """Return the value of an option written as NAME=VALUE or NAME VALUE."""
    for position, argument in enumerate(arguments):
        name, found, value = argument.partition("=")
        if name in names:
            return value if found else "".join(arguments[position + 1 : position + 2])
    return None


def set_persistence(value: str) -> list[str]:
    """Answer -pm."""
    if value in {"1", "ENABLED"}:
        raise_flag("persistence")
        raise_flag("initialised")
    else:
        flag("persistence").unlink(missing_ok=True)
    return ["All done."]


def reset(gpus: Sequence[Gpu], processes: list[Process]) -> list[str]:
    """Answer --gpu-reset: memory without a process is given back, unless anybody uses the GPUs."""
    if processes or flag("persistence").exists():
        raise HardwareError(f"GPU {gpus[0].bus_id} is currently in use by another client.\n1 device is in use.", 19)
    forget_leaks()
    return [*(f"GPU {gpu.bus_id} was successfully reset." for gpu in gpus), "All done."]


def change(arguments: list[str], context: Context, processes: list[Process]) -> list[str] | None:
    """Do what changes the GPUs; None where the arguments only ask."""
    if (value := option(arguments, "-pm", "--persistence-mode")) is not None:
        return set_persistence(value)
    if arguments[:1] in (["-r"], ["--gpu-reset"]):
        return reset(context.gpus, processes)
    return None


def answer(arguments: list[str], state: dict[str, Any], context: Context, processes: list[Process]) -> list[str]:
    """Give the text that the arguments ask for."""
    csv = (option(arguments, "--format") or "").split(",")
    if (fields := option(arguments, "--query-gpu")) is not None:
        return query_gpus(fields.split(","), csv, context)
    if (fields := option(arguments, "--query-compute-apps")) is not None:
        return query_processes(fields.split(","), csv, processes, context.gpus)
    if (changed := change(arguments, context, processes)) is not None:
        return changed
    if arguments[:1] in (["-L"], ["--list-gpus"]):
        return [title(gpu) for gpu in context.gpus]
    if arguments[:1] == ["nvlink"]:
        return nvlinks(state, context.gpus)
    if arguments[:1] == ["topo"]:
        return topology(context.gpus)
    if arguments[:1] == ["--version"]:
        return versions(context.driver)
    if "-q" in arguments:
        return row_remapper(context.gpus)
    if arguments and not arguments[0].startswith(("-i", "--id")):
        raise HardwareError(f"Invalid combination of input arguments (not simulated): {' '.join(arguments)}", 2)
    return overview(context, processes)


def look(arguments: list[str]) -> list[str]:
    """Look at the hardware once."""
    state = read_state()
    driver = check_driver(state)
    engines = find_engines()
    initialise_gpus(state, busy=bool(engines))
    processes = list_processes(state, engines)
    gpus = select(list_gpus(state, processes), arguments)
    if not gpus:
        raise HardwareError("No devices were found", 6)
    context = Context(driver=driver, persistence=flag("persistence").exists(), gpus=gpus)
    return answer(arguments, state, context, processes)


def main() -> int:
    """Answer as the real tool does, exit code included, and again and again with --loop-ms."""
    arguments = sys.argv[1:]
    pause_ms = option(arguments, "-lms", "--loop-ms")
    try:
        while True:
            lines = look(arguments)
            print("\n".join(lines), flush=True) if lines else None
            if pause_ms is None:
                return 0
            time.sleep(int(pause_ms) / 1000)
    except HardwareError as error:
        print(error)
        return error.code
