"""fd, which runs a command for each file that it finds."""

from __future__ import annotations

from errands.judge.shell.followed import LOOKERS, Followed, unknown
from errands.judge.shell.grammar import Step, Word
from errands.model.text.regex import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.judge.programs.patterns import Dialect

_EXECS = frozenset("-x --exec -X --exec-batch".split())
# Letters of options, and the last of them; and an extension in the same word: `-eenv`, `-He=env`.
_LETTERS = regex(r"-[HIusigFaLp01q]*([A-Za-z])")
_EXTENSION = regex(r"(?:--extension=|-[HIusigFaLp01q]*e=?)(.+)")
_HIDDEN = regex(r"-[A-Za-z]*[Hu][A-Za-z]*|--hidden|--unrestricted")
_NAME = regex(r"\{/?\.?\}")  # also without its directory or its ending
_REGEX_SIGNS = regex(r"[\^$\\()*+?|]")
# Hidden names that stand for all which have secrets, or lead to some.
_SECRETS = (".env", ".git")


def follow_fd(words: tuple[Word, ...], source: Step | None) -> Followed:
    """Cut the command that `fd -x` runs for each file out of its words; it may get any file."""
    texts = [word.text for word in words]
    start = next((at for at, text in enumerate(texts) if text in _EXECS), len(words))
    if start == len(words):
        return Followed(itself=words)
    end = next((at for at in range(start, len(words)) if texts[at] == ";"), len(words))
    inner = words[start + 1 : end]
    if not inner:
        return unknown(words, "runs a command for each file in a way that is not analysed")
    whole = inner if any("{" in word.text for word in inner) else (*inner, Word(text="{}"))
    steps = [whole]
    parent = ".git" if any(map(_HIDDEN.fullmatch, texts[1:start])) else "."
    # Names and numbers of files show no secrets.
    for name in () if inner[0].text in LOOKERS or inner[0].text == "wc" else _found(texts[1:start]):
        steps.append(tuple(Word(text=_filled(word.text, name, parent)) for word in whole))
    return Followed(
        steps=tuple(Step(words=each) for each in steps),
        itself=words[:start] + words[end + 1 :],
        doubt=f"runs `{inner[0].text}` for each file that is found",
    )


def _filled(text: str, name: str, parent: str) -> str:
    return _NAME.sub(lambda _: name, text).replace("{//}", parent)


def _found(texts: list[str]) -> list[str]:
    """Return names that fd may find. Its patterns tell which secrets it may find: `fd -H '^\\.env'`."""
    from errands.judge.programs.entry import table
    from errands.judge.programs.globs import may_match_plain
    from errands.judge.programs.name_patterns import may_name_secret
    from errands.judge.programs.names import PROGRAMS
    from errands.judge.programs.patterns import matches

    valued = {name for name, option in table(PROGRAMS["fd"]).options.items() if option.need == "value"}
    operands, extensions, option = [], [], ""
    for text in texts:
        attached = _EXTENSION.fullmatch(text)
        if attached or option in ("-e", "--extension"):
            extensions.append(attached[1] if attached else text)
        elif not text.startswith("-") and option not in valued:
            operands.append(text)
        letters = _LETTERS.fullmatch(text)
        option = f"-{letters[1]}" if letters else text
    sought = [_REGEX_SIGNS.sub("", each) for each in operands]
    if extensions:
        return [f"{name}.{each}" for each in extensions for name in ("x", *sought)]
    pattern = "".join(operands[:1])
    if not any(map(_HIDDEN.fullmatch, texts)):
        found = []
    elif {"-g", "--glob"}.isdisjoint(texts):
        dialect: Dialect = "rust" if {"-F", "--fixed-strings"}.isdisjoint(texts) else "fixed"
        found = [name for name in _SECRETS if matches(pattern, dialect, [name])]
    else:
        found = [name for name in _SECRETS if may_match_plain(name, pattern) or may_name_secret(pattern)]
    found += [f"{place}/config" for place in operands[1:]]
    return [*found, *(name for each in sought if each for name in (each, f"x.{each}"))]
