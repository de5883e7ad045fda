"""The line of output that says why something failed; a guess from its words."""

from __future__ import annotations

import re

LOOKS_LIKE_ERROR = re.compile(
    r"(?:error|exception)s?\b|\b(?:failed|failure|fatal|panic|traceback)\b", re.IGNORECASE
)
# Lines that only summarise others.
_SUMMARY = re.compile(
    r"make(\[\d+\])?: \*\*\*|npm error A complete log|={3,}.*={3,}$|Found \d+ errors?\b"
    r"|\d+ (failed|errors?)\b.* in [\d.]+ ?s|.*\b0 (errors|failed|failures)\b"
)


def error_line(lines: list[str]) -> str:
    """Return the last line that looks like an error, or else the last one that is not empty."""
    shown = [text for each in lines if (text := each.strip())]
    told = [each for each in shown if LOOKS_LIKE_ERROR.search(each)]
    return next((each for each in reversed(told) if not _SUMMARY.match(each)), (told or shown or [""])[-1])
