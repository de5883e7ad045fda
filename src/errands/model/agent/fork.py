"""A fork: a copy of a conversation, cut to a size that a new session can start with.

Long tool results are clipped, and the oldest messages are dropped beyond a number of tokens. A call and its
result are always kept or dropped together, because models reject one without the other.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, TypeVar

    M = TypeVar("M")

LONGEST_RESULT = 1500  # characters of a tool's result
MOST_TOKENS = 100_000

PREAMBLE = (
    "This session is a fork: it begins with a copy of another conversation. The context may be truncated: "
    "long tool results were shortened and the oldest messages may be missing. Re-read files when you need "
    "their complete content."
)


def clipped(result: str) -> str:
    """Shorten a tool's result and say how long it was; a short one is unchanged."""
    if len(result) <= LONGEST_RESULT:
        return result
    return (
        f"{result[:LONGEST_RESULT]}\n[truncated: the first {LONGEST_RESULT:,} of {len(result):,} characters]"
    )


def clipped_content(content: Any) -> Any:
    """Shorten a tool's result: a text, or a list of parts, some with a text."""
    if isinstance(content, str):
        return clipped(content)
    if isinstance(content, list):
        return [{**each, "text": clipped(each["text"])} if "text" in each else each for each in content]
    return content


def tokens(text: str) -> int:
    """Estimate the tokens of a text, erring on the high side."""
    return (len(text.encode("utf-8", "surrogatepass")) + 3) // 4


def newest(
    messages: Sequence[M],
    *,
    size: Callable[[M], int],
    calls: Callable[[M], Iterable[str]] = lambda _: (),
    results: Callable[[M], Iterable[str]] = lambda _: (),
    limit: int = MOST_TOKENS,
) -> Sequence[M]:
    """Return the longest end of a conversation that fits.

    `size` returns a message's tokens, `calls` the ids of its tool calls, `results` the ids it answers; leave
    the two out if a call and its result are one message.
    """
    start, left = len(messages), limit
    wanted: set[str] = set()  # calls that are still missing although their results are in
    for place in range(len(messages) - 1, -1, -1):
        left -= size(messages[place])
        if left < 0:
            break
        wanted.update(results(messages[place]))
        wanted.difference_update(calls(messages[place]))
        if not wanted:
            start = place
    return messages[start:]
