"""Regular expressions that are compiled when they are first used.

A command uses few of those that its modules define. Importing `re` and compiling all of them would cost
`errands run` 10 ms, a fifth of its time.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern

    def regex(text: str) -> Pattern[str]: ...

else:
    _METHODS = ("findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn")

    class regex:  # noqa: N801  # it is called like `re.compile`; flags are written into the text
        def __init__(self, text):
            self.pattern = text

        def __getattr__(self, name):
            import re

            compiled = re.compile(self.pattern)
            for each in _METHODS:
                setattr(self, each, getattr(compiled, each))
            return getattr(compiled, name)


def is_wild(text: str) -> bool:
    """Return whether a text has a wildcard of file names."""
    return "*" in text or "?" in text or "[" in text
