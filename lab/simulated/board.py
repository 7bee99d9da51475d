"""What a node's kernel shows of its board: PCI devices, loaded modules, Secure Boot, its own release.

The first process of a node calls `boot`, before systemd; a test calls `plug` after it has changed the state file.
"""

import re
import shutil
import sys
from pathlib import Path
from typing import Any

from .gpus import BUS_IDS
from .state import BOOT_FOLDER, read_state

KERNELS = Path("/boot")
MODULES = Path("/usr/lib/modules")
SETTINGS = Path("/etc/modprobe.d")
SYS_MODULES = Path("/sys/module")
SYS_DEVICES = Path("/sys/bus/pci/devices")
SYS_FIRMWARE = Path("/sys/firmware")
SECURE_BOOT = "efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
NVIDIA, GPU, SWITCH = "0x10de", ("0x030200", "0x20b0"), ("0x068000", "0x1af1")
BOOT_LOG = Path("/var/log/lab-boots")


def newest_kernel(folder: Path = KERNELS) -> str:
    """Name the kernel that the boot loader takes: the newest."""
    names = [path.name.removeprefix("vmlinuz-") for path in folder.glob("vmlinuz-*")]
    return max(names, key=lambda name: [int(number) for number in re.findall(r"\d+", name)], default="none")


def module_on_disk(kernel: str, secure_boot: bool = False, folder: Path = MODULES) -> str:
    """Give the version of the kernel's NVIDIA module; one built here comes first, but Secure Boot does not load it."""
    built, packaged = ("updates/dkms/nvidia/version", "kernel/nvidia-*/version")
    patterns = [packaged] if secure_boot else [built, packaged]
    found = [path for pattern in patterns for path in sorted((folder / kernel).glob(pattern))]
    return found[0].read_text(encoding="utf-8").strip() if found else ""


def nouveau_loads(state: dict[str, Any], folder: Path = SETTINGS) -> bool:
    """Say whether the free driver takes the GPUs at boot."""
    texts = [path.read_text(encoding="utf-8") for path in folder.glob("*.conf")]
    return bool(state["nouveau"]) and not any("blacklist nouveau" in text for text in texts)


def put(path: Path, text: str) -> None:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def show_module(name: str, version: str) -> None:
    """Show a kernel module as loaded, with its version, or not at all."""
    shutil.rmtree(SYS_MODULES / name, ignore_errors=True)  # mostly none is loaded
    if version:
        put(SYS_MODULES / name / "version", f"{version}\n")


def show_devices(state: dict[str, Any]) -> None:
    """Show the board's devices on the PCI bus."""
    for old in SYS_DEVICES.glob("00ab:*"):
        shutil.rmtree(old)
    rows = [(f"00ab:{bus.lower()}:00.0", GPU) for bus in BUS_IDS[: int(state["gpus"])]]
    rows += [(f"00ab:f{index}:00.0", SWITCH) for index in range(int(state["nvswitches"]))]
    for address, (kind, device) in rows:
        for name, text in (("vendor", NVIDIA), ("class", kind), ("device", device)):
            put(SYS_DEVICES / address / name, f"{text}\n")


def plug() -> None:
    """Show the board as the state file has it now."""
    state = read_state()
    loaded = state["driver"]["loaded"] or (BOOT_FOLDER / "module").read_text(encoding="utf-8").strip()
    show_module("nvidia", "" if loaded == "none" else loaded)
    show_module("nouveau", "none" if (BOOT_FOLDER / "nouveau").exists() else "")
    show_devices(state)
    variable = SYS_FIRMWARE / SECURE_BOOT
    variable.parent.mkdir(parents=True, exist_ok=True)
    variable.write_bytes(bytes([6, 0, 0, 0, int(bool(state["secure_boot"]))]))


def boot() -> None:
    """Take the newest kernel and load what it would load."""
    state = read_state()
    kernel = newest_kernel()
    put(BOOT_FOLDER / "kernel", f"{kernel}\n")
    put(BOOT_FOLDER / "module", module_on_disk(kernel, bool(state["secure_boot"])))
    if nouveau_loads(state):
        put(BOOT_FOLDER / "nouveau", "")
    with BOOT_LOG.open("a", encoding="utf-8") as log:
        log.write(f"{kernel}\n")
    plug()


def modinfo() -> int:
    """Answer modinfo --field version nvidia, for the running kernel or the one behind -k."""
    arguments = sys.argv[1:]
    kernel = (BOOT_FOLDER / "kernel").read_text(encoding="utf-8").strip()
    if "-k" in arguments:
        kernel = arguments[arguments.index("-k") + 1]
    version = module_on_disk(kernel)
    if "nvidia" not in arguments or not version:
        print(f"modinfo: ERROR: Module {arguments[-1]} not found.", file=sys.stderr)
        return 1
    print(version)
    return 0


if __name__ == "__main__":
    boot() if "boot" in sys.argv[1:] else plug()
