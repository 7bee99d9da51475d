"""What the operator sees while steps run: a live list on a terminal, plain lines with the time elsewhere."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from lab.timing import clock, rough, time_left_s

QUIET_S = 10


@dataclass
class Progress:
    """Where the list of steps stands."""

    titles: Sequence[str]
    expected: Sequence[float]
    current: int = 0
    note: str = ""
    began: float = field(default_factory=time.monotonic)
    done: list[float] = field(default_factory=list)

    def elapsed_s(self) -> float:
        """Return how long the current step has been running."""
        return time.monotonic() - self.began

    def left_s(self) -> float:
        """Return the time that is left for all steps."""
        return time_left_s(self.expected, self.current, self.elapsed_s())


class Display(Protocol):
    """The two ways to show progress."""

    def start(self, index: int) -> None:
        """Show that a step begins."""

    def note(self, text: str) -> None:
        """Show what the step is doing."""

    def finish(self) -> None:
        """Show that the step is done."""

    def close(self) -> None:
        """Show nothing more."""


class PlainDisplay:
    """One line per event, for logs."""

    def __init__(self, progress: Progress, console: Console) -> None:
        self.progress, self.console = progress, console
        self.printed = 0.0

    def line(self, text: str) -> None:
        """Print one line with the time of day."""
        self.printed = time.monotonic()
        self.console.print(f"{time.strftime('%H:%M:%S')} {text}", markup=False, highlight=False, soft_wrap=True)

    def start(self, index: int) -> None:
        """Say which step begins and what it may take."""
        progress = self.progress
        progress.current, progress.began, progress.note = index, time.monotonic(), ""
        left = rough(progress.left_s())
        self.line(f"[{index + 1}/{len(progress.titles)}] {progress.titles[index]}; {left} left in all")

    def note(self, text: str) -> None:
        """Say what the step is doing, but not more often than a reader of a log wants to know."""
        if time.monotonic() - self.printed > QUIET_S:
            self.line(f"      {text}")

    def finish(self) -> None:
        """Say how long the step took."""
        seconds = self.progress.elapsed_s()
        self.progress.done.append(seconds)
        self.line(f"      done in {clock(seconds)}")

    def close(self) -> None:
        """Do nothing: lines need no end."""


class LiveDisplay:
    """The list of steps, redrawn in place."""

    def __init__(self, progress: Progress, console: Console) -> None:
        self.progress = progress
        self.closed = False
        self.spinner = Spinner("dots")
        self.live = Live(console=console, get_renderable=self.render, refresh_per_second=4, transient=False)
        self.live.start()

    def start(self, index: int) -> None:
        """Mark the step as running."""
        self.progress.current, self.progress.began, self.progress.note = index, time.monotonic(), ""

    def note(self, text: str) -> None:
        """Put what the step is doing below the list."""
        self.progress.note = text

    def finish(self) -> None:
        """Keep the step's duration."""
        self.progress.done.append(self.progress.elapsed_s())

    def close(self) -> None:
        """Leave the list on the screen; a step that is not done has been stopped."""
        self.closed = True
        self.live.stop()

    def render(self) -> RenderableType:
        """Draw the list, the current activity and the time left."""
        progress, table = self.progress, Table.grid(padding=(0, 1))
        for index, title in enumerate(progress.titles):
            if index < len(progress.done):
                table.add_row(Text("done", style="green"), title, clock(progress.done[index]))
            elif index == progress.current:
                mark = Text("stopped", style="red") if self.closed else self.spinner
                table.add_row(mark, Text(title, style="bold"), clock(progress.elapsed_s()))
            else:
                table.add_row("", Text(title, style="dim"), Text(f"~{clock(progress.expected[index])}", style="dim"))
        if self.closed or len(progress.done) == len(progress.titles):
            return table
        note = Text(progress.note, style="dim", no_wrap=True, overflow="ellipsis")
        return Group(table, note, Text(f"{rough(progress.left_s())} left"))


def make_display(progress: Progress, console: Console) -> Display:
    """Choose by where the output goes."""
    return LiveDisplay(progress, console) if console.is_terminal else PlainDisplay(progress, console)
