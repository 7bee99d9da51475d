"""The time that is left."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from lab.timing import Expectation, clock, expected_s, history_key, read_history, rough, time_left_s, write_history

DURATIONS = st.lists(st.floats(0, 10_000), min_size=1, max_size=8)


@given(DURATIONS, st.floats(0, 20_000))
def test_time_left_is_never_negative_and_covers_the_steps_to_come(expected: list[float], elapsed: float) -> None:
    assert time_left_s(expected, 0, elapsed) >= sum(expected[1:])


def test_time_left_goes_down_while_a_step_is_on_time() -> None:
    assert time_left_s([60, 30], 0, 20) == 70


def test_a_late_step_is_not_promised_to_end_at_once() -> None:
    assert time_left_s([60], 0, 100) > 0


def test_what_was_measured_here_wins() -> None:
    expectation = Expectation(first_s=100, again_s=5)
    history = {history_key("build", again=True): 7.0}
    assert expected_s("build", expectation, history, again=False) == 100
    assert expected_s("build", expectation, history, again=True) == 7


def test_history_survives_and_garbage_counts_as_none(tmp_path: Path) -> None:
    file = tmp_path / "state" / "durations.json"
    assert read_history(file) == {}
    write_history(file, {"a": 1.5})
    assert read_history(file) == {"a": 1.5}
    for garbage in ("", "[1]", '{"a": "soon"}'):
        file.write_text(garbage)
        assert read_history(file) == {}


def test_durations_read_like_a_clock() -> None:
    assert (clock(0), clock(59.6), clock(61), clock(3600)) == ("0:00", "1:00", "1:01", "60:00")
    assert (rough(10), rough(50), rough(300)) == ("less than a minute", "about a minute", "about 5 minutes")
