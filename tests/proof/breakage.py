"""One small breakage of the source, and how it is applied to a tree."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from textwrap import indent

ROOT = Path(__file__).parents[2]
SOURCE = "src/errands/"


class StaleError(Exception):
    """A breakage does not fit the source any more."""


@dataclass(frozen=True)
class Breakage:
    """Break one requirement by replacing one piece of text."""

    spec: str
    what: str
    """What no longer works, in one sentence."""
    file: str
    """Relative to `src/errands`, or to the project if it is not there."""
    old: str
    new: str
    test: str
    """The test or file, relative to `tests`, that is tried first; all others with the id follow."""
    fails_with: str = ""
    """An exception that counts like a failed assertion, because the broken code raises it; or `Timeout`."""
    also: tuple[tuple[str, str, str], ...] = ()
    """Further replacements (file, old, new), where two places each keep the requirement on their own."""

    def broken(self, root: Path) -> dict[Path, str]:
        """Return the text of each file with the breakage in it; raise StaleError if it does not fit."""
        texts: dict[Path, str] = {}
        for file, old, new in ((self.file, self.old, self.new), *self.also):
            path = root / (file if (root / file).is_file() else SOURCE + file)
            text = texts.get(path) or (path.read_text() if path.is_file() else "")
            if (found := text.count(old)) != 1:
                raise StaleError(
                    f"{self.spec} ({self.what}): the old text must occur once, and occurs {found} times in "
                    f"{path.relative_to(root)}:\n{indent(old, '    ')}\n"
                    "The source has changed: adapt `old` and `new` in tests/proof/breakages so that the same "
                    f"behaviour breaks, then run `make prove IDS={self.spec}`."
                )
            texts[path] = text.replace(old, new)
        for path, text in texts.items():
            try:
                compile(text if path.suffix == ".py" else "", path, "exec")
            except SyntaxError as error:
                raise StaleError(f"{self.spec} ({self.what}) leaves no valid Python: {error}") from error
        return texts
