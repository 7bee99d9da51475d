"""Which tables were printed, and where each of their figures is measured here."""

from __future__ import annotations

from ansible.module_utils.apollo.reproduce import ONE_NODE, Evidence, Figure, Printed, plan_of

ENERGY_N = 32
GPUS = 8
MTP = "with MTP, N = {n}"
# Printed words of the energy table, our name, and how many of our units are one of theirs.
ENERGY_ROWS = (
    ("power with the model loaded, idle", "power_idle_w"),
    ("mean power under load", "power_mean_w"),
    ("peak power", "power_peak_w"),
    ("highest GPU temperature", "temperature_max_c"),
    ("energy per 1,000 tokens", "wh_per_1k_tokens_gross"),
    ("tokens per kWh", "tokens_per_kwh_gross"),
)
LEFT_OUT_ENERGY = "397B, energy per 1,000 tokens (left out there)"
FABRIC_ROWS = (
    ("InfiniBand bandwidth", "ib_bandwidth_gbps", 1 / 8),
    ("NCCL all-reduce over 8 GPUs, bus bandwidth (tree over two nodes)", "allreduce_busbw_gbytes_s", 1.0),
    ("NCCL all-reduce over 8 GPUs, algorithm bandwidth", "allreduce_algbw_gbytes_s", 1.0),
)


def printed_tables(evidence: Evidence) -> list[Printed]:
    return [_dense(evidence), _sparse(evidence), _comparison(evidence), _energy(evidence), _machine(evidence)]


def _dense(evidence: Evidence) -> Printed:
    """27B over N, and the rows with MTP that the published test left out."""
    columns = ("one node tok/s", "TTFT s", "both nodes tok/s")
    figures, rows = [], []
    for entry in evidence.published["results_27b"]:
        n, row = entry["n"], f"N = {entry['n']}"
        rows.append(row)
        figures += [
            evidence.judged(row, columns[0], entry["node_tok_s"], ONE_NODE, n, "output_tok_s"),
            evidence.judged(row, columns[1], entry["ttft_s"], ONE_NODE, n, "ttft_mean_ms", 0.001),
            evidence.judged(row, columns[2], entry["total_tok_s"], ["27b"], n, "total_output_tok_s"),
        ]
    for entry in evidence.published["results_27b"]:
        row = MTP.format(n=entry["n"])
        rows.append(row)
        figures += _mtp(evidence, row, entry["n"], columns)
    notes = [*evidence.footnotes("results_27b", "method"), "The rows with MTP were left out of the published test."]
    return Printed("results_27b", "27B, bfloat16, tensor parallel 4", rows, columns, figures, notes)


def _mtp(evidence: Evidence, row: str, n: int, columns: tuple[str, str, str]) -> list[Figure]:
    mtp = [sweep for sweep in evidence.sweeps if sweep.plan == "27b-mtp"]
    totals = [point.mean("total_output_tok_s") for sweep in mtp for point in sweep.rows if point.concurrency == n]
    return [
        evidence.plain(row, columns[0], ["27b-mtp"], n, "output_tok_s"),
        evidence.plain(row, columns[1], ["27b-mtp"], n, "ttft_mean_ms", 0.001),
        Figure(row, columns[2], None, totals[0] if totals else None, "tok/s"),
    ]


def _sparse(evidence: Evidence) -> Printed:
    columns = ("one user tok/s", "one user TTFT s", "best tok/s", "at N", "TTFT s there", "crashed at N")
    figures, rows = [], []
    for entry in evidence.published["results_397b"]:
        row, plan, best = entry["variant"], [plan_of(entry["variant"])], entry["best_n"]
        rows.append(row)
        figures += [
            evidence.judged(row, columns[0], entry["single_tok_s"], plan, 1, "output_tok_s"),
            evidence.judged(row, columns[1], entry["single_ttft_s"], plan, 1, "ttft_mean_ms", 0.001),
            evidence.judged(row, columns[2], entry["best_tok_s"], plan, best, "output_tok_s"),
            Figure(row, columns[3], best, best if _measured(evidence, plan[0], best) else None, ""),
            evidence.judged(row, columns[4], entry["best_ttft_s"], plan, best, "ttft_mean_ms", 0.001),
            Figure(row, columns[5], entry.get("crashed_at_n"), _broke_at(evidence, plan[0]), ""),
        ]
    notes = evidence.footnotes("results_397b")
    return Printed("results_397b", "397B, GPTQ int4, over two nodes", rows, columns, figures, notes)


def _comparison(evidence: Evidence) -> Printed:
    columns = ("most tok/s", "one user tok/s", "tok/s per GPU", "sessions")
    asked = (("397b, variant c", "397b", "output_tok_s", 32), ("27b on both nodes", "27b", "total_output_tok_s", 128))
    figures, printed = [], {entry["name"]: entry for entry in evidence.published["comparison"]}
    for row, plan, metric, n in asked:
        entry = printed[row]
        figures += [
            evidence.judged(row, columns[0], entry["max_tok_s"], [plan], n, metric),
            evidence.judged(row, columns[1], entry["single_tok_s"], [plan], 1, "output_tok_s"),
            evidence.judged(row, columns[2], entry["tok_s_per_gpu"], [plan], n, metric, 1 / GPUS),
            Figure(row, columns[3], entry["sessions"], None, ""),
        ]
    notes = evidence.footnotes("comparison")
    return Printed("comparison", "Both models side by side", [row for row, *_ in asked], columns, figures, notes)


def _energy(evidence: Evidence) -> Printed:
    column = "one node, 27B at N = 32"
    printed = {entry["what"]: entry for entry in evidence.published["energy"]}
    figures = [
        evidence.judged(what, column, printed[what]["value"], ONE_NODE, ENERGY_N, metric)
        for what, metric in ENERGY_ROWS
    ]
    figures.append(evidence.plain(LEFT_OUT_ENERGY, column, ["397b"], ENERGY_N, "wh_per_1k_tokens_gross"))
    rows = [figure.row for figure in figures]
    notes = [*evidence.footnotes("energy"), "The energy of the 397B was left out of the published test."]
    return Printed("energy", "Energy of one node", rows, [column], figures, notes)


def _machine(evidence: Evidence) -> Printed:
    column = "value"
    printed = {entry["what"]: entry for entry in evidence.published["fabric"]}
    figures = [
        evidence.judged(f"{what}, GB/s", column, printed[what]["value"], [""], None, metric, scale)
        for what, metric, scale in FABRIC_ROWS
    ]
    starts = {entry["name"]: entry["start_minutes"] for entry in evidence.published["models"]}
    for row, model, plans in (
        ("27B, minutes to start", "qwen3.6-27b", ["27b", "27b-one"]),
        ("397B, minutes to start", "qwen3.5-397b-a17b", ["397b"]),
    ):
        figures.append(evidence.judged(row, column, starts[model], plans, None, "start_s", 1 / 60))
    rows = [figure.row for figure in figures]
    return Printed("machine", "Fabric and start", rows, [column], figures, evidence.footnotes("fabric", "models"))


def _measured(evidence: Evidence, plan: str, n: int) -> bool:
    rows = [row for sweep in evidence.sweeps if sweep.plan == plan for row in sweep.rows]
    return any(row.concurrency == n and row.valid for row in rows)


def _broke_at(evidence: Evidence, plan: str) -> int | None:
    rows = [row for sweep in evidence.sweeps if sweep.plan == plan for row in sweep.rows]
    return min((row.concurrency for row in rows if row.status == "failed"), default=None)
