"""A violation: an invariant that did not hold, and what was seen of it.

I1 acknowledged tasks exist; I2 nothing starts twice; I3 the reported result is the witnessed one; I4 one
terminal state for ever; I5 reported exactly once; I6 no lane exceeds its width; I7 order within a lane; I8 no
survivors; I9 output is what was printed; I10 no foreign process is signalled; I11 reads never go back; I14
every request is answered; I15 nothing is left behind; I16 one daemon per home; I17 everything ends.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    invariant: str
    what: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.what}"
