"""Time as a viewer sees it: it runs, stands still, comes round again."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Playback:
    """The time within a motion.

    Args:
        start: of the motion, s.
        end: of the motion, s.
        speed: seconds of the motion for one of the viewer.
        loop: whether it begins again at its end.
        playing: whether time goes on.

    >>> playback = Playback(0.0, 2.0, speed=0.5)
    >>> playback.advance(3.0), playback.advance(2.0)
    (1.5, 0.5)
    """

    start: float
    end: float
    speed: float = 1.0
    loop: bool = True
    playing: bool = True
    time: float = field(init=False)

    def __post_init__(self) -> None:
        self.time = self.start

    def advance(self, seconds: float) -> float:
        """The time after some seconds of the viewer's; without a loop it stops at the end."""
        if self.playing:
            self.time += self.speed * seconds
        if self.time > self.end:
            length = self.end - self.start
            if self.loop and length > 0.0:
                self.time = self.start + (self.time - self.start) % length
            else:
                self.time, self.playing = self.end, False
        return self.time

    def toggle(self) -> None:
        """Pause, or play; from the start if the end is reached."""
        self.playing = not self.playing
        if self.playing and self.time >= self.end:
            self.time = self.start

    def jump(self, time: float) -> None:
        """Go to a time, or as near as there is, and stay there."""
        self.time, self.playing = min(max(time, self.start), self.end), False
