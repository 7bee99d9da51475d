"""All-reduce over all GPUs of two nodes, by the serving image's own torch and NCCL; rank 0 prints one line.

torch.distributed.run starts it on each node. Without GPUs it uses gloo, which proves the way and nothing about speed.
"""

import argparse
import json
import os
import socket
import time

import torch
import torch.distributed as dist

MARK = "apollo-allreduce "
WARM_UPS = 5


def average_s(tensor: torch.Tensor, rounds: int, settle: object) -> float:
    """Seconds of one all-reduce, on the slowest rank."""
    for _ in range(WARM_UPS):
        dist.all_reduce(tensor)
    settle()
    dist.barrier()
    began = time.perf_counter()
    for _ in range(rounds):
        dist.all_reduce(tensor)
    settle()
    took = torch.tensor([(time.perf_counter() - began) / rounds], dtype=torch.float64, device=tensor.device)
    dist.all_reduce(took, op=dist.ReduceOp.MAX)
    return float(took.item())


def wrong_sums(device: torch.device) -> int:
    """How many elements of one all-reduce differ from the sum that they must be, over all ranks."""
    world = dist.get_world_size()
    tensor = torch.full((2**20,), float(dist.get_rank() + 1), device=device)
    dist.all_reduce(tensor)
    wrong = (tensor != world * (world + 1) / 2).sum()
    dist.all_reduce(wrong)
    return int(wrong.item())


def measure(options: argparse.Namespace, device: torch.device) -> list[dict[str, float]]:
    world, found = dist.get_world_size(), []
    settle = torch.cuda.synchronize if device.type == "cuda" else int
    for size in options.sizes:
        tensor = torch.ones(size // 4, dtype=torch.float32, device=device)
        algbw = size / average_s(tensor, options.rounds, settle) / 1e9
        busbw = algbw * 2 * (world - 1) / world
        found.append({"size_bytes": size, "algbw_gbytes_s": round(algbw, 4), "busbw_gbytes_s": round(busbw, 4)})
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", type=int, nargs="+", required=True, help="bytes of each all-reduce")
    parser.add_argument("--rounds", type=int, required=True, help="all-reduces that are timed")
    options = parser.parse_args()
    has_gpu = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if has_gpu else torch.device("cpu")
    if has_gpu:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if has_gpu else "gloo")
    sizes, wrong = measure(options, device), wrong_sums(device)
    hosts: list[str] = [""] * dist.get_world_size()
    dist.all_gather_object(hosts, socket.gethostname())
    if dist.get_rank() == 0:
        told = {"backend": dist.get_backend(), "version": version(has_gpu), "ranks": dist.get_world_size()}
        told |= {"hosts": hosts, "wrong": wrong, "sizes": sizes, "algorithm": os.environ.get("NCCL_ALGO", "")}
        print(MARK + json.dumps(told), flush=True)
    dist.destroy_process_group()


def version(has_gpu: bool) -> str:
    return ".".join(map(str, torch.cuda.nccl.version())) if has_gpu else torch.__version__


if __name__ == "__main__":
    main()
