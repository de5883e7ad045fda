"""Errors of agents and their sessions, some of them in the exact words that callers know."""

from __future__ import annotations

from errands.model.errors import BadValue, ErrandsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# ruff: noqa: N818  # as in errors.py: the name says what it is

SESSION_GONE = "Session expired or was deleted. Start a new background_task to continue."


class AgentError(ErrandsError):
    """An agent could not answer. `partial` is what it had said until then."""

    failure = "agent"

    def __init__(self, message: str, *, partial: str = "") -> None:
        super().__init__(message)
        self.partial = partial


class AgentUnavailable(AgentError):
    """The model or the agent's server cannot be reached, or talks nonsense; it was tried several times."""


class BudgetExceeded(AgentError):
    """The run used all it was allowed to."""

    failure = "budget"

    @classmethod
    def of(cls, name: str, limit: int, used: int, *, partial: str = "") -> BudgetExceeded:
        """Say which budget is used up, and what of it was used in truth: some is only told afterwards."""
        what = "microdollars" if name == "cost_microdollars" else name.replace("_", " ")
        return cls(f"the budget of {limit} {what} is used up ({used})", partial=partial)

    @classmethod
    def among(
        cls, budget: Mapping[str, int], used: Mapping[str, int], *, partial: str = ""
    ) -> BudgetExceeded | None:
        """Find the first limit of a budget that more was used than."""
        total = used.get("input_tokens", 0) + used.get("output_tokens", 0)
        for name, limit in budget.items():
            amount = total if name == "total_tokens" else used.get(name, 0)
            if amount > limit:
                return cls.of(name, limit, amount, partial=partial)
        return None


class SessionGone(AgentError):
    """The session is no more."""

    exit_code = 3

    def __init__(self, message: str = SESSION_GONE) -> None:
        super().__init__(message)


class NotResumable(ErrandsError):
    """The task is not in a state in which it takes another prompt."""


class UnknownAgent(BadValue):
    """No backend of that name, or one that is not installed."""
