"""All ranks of a replica live and die together."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible.module_utils.apollo import lifecycle as life
from ansible.module_utils.apollo.lifecycle import Rank, Replica, Rules
from hypothesis import given
from hypothesis import strategies as st

RULES = Rules()
FREE = Rank(life.FREE)
GATHERING = Replica()
LOADING = Replica(life.LOADING, since=0, generation=7, starts=1)
READY = replace(LOADING, phase=life.READY, since=100)


def running(generation: int = 7) -> Rank:
    return Rank(life.RUNNING, generation)


@pytest.mark.parametrize("ranks", [[FREE, None], [Rank(), FREE], [FREE, Rank(life.BLOCKED)], [FREE, running()]])
def test_nothing_starts_before_every_rank_is_proved_free(ranks: list[Rank | None]) -> None:
    assert life.decide(GATHERING, ranks, 1, RULES) == GATHERING


def test_start_gets_a_number_that_no_rank_has_seen() -> None:
    started = life.decide(GATHERING, [FREE, Rank(life.FREE, 41)], 3, RULES)
    assert (started.phase, started.generation, started.since, started.starts) == (life.LOADING, 42, 3, 1)


def test_worker_starts_before_the_head() -> None:
    assert life.wanted(LOADING, [FREE, FREE], 1) == 7
    assert life.wanted(LOADING, [FREE, FREE], 0) == life.NOTHING
    assert life.wanted(LOADING, [FREE, running()], 0) == 7


def test_replica_of_one_rank_waits_for_nobody() -> None:
    assert life.wanted(LOADING, [FREE], 0) == 7


@pytest.mark.parametrize("before", [LOADING, READY])
@pytest.mark.parametrize(
    ("ranks", "told"),
    [
        ([running(), None], "rank 1 does not answer"),
        ([running(), Rank(life.CLEARING, 7, "out of memory")], "rank 1 ended: out of memory"),
        ([Rank(life.CLEARING, 7, "ended"), running()], "rank 0 ended: ended"),
        ([running(), Rank()], "rank 1 ended: its keeper started over"),
        ([running(), Rank(life.RUNNING, 6)], "rank 1 ended: its keeper started over"),
    ],
)
def test_one_rank_less_ends_them_all(before: Replica, ranks: list[Rank | None], told: str) -> None:
    after = life.decide(before, ranks, 200, RULES)
    assert (after.phase, after.reason) == (life.GATHERING, told)
    assert [life.wanted(after, ranks, number) for number in (0, 1)] == [life.NOTHING, life.NOTHING]


def test_rank_that_has_not_heard_of_the_start_is_waited_for() -> None:
    assert life.decide(LOADING, [FREE, FREE], 5, RULES) == LOADING


def test_rank_stops_what_is_not_wanted_and_never_starts_the_same_twice() -> None:
    assert life.obey(running(7), life.NOTHING) == (Rank(life.CLEARING, 7), life.CLEAR)
    assert life.obey(running(7), 8) == (Rank(life.CLEARING, 7), life.CLEAR)
    assert life.obey(Rank(life.FREE, 7), 7) == (Rank(life.FREE, 7), "")
    assert life.obey(Rank(life.FREE, 7), 8) == (running(8), life.RUN)
    assert life.obey(Rank(life.BLOCKED, 7), 8) == (Rank(life.BLOCKED, 7), "")


def test_late_end_of_an_earlier_start_is_no_news() -> None:
    assert life.ended(running(8), 7, "x") == (running(8), "")
    assert life.ended(running(8), 8, "x") == (Rank(life.CLEARING, 8, "x"), life.CLEAR)


def test_gpus_that_are_not_free_block_with_the_reason() -> None:
    blocked = life.cleared(Rank(life.CLEARING, 7), ["GPU 0 is held"])
    assert blocked == Rank(life.BLOCKED, 7, "GPU 0 is held")
    assert life.cleared(blocked, []).phase == life.FREE
    assert life.waits_for([FREE, blocked, None]) == "rank 1 is blocked GPU 0 is held, rank 2 does not answer"


def test_readiness_is_a_token_of_this_start() -> None:
    assert life.answered(LOADING, 6, 9) == LOADING
    assert life.answered(LOADING, 7, 9) == replace(LOADING, phase=life.READY, since=9)


def test_healthy_head_that_fails_three_requests_ends() -> None:
    once = life.failed_token(LOADING, 7, "HTTP 500", 9, RULES)
    thrice = life.failed_token(life.failed_token(once, 7, "HTTP 500", 9, RULES), 7, "HTTP 500", 9, RULES)
    assert once.phase == life.LOADING
    assert (thrice.phase, thrice.reason) == (life.GATHERING, "3 requests for one token failed: HTTP 500")


def test_token_in_between_forgives_a_failed_one() -> None:
    once = life.failed_token(READY, 7, "x", 101, RULES)
    assert life.answered(once, 7, 102) == READY


def test_load_without_end_is_ended() -> None:
    late = life.decide(LOADING, [running(), running()], RULES.start_timeout_s + 1, RULES)
    assert late.reason == "no token within 1800 s"


def test_pauses_grow_and_leave_the_goal_of_a_minute() -> None:
    assert [life.delay_s(ends, RULES) for ends in (1, 2, 3, 4, 5, 9)] == [0, 5, 10, 20, 40, 40]


def test_limit_ends_in_failed_with_number_limit_and_cause() -> None:
    replica = LOADING
    for second in range(RULES.restart_limit):
        replica = life.end(replace(replica, phase=life.LOADING), "boom", second, RULES)
    assert replica.phase == life.FAILED
    assert replica.reason == "5 ends within 3600 s, 5 allowed; the last: boom"
    assert life.decide(replica, [FREE, FREE], 9999, RULES) == replica


def test_ends_of_long_ago_and_of_an_engine_that_served_long_do_not_count() -> None:
    worn = replace(READY, ends=(1.0, 2.0, 3.0, 4.0))
    assert life.end(worn, "x", 100 + RULES.stable_s, RULES).ends == (100 + RULES.stable_s,)
    assert life.end(worn, "x", 3602.5, replace(RULES, stable_s=9e9)).ends == (3.0, 4.0, 3602.5)


class Cluster:
    """Ranks and their head, with messages that arrive late and keepers that start over."""

    def __init__(self, size: int) -> None:
        self.ranks = [Rank() for _ in range(size)]
        self.heard: list[Rank | None] = [None] * size
        self.orders = [life.NOTHING] * size
        self.replica = Replica()
        self.now = 0.0

    def step(self, number: int, event: str) -> None:
        self.now += 1
        rank = self.ranks[number]
        if event == "ends":
            self.ranks[number], _ = life.ended(rank, rank.generation, "killed")
        elif event == "cleared":
            self.ranks[number] = life.cleared(rank, [])
        elif event == "blocked":
            self.ranks[number] = life.cleared(rank, ["held"])
        elif event == "lost":
            self.heard[number], self.orders[number] = None, life.NOTHING
        elif event == "reports":
            self.heard[number] = rank
        elif event == "hears":
            self.orders[number] = life.wanted(self.replica, self.known(), number)
        elif event == "answers" and self.served():
            self.replica = life.answered(self.replica, self.replica.generation, self.now)
        self.settle()

    def known(self) -> list[Rank | None]:
        return [self.ranks[0], *self.heard[1:]]

    def served(self) -> bool:
        return all(rank == Rank(life.RUNNING, self.replica.generation) for rank in self.ranks)

    def settle(self) -> None:
        self.replica = life.decide(self.replica, self.known(), self.now, RULES)
        self.orders[0] = life.wanted(self.replica, self.known(), 0)
        for number, order in enumerate(self.orders):
            self.ranks[number], _ = life.obey(self.ranks[number], order)


EVENTS = st.tuples(
    st.integers(0, 2), st.sampled_from(["ends", "cleared", "blocked", "lost", "reports", "hears", "answers"])
)


@given(st.lists(EVENTS, max_size=200))
def test_whatever_happens_the_head_runs_only_with_workers_of_its_own_start(events: list[tuple[int, str]]) -> None:
    cluster = Cluster(3)
    for number, event in events:
        before = cluster.ranks[0]
        cluster.step(number, event)
        head = cluster.ranks[0]
        if head.phase == life.RUNNING and before != head:
            assert all(rank == Rank(life.RUNNING, head.generation) for rank in cluster.heard[1:])
        if cluster.replica.phase == life.FAILED:
            assert head.phase != life.RUNNING


@given(st.lists(EVENTS, max_size=100))
def test_whatever_happened_quiet_brings_service_or_a_clear_failure(events: list[tuple[int, str]]) -> None:
    cluster = Cluster(3)
    for number, event in events:
        cluster.step(number, event)
    for _ in range(120):
        for number in range(3):
            for event in ("cleared", "reports", "hears", "answers"):
                cluster.step(number, event)
    if cluster.replica.phase == life.FAILED:
        assert not [rank for rank in cluster.ranks if rank.phase == life.RUNNING]
    else:
        assert (cluster.replica.phase, cluster.served()) == (life.READY, True)
