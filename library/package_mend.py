"""Finish what an interrupted run of apt or dpkg has left."""

from __future__ import annotations

import fcntl
import time
from pathlib import Path

from ansible.module_utils.apollo import packages
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: package_mend
short_description: Finish what an interrupted run of apt or dpkg has left
author: Apollo inference
description:
  - A run that was killed leaves packages unpacked, half configured or to be fetched anew. apt installs nothing then, or
    takes what is half there for whole.
  - Waits until no other program works on the packages, such as what a killed run has left running.
  - Configures what is unpacked, completes what is missing and reinstalls what is broken. Removes nothing.
options:
  lock_timeout_s:
    description: Seconds to wait for another program that works on the packages.
    type: int
    default: 300
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
    details: What dpkg changes is not known before.
  idempotent:
    support: full
"""

EXAMPLES = r"""
- name: Finish what an interrupted run has left
  package_mend:
"""

RETURN = r"""
unfinished:
  description: The packages that were left half-way.
  returned: always
  type: list
  elements: str
journal:
  description: Number of notes that dpkg has not brought into its database; apt refuses to work on top of them.
  returned: always
  type: int
"""

DATABASE = Path("/var/lib/dpkg")
LOCKS = Path("/proc/locks")
APT = ["apt-get", "--yes", "--quiet", "--no-remove", "--no-install-recommends", "--allow-change-held-packages"]
KEEP = ["-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold"]
PAUSE_S = 1.0


def is_free() -> bool:
    """Say whether no other program works on the packages."""
    try:
        with (DATABASE / "lock-frontend").open("r+") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def wait(module: AnsibleModule) -> None:
    """Wait for the end of other programs; name the one that does not end."""
    limit_s = module.params["lock_timeout_s"]
    end = time.monotonic() + limit_s
    while not is_free():
        if time.monotonic() > end:
            holder = packages.lock_holder(LOCKS.read_text(), (DATABASE / "lock-frontend").stat().st_ino)
            module.fail_json(
                msg=f"process {holder or 'unknown'} has locked the packages for {limit_s} s, none expected: see "
                "`ps -f` for it, and let it end"
            )
        time.sleep(PAUSE_S)


def read(module: AnsibleModule) -> tuple[dict[str, packages.Installed], int]:
    """Read what is half-way, and how many notes dpkg has still to bring into its database."""
    command = ["dpkg-query", "--show", f"--showformat={packages.STATUS_LAYOUT}"]
    known = packages.parse_status(module.run_command(command)[1])
    return {name: known[name] for name in packages.unfinished(known)}, len(list(DATABASE.glob("updates/[0-9]*")))


def mend(module: AnsibleModule) -> str:
    """Finish, and give the last words of what failed."""
    module.run_command_environ_update = {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    module.run_command(["dpkg", "--force-confdef", "--force-confold", "--configure", "--pending"])
    module.run_command([*APT, *KEEP, "--fix-broken", "install"])
    broken = [name for name, package in read(module)[0].items() if package.broken]
    code, out, err = module.run_command([*APT, *KEEP, "--reinstall", "install", *broken]) if broken else (0, "", "")
    return f"{out}{err}".strip().splitlines()[-1] if code else ""


def main() -> None:
    """Wait, read, finish, look again."""
    module = AnsibleModule(argument_spec={"lock_timeout_s": {"type": "int", "default": 300}}, supports_check_mode=True)
    wait(module)
    halves, notes = read(module)
    told = {"unfinished": list(halves), "journal": notes}
    if (halves or notes) and not module.check_mode:
        said = mend(module)
        left, still = read(module)
        if left or still:
            names = ", ".join(left) or f"{still} notes"
            module.fail_json(
                msg=f"{names} left half-way by an interrupted run, whole packages expected: see `dpkg --audit` and "
                f"`apt-get --fix-broken install`{f' ({said})' if said else ''}",
                **told,
            )
    module.exit_json(changed=bool(halves or notes), **told)


if __name__ == "__main__":
    main()
