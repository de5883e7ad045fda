"""A fork: a copy of a conversation, cut to a size that a new session can begin with.

Long results of tools are clipped, and beyond a number of tokens the oldest messages go. A call never goes
without its result, nor a result without its call: no model takes half of the two.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeVar

    M = TypeVar("M")

LONGEST_RESULT = 1500  # characters of a tool's result
MOST_TOKENS = 100_000

PREAMBLE = (
    "This session is a fork: it begins with a copy of another conversation. The context may be truncated: "
    "long tool results were shortened and the oldest messages may be missing. Re-read files when you need "
    "their complete content."
)


def clipped(result: str) -> str:
    """Shorten a tool's result and say how long it was; what is short enough stays as it is."""
    if len(result) <= LONGEST_RESULT:
        return result
    return (
        f"{result[:LONGEST_RESULT]}\n[truncated: the first {LONGEST_RESULT:,} of {len(result):,} characters]"
    )


def tokens(text: str) -> int:
    """Estimate the tokens of a text, rather too many than too few."""
    return (len(text.encode("utf-8", "surrogatepass")) + 3) // 4


def newest(
    messages: Sequence[M],
    *,
    size: Callable[[M], int],
    calls: Callable[[M], Iterable[str]],
    results: Callable[[M], Iterable[str]],
    limit: int = MOST_TOKENS,
) -> Sequence[M]:
    """Give the longest end of a conversation that fits.

    `size` tells a message's tokens, `calls` the ids of the tool calls it makes, `results` those it answers.
    """
    start, left = len(messages), limit
    wanted: set[str] = set()  # calls whose results are in already, but which themselves are not
    for place in range(len(messages) - 1, -1, -1):
        left -= size(messages[place])
        if left < 0:
            break
        wanted.update(results(messages[place]))
        wanted.difference_update(calls(messages[place]))
        if not wanted:
            start = place
    return messages[start:]
