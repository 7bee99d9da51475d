"""Numbers of the machine under the benchmark: energy of a run, the fabric, and how long an engine takes to start."""

from __future__ import annotations

# Name, unit, which way is better, meaning. Scope endpoint: part of each run's figures.
ENERGY = (
    ("power_mean_w", "W", "lower", "Mean power of the endpoint's GPUs during the run."),
    ("power_peak_w", "W", "lower", "Highest power of the endpoint's GPUs seen during the run."),
    ("power_idle_w", "W", "lower", "Power of the endpoint's GPUs with the model loaded and no request."),
    ("host_power_mean_w", "W", "lower", "Mean power of the whole nodes during the run, where they tell it."),
    ("energy_gross_j", "J", "lower", "Energy of the endpoint's GPUs during the run."),
    ("energy_net_j", "J", "lower", "The same less what they would have used idle."),
    ("joules_per_token_gross", "J/tok", "lower", "Energy of the GPUs per generated token."),
    ("joules_per_token_net", "J/tok", "lower", "The same less what they would have used idle."),
    ("wh_per_1k_tokens_gross", "Wh", "lower", "Energy of the GPUs per 1000 generated tokens."),
    ("wh_per_1k_tokens_net", "Wh", "lower", "The same less what they would have used idle."),
    ("tokens_per_kwh_gross", "tok", "higher", "Generated tokens per kWh of the GPUs."),
    ("tokens_per_kwh_net", "tok", "higher", "The same without what they would have used idle."),
    ("temperature_max_c", "°C", "lower", "Highest temperature of a GPU during the run."),
    ("sm_clock_min_mhz", "MHz", "higher", "Lowest clock of a GPU during the run."),
)

# Scope fact: measured outside of a run, and noted in the journal as events of their own.
FACTS = (
    ("start_s", "s", "lower", "From starting an engine to its first answer."),
    ("gpu_init_s", "s", "lower", "From a boot's first question to the GPUs until all of them have answered."),
    ("ib_bandwidth_gbps", "Gb/s", "higher", "Bandwidth of the InfiniBand link, as ib_write_bw measures it."),
    ("allreduce_busbw_gbytes_s", "GB/s", "higher", "Bus bandwidth of an all-reduce over all GPUs of both nodes."),
    ("allreduce_ring_busbw_gbytes_s", "GB/s", "higher", "The same by NCCL's ring, which cannot exceed the wire."),
    ("allreduce_algbw_gbytes_s", "GB/s", "higher", "Algorithm bandwidth of the same all-reduce."),
    (
        "overload_refused",
        "1",
        "higher",
        "Requests that the gateway refused with 429 while more came than the plan carries.",
    ),
    ("overload_errors", "1", "lower", "Requests of an overload that got neither an answer nor 429."),
    ("overload_refused_p95_ms", "ms", "lower", "From asking to 429, 95th percentile of the refused."),
    (
        "overload_ttft_p95_ms",
        "ms",
        "lower",
        "First token of those who were let in during an overload, 95th percentile.",
    ),
    (
        "overload_user_p05_tok_s",
        "tok/s",
        "higher",
        "Speed that 95 of 100 of those who were let in had, waiting included.",
    ),
)
