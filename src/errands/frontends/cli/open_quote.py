"""An unclosed quote: a typing mistake that must not become a task."""

from __future__ import annotations

from errands.frontends.cli.parser import Usage

MOST = 60  # columns of the line that are shown


def refuse_open_quote(line: str) -> None:
    """Refuse a shell line whose quote is never closed, and show where it begins.

    Quotes are counted here; comments and here-documents make that uncertain, so the shell has the last word.
    """
    place = _open_quote(line)
    if place is None or _is_valid(line):
        return
    before, rest = line[:place].rpartition("\n")[2], line[place:].partition("\n")[0]
    start = max(len(before) - MOST // 2, 0)
    shown = (before + rest)[start : start + MOST]
    kind = "double" if line[place] == '"' else "single"
    raise Usage(
        f"the {kind} quote at character {place + 1} is not closed; close it, or put a backslash before it:\n"
        f"  {shown}\n  {' ' * (len(before) - start)}^"
    )


def _open_quote(line: str) -> int | None:
    """Return where a quote begins that has no end; None if all have one."""
    if "'" not in line and '"' not in line:
        return None
    place, opened = 0, None
    while place < len(line):
        letter = line[place]
        if opened is not None:
            if letter == "\\" and line[opened] == '"':
                place += 1
            elif letter == line[opened]:
                opened = None
        elif letter == "\\":
            place += 1
        elif letter in "'\"":
            opened = place
        place += 1
    return opened


def _is_valid(line: str) -> bool:
    """Ask the shell whether it can read the line; nothing is run."""
    import subprocess

    try:
        read = subprocess.run(["/bin/sh", "-n", "-c", line], capture_output=True, timeout=5, check=False)
    except (OSError, ValueError, subprocess.SubprocessError):
        return True
    return read.returncode == 0
