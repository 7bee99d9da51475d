"""A device is prepared only when it holds nothing; everything else is mounted as it is, or refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible.module_utils.apollo import storage
from ansible.module_utils.apollo.storage import Device, Signature, Volume
from hypothesis import given
from hypothesis import strategies as st

VOLUME = Volume("/models", "/dev/nvme0n1", "xfs")
EMPTY = Device(exists=True, is_block=True, size_bytes=10**12, signatures=())
OURS = replace(EMPTY, signatures=(Signature("xfs", "apollo-model"),))

signatures = st.builds(
    Signature, st.sampled_from(["xfs", "ext4", "gpt", "linux_raid_member"]), st.sampled_from(["", "apollo-model"])
)
devices = st.builds(
    Device,
    exists=st.booleans(),
    is_block=st.booleans(),
    size_bytes=st.none(),
    mounted_at=st.sampled_from([(), ("/models",), ("/",)]),
    parts=st.sampled_from([(), ("/dev/nvme0n1p1",)]),
    signatures=st.none() | st.lists(signatures, max_size=2).map(tuple),
)


@given(devices)
def test_only_an_empty_device_is_prepared(device: Device) -> None:
    if storage.judge(device, VOLUME).step == storage.PREPARE:
        assert device == replace(EMPTY, size_bytes=None)


@given(devices)
def test_every_refusal_has_one_line_that_names_the_device(device: Device) -> None:
    verdict = storage.judge(device, VOLUME)
    assert (verdict.step == storage.REFUSE) == bool(verdict.reason)
    assert "\n" not in verdict.reason
    assert verdict.step != storage.REFUSE or verdict.reason.startswith("device /dev/nvme0n1 for /models ")


@pytest.mark.parametrize(
    ("device", "step", "reason"),
    [
        (EMPTY, storage.PREPARE, ""),
        (OURS, storage.MOUNT, ""),
        (replace(OURS, mounted_at=("/models",)), storage.MOUNTED, ""),
        (replace(OURS, mounted_at=("/mnt",)), storage.REFUSE, "is mounted at /mnt, /models wanted"),
        (Device(), storage.REFUSE, "does not exist"),
        (Device(exists=True), storage.REFUSE, "is no block device"),
        (replace(EMPTY, parts=("/dev/nvme0n1p1",)), storage.REFUSE, "carries /dev/nvme0n1p1"),
        (replace(EMPTY, signatures=None), storage.REFUSE, "cannot be read"),
        (replace(EMPTY, signatures=(Signature("ext4", "home"),)), storage.REFUSE, "holds ext4 (home)"),
        (replace(EMPTY, signatures=(Signature("ext4", "apollo-model"),)), storage.REFUSE, "holds ext4 (apollo-model)"),
        (replace(EMPTY, signatures=(Signature("linux_raid_member"),)), storage.REFUSE, "holds linux_raid_member"),
        (replace(EMPTY, signatures=(Signature("gpt"), Signature("PMBR"))), storage.REFUSE, "holds gpt, PMBR"),
    ],
)
def test_each_content_has_its_step(device: Device, step: str, reason: str) -> None:
    verdict = storage.judge(device, VOLUME)
    assert verdict.step == step
    assert reason in verdict.reason


def test_tools_are_read() -> None:
    wipefs = '{"signatures": [{"device": "sda", "offset": "0x438", "type": "ext4", "uuid": "1", "label": "x"}]}'
    assert storage.parse_signatures(wipefs) == (Signature("ext4", "x"),)
    assert storage.parse_signatures("") == ()
    lsblk = (
        '{"blockdevices": [{"name": "/dev/sda", "type": "disk", "size": 5, "mountpoints": [null],'
        ' "children": [{"name": "/dev/sda1", "children": [{"name": "/dev/mapper/x"}]}]}]}'
    )
    assert storage.parse_tree(lsblk) == (5, (), ("/dev/sda1", "/dev/mapper/x"))
    assert storage.parse_tree("") == (None, (), ())


def test_what_is_asked_for_twice_is_told() -> None:
    other = Volume("/data", "/dev/md0", "xfs")
    assert storage.doubles((VOLUME, other)) == []
    assert storage.doubles((VOLUME, replace(other, device=VOLUME.device)))[0].startswith("device /dev/nvme0n1 stands")
    assert storage.doubles((VOLUME, replace(other, path="/models")))[0].startswith("path /models stands twice")
    assert "share the label" in storage.doubles((VOLUME, replace(other, path="/models2")))[0]


def test_label_fits_every_filesystem() -> None:
    assert storage.label_of("/models/") == "apollo-model"
    assert len(storage.label_of("/srv/apollo/data")) <= 12


def test_one_line_tells_where_the_volumes_are() -> None:
    told = {"path": "/models", "size_bytes": 3_840_755_982_336, "filesystem": "xfs", "step": "mounted"}
    assert storage.line([told]) == "/models 3840.8 GB xfs mounted"
    assert storage.line([{**told, "size_bytes": None, "step": "refuse"}]) == "/models of unknown size xfs refused"
    assert storage.line([]) == "no volume named"
