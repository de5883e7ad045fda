"""Usage: what a run takes from its model, with the names of the port, and its limits."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from pydantic_ai.messages import ModelResponse
from pydantic_ai.usage import RunUsage, UsageBase, UsageLimits

from errands.model.errors import BudgetExceeded

_REQUESTS = 200  # of a run without a budget for them
_MICRO = Decimal(1_000_000)


def limits(budget: Mapping[str, int]) -> UsageLimits:
    cost = budget.get("cost_microdollars")
    return UsageLimits(
        request_limit=budget.get("requests", _REQUESTS),
        tool_calls_limit=budget.get("tool_calls"),
        input_tokens_limit=budget.get("input_tokens"),
        output_tokens_limit=budget.get("output_tokens"),
        total_tokens_limit=budget.get("total_tokens"),
        cost_limit=None if cost is None else cost / _MICRO,
    )


def exceeded(budget: Mapping[str, int], usage: RunUsage, *, wanted: int) -> BudgetExceeded:
    """Return the error for a run that reached a limit and `wanted` to make more calls."""
    if overrun := BudgetExceeded.among(budget, _tokens(usage)):
        return overrun
    calls, most = usage.tool_calls, budget.get("tool_calls")
    if most is not None and wanted and calls + wanted > most:
        if calls < most:
            more = f"{calls} were made, and the model wants {wanted} more at once"
            return BudgetExceeded(f"the budget of {most} tool calls is too small: {more}")
        return BudgetExceeded.of("tool_calls", most, calls)
    return BudgetExceeded.of("requests", budget.get("requests", _REQUESTS), usage.requests)


def of_response(response: ModelResponse) -> dict[str, int]:
    return {"requests": 1, **_tokens(response.usage)}


def of_run(usage: RunUsage) -> dict[str, int]:
    return {"requests": usage.requests, "tool_calls": usage.tool_calls, **_tokens(usage)}


def _tokens(usage: UsageBase) -> dict[str, int]:
    """Return the tokens, and the cost if it is known."""
    tokens = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    return tokens if usage.cost is None else {**tokens, "cost_microdollars": round(usage.cost * _MICRO)}
