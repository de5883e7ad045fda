"""The README of the benchmarks, whose results a run can replace."""

from __future__ import annotations

from pathlib import Path

_README = Path(__file__).with_name("README.md")
_BEGIN, _END = "<!-- results -->\n", "<!-- end of results -->\n"


def write(results: str) -> None:
    """Replace the results in the README by those of this run."""
    text = _README.read_text(encoding="utf-8")
    before, found, rest = text.partition(_BEGIN)
    _, ended, after = rest.partition(_END)
    if not (found and ended):
        raise SystemExit(f"{_README} has no place for results between {_BEGIN.strip()} and {_END.strip()}")
    _README.write_text(f"{before}{_BEGIN}\n{results}\n{_END}{after}", encoding="utf-8")
