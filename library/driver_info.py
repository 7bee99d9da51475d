"""Report the state of a node's driver and the one step that makes it ready."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from ansible.module_utils.apollo import apt_view, driver, gpu, packages, pci
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: driver_info
short_description: Report the state of a node's driver and the step that makes it ready
author: Apollo inference
description:
  - Reads the PCI bus, kernel modules, installed kernels, the package database and apt's offers. Changes nothing.
  - The step goes by what is so, not by what an earlier task changed; an interrupted run is finished by the next one.
  - A step that says C(refuse) is no failure here; the caller decides.
options:
  branch:
    description: Driver branch; the first number of its versions.
    type: str
    required: true
  origin:
    description: Who must have published the packages, as their source's Release file names it. Empty is not judged.
    type: str
    default: ""
  packages:
    description: Packages that make up the driver.
    type: list
    elements: str
    default: []
  kernel_packages:
    description: Kernel packages that are held together with them, where installed.
    type: list
    elements: str
    default: []
  upgrade:
    description: Whether offers for packages that are already installed are judged, too.
    type: bool
    default: false
  look_up:
    description: Whether the offers for missing packages are fetched anew, into a folder beside the system that is
      removed again. Where no list of the wanted origin can be fetched, those that the system has count; where it has
      none either, a driver that is still to come is refused.
    type: bool
    default: false
  sources:
    description: Sources that this node is to get and may not have yet, as deb822 fields in snake case; for O(look_up).
    type: list
    elements: dict
    default: []
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
    details: Nothing is changed.
  idempotent:
    support: full
"""

EXAMPLES = r"""
- name: Read the driver
  driver_info:
    branch: "580"
    origin: Ubuntu
    packages: [nvidia-utils-580-server, libnvidia-compute-580-server]
    kernel_packages: [linux-generic]
  register: driver

- name: Require a driver that is ready
  ansible.builtin.assert:
    that: driver.step == 'ready'
    fail_msg: "{{ driver.reasons | join('; ') }}"
"""

RETURN = r"""
step:
  description: What makes the driver ready, one of C(ready), C(install), C(reboot) and C(refuse).
  returned: always
  type: str
reasons:
  description: Why, a line each with value, limit and remedy.
  returned: always
  type: list
  elements: str
state:
  description: What was read, with gpus, nvswitches, running_kernel, next_kernel, loaded, on_disk, next_on_disk,
    userspace, nouveau, secure_boot (null where the firmware does not say), built (packages that build unsigned
    modules), missing, kernels, offers and listed (whether a list of the wanted origin could be read; null where
    nobody looked it up).
  returned: always
  type: dict
refusals:
  description: Those of the reasons for which nothing may be installed or upgraded here.
  returned: always
  type: list
  elements: str
offered:
  description: Whether apt could install every package that is missing.
  returned: always
  type: bool
loose:
  description: Packages of both lists that are installed and not held.
  returned: always
  type: list
  elements: str
upgradable:
  description: Packages of both lists that apt would change.
  returned: always
  type: list
  elements: str
targets:
  description: The same packages as C(NAME=VERSION), with the version that apt would take.
  returned: always
  type: list
  elements: str
foreign:
  description: Installed packages that have no place on a board without NVSwitches.
  returned: always
  type: list
  elements: str
"""

SOURCES = Path("/etc/apt")
KERNEL = Path("/proc/sys/kernel/osrelease")
KERNELS = Path("/boot")
MODULES = Path("/sys/module")
DEVICES = Path("/sys/bus/pci/devices")
SECURE_BOOT = Path("/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c")
BUILT, LIBRARY, FOREIGN = "nvidia-dkms-*", "libnvidia-compute-*", "nvidia-fabricmanager-*"

ARGUMENTS = {
    "branch": {"type": "str", "required": True},
    "origin": {"type": "str", "default": ""},
    "packages": {"type": "list", "elements": "str", "default": []},
    "kernel_packages": {"type": "list", "elements": "str", "default": []},
    "upgrade": {"type": "bool", "default": False},
    "look_up": {"type": "bool", "default": False},
    "sources": {"type": "list", "elements": "dict", "default": []},
}


def read(path: Path) -> str:
    """Give a file's text, or nothing where there is none."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def board() -> pci.Board:
    """Count what is on the bus."""
    folders = sorted(DEVICES.iterdir()) if DEVICES.is_dir() else []
    pairs = [(read(folder / "vendor"), read(folder / "class")) for folder in folders]
    return pci.count(pci.parse_device(vendor, kind) for vendor, kind in pairs if vendor and kind)


def secure_boot() -> bool | None:
    """Say whether Secure Boot is on; None where the firmware does not say."""
    try:
        return SECURE_BOOT.read_bytes()[-1:] == b"\x01"
    except OSError:
        return None


def module_version(module: AnsibleModule, kernel: str) -> str:
    """Give the version of the module that this kernel would load, or nothing."""
    program = module.get_bin_path("modinfo")
    if program is None or not kernel:
        return ""
    code, out, _ = module.run_command([program, "-k", kernel, "--field", "version", "nvidia"])
    return str(out).strip() if code == 0 else ""


def status(module: AnsibleModule, names: Iterable[str]) -> dict[str, packages.Installed]:
    """Ask dpkg for packages by name or pattern."""
    layout = f"--showformat={packages.STATUS_LAYOUT}"
    return packages.parse_status(module.run_command(["dpkg-query", "--show", layout, *names])[1])


def lay_out(module: AnsibleModule, folder: Path) -> None:
    """Put the system's sources, and those that are to come, into a view beside the system."""
    for place in apt_view.FOLDERS:
        (folder / place).mkdir(parents=True)
    (folder / "sources.list").write_text(read(SOURCES / "sources.list") + "\n")
    for path in (SOURCES / "sources.list.d").glob("*"):
        if apt_view.counts(path.name):
            (folder / "sources" / path.name).write_text(read(path) + "\n")
    wanted = module.params["sources"]
    keys = [str(source["signed_by"]) for source in wanted if Path(str(source.get("signed_by", "-"))).is_file()]
    (folder / "sources" / apt_view.OWN).write_text(apt_view.stanzas(wanted, keys))
    (folder / "preferences").write_text(apt_view.pin(module.params["packages"], module.params["origin"]))
    folder.chmod(0o755)  # apt fetches as a user of its own


def offered(module: AnsibleModule, names: list[str], missing: Iterable[str]) -> packages.Offered:
    """Ask apt what it would do with packages; for missing ones, where that is wanted, from lists fetched beside it."""
    if not (missing and module.params["look_up"]):
        return ask(module, names)
    with tempfile.TemporaryDirectory() as name:
        lay_out(module, Path(name))
        view = apt_view.options(name)
        fetch = ["timeout", str(apt_view.LIMIT_S), "apt-get", *view, *apt_view.PATIENCE, "--quiet", "update"]
        module.run_command(fetch)  # the lists tell how it ended
        fetched = ask(module, names, view)
    return fetched if fetched.publishes(module.params["origin"]) else ask(module, names)


def ask(module: AnsibleModule, names: list[str], view: Iterable[str] = ()) -> packages.Offered:
    """Read the policies of packages and the origins of their sources."""
    policy = ["apt-cache", *view, "policy"]
    origins = packages.parse_origins(module.run_command(policy)[1])
    return packages.Offered(packages.parse_policies(module.run_command([*policy, *names])[1]), origins)


def offers(module: AnsibleModule, found: packages.Offered, names: Iterable[str]) -> dict[str, driver.Offer | None]:
    """Give what apt would install for each package; nothing at all before apt has any list of the wanted origin."""
    if not found.publishes(module.params["origin"]):
        return {}
    known = ((name, found.policies.get(name, packages.Policy())) for name in names)
    return {
        name: driver.Offer(policy.candidate, packages.origin_of(policy, found.origins)) if policy.candidate else None
        for name, policy in known
    }


def next_kernel() -> str:
    """Name the kernel that the next boot takes, or nothing where none is installed."""
    return driver.newest_kernel(path.name.removeprefix("vmlinuz-") for path in KERNELS.glob("vmlinuz-*"))


def userspace(installed: dict[str, packages.Installed]) -> str:
    """Give the version of the installed CUDA driver library."""
    versions = [entry.version for name, entry in installed.items() if name.startswith(LIBRARY[:-1])]
    return gpu.upstream_version(versions[0]) if versions else ""


def inspect(module: AnsibleModule) -> tuple[driver.State, Mapping[str, packages.Policy], dict[str, packages.Installed]]:
    """Read everything from the node."""
    wanted, beside = module.params["packages"], module.params["kernel_packages"]
    installed = status(module, [*wanted, *beside, BUILT, LIBRARY, FOREIGN])
    missing = tuple(name for name in wanted if name not in installed or not installed[name].whole)
    found = offered(module, [*wanted, *beside], missing)
    running, seen = read(KERNEL), board()
    following = next_kernel() or running
    state = driver.State(
        gpus=seen.gpus,
        nvswitches=seen.nvswitches,
        running_kernel=running,
        next_kernel=following,
        loaded=read(MODULES / "nvidia" / "version"),
        on_disk=module_version(module, running),
        next_on_disk=module_version(module, following),
        userspace=userspace(installed),
        nouveau=(MODULES / "nouveau").is_dir(),
        secure_boot=secure_boot(),
        built=tuple(name for name in installed if name.startswith(BUILT[:-1])),
        missing=missing,
        kernels=tuple(name for name in beside if name in installed),
        offers=offers(module, found, judged(module, installed, missing)),
        listed=found.publishes(module.params["origin"]) if module.params["look_up"] else None,
    )
    return state, found.policies, installed


def judged(module: AnsibleModule, installed: Iterable[str], missing: Iterable[str]) -> list[str]:
    """Name the packages whose offers count."""
    held = [name for name in module.params["kernel_packages"] if name in installed]
    return [*module.params["packages"], *held] if module.params["upgrade"] else list(missing)


def main() -> None:
    """Read, decide, report."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    state, found, installed = inspect(module)
    kernels = tuple(module.params["kernel_packages"])
    wanted = driver.Wanted(module.params["branch"], module.params["origin"], kernels)
    verdict = driver.decide(state, wanted)
    names = [*module.params["packages"], *module.params["kernel_packages"]]
    moving = packages.upgradable(found, names)
    module.exit_json(
        changed=False,
        step=verdict.step,
        reasons=list(verdict.reasons),
        refusals=list(driver.refusals(state, wanted)),
        state=asdict(state),
        offered=all(found.get(name, packages.Policy()).candidate for name in state.missing),
        loose=[name for name in names if name in installed and not installed[name].held],
        upgradable=list(moving),
        targets=[f"{name}={found[name].candidate}" for name in moving],
        foreign=[name for name in installed if name.startswith(FOREIGN[:-1])],
    )


if __name__ == "__main__":
    main()
