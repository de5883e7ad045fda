"""Findings: what speaks against starting a task at once; what needs more than walls comes first."""

from __future__ import annotations

from errands.model.verdict import Reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from errands.model.verdict import Undo


class Findings:
    """Reasons to ask, kept apart by whether the walls of a sandbox would be enough."""

    __slots__ = ("_beside", "_causes", "_reasons")

    def __init__(self) -> None:
        self._reasons: dict[Reason, None] = {}  # walls are enough
        self._causes: dict[Reason, None] = {}  # walls are not enough
        self._beside: dict[Reason, None] = {}  # likewise, but alone it is no reason to ask

    @property
    def are_any(self) -> bool:
        """Whether anything speaks against starting at once without a sandbox."""
        return bool(self._reasons or self._causes)

    @property
    def need_more(self) -> bool:
        """Whether anything needs more than walls allow, whatever else there is."""
        return bool(self._causes)

    @property
    def are_beyond_walls(self) -> bool:
        """Whether walls are not enough, if there is any reason to ask."""
        return bool(self._causes or self._beside)

    def reasons(self) -> tuple[Reason, ...]:
        """Return all reasons: first those that need more than walls allow."""
        return tuple(self._causes | self._beside | self._reasons) if self.are_any else ()

    def ask(
        self, text: str, kind: str, undo: Undo = "unknown", *, contained: bool = False, alone: bool = True
    ) -> None:
        """Note a reason: `contained` if walls are enough, not `alone` if it only counts beside others."""
        reason = Reason(text=text, kind=kind, undo=undo)
        if alone:
            self.add((reason,), contained=contained)
        else:
            self._beside[reason] = None

    def add(self, reasons: Iterable[Reason], *, contained: bool = False) -> None:
        """Note reasons to ask; `contained` if walls are enough."""
        (self._reasons if contained else self._causes).update(dict.fromkeys(reasons))

    def need(self, excess: Reason | None) -> None:
        """Note what needs more than walls allow, if anything does."""
        if excess is not None:
            self._causes[excess] = None
