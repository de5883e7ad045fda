"""Characters: those that a person does not see, or sees as something else, when asked about a command."""

from __future__ import annotations

import re

_SUSPECT = re.compile(r"[^\x20-\x7e\n\t]")
_UNSEEN = frozenset("Cc Cf Cs Co Cn Zl Zp Zs".split())
# Letters and marks that show as nothing: fillers, joiners, variation selectors.
_FILLERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def oddity(text: str) -> str | None:
    """Name the first character of a command that cannot be seen or is no plain blank."""
    if not _SUSPECT.search(text):
        return None
    import unicodedata

    for found in _SUSPECT.finditer(text):
        letter = found[0]
        if unicodedata.category(letter) in _UNSEEN or _FILLERS.match(letter):
            name = unicodedata.name(letter, "a control character").lower()
            return f"U+{ord(letter):04X} ({name})"
    return None
