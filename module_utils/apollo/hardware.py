"""What a GPU is, as nvidia-smi tells it, and what its kind can do at most, by the makers' data sheets."""

from __future__ import annotations

from dataclasses import dataclass

from ansible.module_utils.apollo.names import unknown_name


@dataclass(frozen=True)
class Gpu:
    """One GPU as far as it matters to what fits."""

    name: str
    capability: tuple[int, int]
    memory_mib: int


@dataclass(frozen=True)
class GpuKind(Gpu):
    """Peak figures as well; dense arithmetic, without the factor for sparse matrices."""

    memory_gb_s: float
    bf16_tflops: float
    power_w: int


_KINDS = (
    GpuKind("NVIDIA A100-SXM4-40GB", (8, 0), 40960, 1555.0, 312.0, 400),
    GpuKind("NVIDIA A100-SXM4-80GB", (8, 0), 81920, 2039.0, 312.0, 400),
    GpuKind("NVIDIA A100-PCIE-40GB", (8, 0), 40960, 1555.0, 312.0, 250),
    GpuKind("NVIDIA A100 80GB PCIe", (8, 0), 81920, 1935.0, 312.0, 300),
    GpuKind("NVIDIA H100 80GB HBM3", (9, 0), 81559, 3350.0, 989.0, 700),
    GpuKind("NVIDIA H200", (9, 0), 143771, 4800.0, 989.0, 700),
)
KINDS = {kind.name: kind for kind in _KINDS}


def read_gpus(text: str) -> list[Gpu]:
    """Read the rows of ``--query-gpu=name,memory.total,compute_cap``; ValueError for a row that tells too little."""
    return [_gpu(line) for line in text.splitlines() if line.strip()]


def _gpu(line: str) -> Gpu:
    cells = [cell.strip() for cell in line.rsplit(",", 2)]
    try:
        name, memory, capability = cells
        major, minor = capability.split(".")
        return Gpu(name, (int(major), int(minor)), int(memory))
    except ValueError:
        raise ValueError(f"nvidia-smi says '{line.strip()}', name, MiB and compute capability wanted") from None


def gpu_kind(name: str) -> GpuKind:
    """Find a kind of GPU; ValueError names those that are known."""
    if name not in KINDS:
        raise ValueError(f"{unknown_name('GPU', name, KINDS)}, or add it to module_utils/apollo/hardware.py")
    return KINDS[name]
