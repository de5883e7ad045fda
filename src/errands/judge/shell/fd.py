"""fd, which runs a command for each file that it finds."""

from __future__ import annotations

from errands.judge.shell.followed import READERS, Followed, unknown
from errands.judge.shell.grammar import Step, Word
from errands.model.text.regex import regex

_EXECS = frozenset("-x --exec -X --exec-batch".split())
_REGEX_SIGNS = regex(r"[\^$\\()*+?|]")


def follow_fd(words: tuple[Word, ...], source: Step | None) -> Followed:
    """Cut the command that `fd -x` runs for each file out of its words; its files may be any."""
    texts = [word.text for word in words]
    start = next((at for at, text in enumerate(texts) if text in _EXECS), len(words))
    if start == len(words):
        return Followed(itself=words)
    end = next((at for at in range(start, len(words)) if texts[at] == ";"), len(words))
    inner = words[start + 1 : end]
    if not inner:
        return unknown(words, "runs a command for each file in a way that is not analysed")
    # What it looks for says which secrets it may find: `fd -H '^\.env' -x cat`.
    sought = [_REGEX_SIGNS.sub("", text) for text in texts[1:start] if not text.startswith("-")]
    named = [*sought, *(f"x.{text}" for text in sought)]
    shown = named if inner[0].text in READERS else []
    whole = inner if any("{" in word.text for word in inner) else (*inner, Word(text="{}"))
    steps = (whole, *((inner[0], Word(text=name)) for name in shown if name))
    return Followed(
        steps=tuple(Step(words=each) for each in steps),
        itself=words[:start] + words[end + 1 :],
        doubt=f"runs `{inner[0].text}` for each file that is found",
    )
