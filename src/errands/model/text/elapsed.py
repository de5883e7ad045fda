"""Elapsed times: what a run prints about how long it took, which is no change of its result."""

from __future__ import annotations

from errands.model.text.regex import regex

_TIME = r"(?:\d+m )?\d+(?:[.,]\d+)?\s?(?:ms|s|secs?|seconds?)\b"
# Only as tools print them at the end of a test, a build or a run: any other time may be what was asked for.
_ELAPSED = regex(
    rf"(?im)\bin {_TIME}"  # pytest, unittest, cargo, vite, yarn
    rf"|\({_TIME}\)"  # jest, mocha
    rf"|\b(?:time|took|elapsed|duration|transform|setup|collect|tests|environment|prepare):?\s+{_TIME}"
    r"|\bduration_ms:?\s+[\d.]+|^\s*(?:real|user|sys)\s+\d\S*|\tStart at\s+[\d:]+|^\s*Start at\s+[\d:]+"
    r"|\t\d+\.\d+s$"  # go
)


def without_elapsed(output: str) -> str:
    """Return the output of a run without the times that it took."""
    return _ELAPSED.sub("", output)
