"""Summaries: the one line of a tool's output that says how it went.

If several tools wrote to one output, the last one counts; make itself counts only if no other tool was
recognised. A summary never calls a failed run a success.
"""

from __future__ import annotations

import re

from errands.model.text.sanitise import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Found = tuple[int, str]  # its offset, its text

LONGEST_OUTPUT = 65_536
LONGEST_SUMMARY = 200

# The tools' words for outcomes and ours, in the order of a summary.
_OUTCOMES = {
    "passed": "passed",
    "failed": "failed",
    "error": "errors",
    "errors": "errors",
    "skipped": "skipped",
    "ignored": "skipped",
    "todo": "todo",
    "deselected": "deselected",
    "xfailed": "xfailed",
    "xpassed": "xpassed",
}
_ORDER = tuple(dict.fromkeys(_OUTCOMES.values()))
# The words of summaries that only count; other words repeat what a task printed.
_COUNTED = frozenset(
    "passed failed error errors skipped todo deselected xfailed xpassed no tests ran all checks issues in "
    "file files package packages fixable fixed remaining but exit code".split()
)
_BAD = ("failed", "error", "xpassed", "would be", "no rule")
_NOT_STARTED = (126, 127)  # the exit codes of a shell that could not start a program
_COUNT = re.compile(r"(\d+) ([a-z]+)")
# Each line that a tool ends with contains one of these; most output of most commands contains none.
_HINTS = (" in ", "Ran ", "Tests", "test result", "ok  ", "FAIL", "checks passed", "Found ", "formatted")


def summarise(command: str, output: str, *, exit_code: int | None) -> str | None:
    """Return one line about how a run went, or None if no tool is recognised."""
    text = visible(output[-LONGEST_OUTPUT:])
    tools = _TOOLS if any(hint in text for hint in _HINTS) else ()
    found = max((each for tool in tools for each in tool(text)), default=None)
    if found is None:
        found = max(_make(text), default=None) if "make" in command or "make: ***" in text else None
    if found is None:
        return _not_started(text) if exit_code in _NOT_STARTED else None
    said = found[1][:LONGEST_SUMMARY]
    return f"{said}, but exit code {exit_code}" if exit_code and _is_good(said) else said


def counts_only(said: str) -> bool:
    """Return whether a summary contains only counts, so that it needs no fence."""
    words = said.replace(",", " ").replace("(", " ").replace(")", " ").split()
    return all(word.isdecimal() or word in _COUNTED for word in words)


def _pytest(text: str) -> Iterator[Found]:
    for match in re.finditer(
        r"^(?:=+ )?((?:\d+ [a-z]+(?:, )?)+) in \d[\d.]*s(?: \([\d:]+\))?(?: =+)?$", text, re.M
    ):
        if counts := _counts(match[1]):
            yield match.end(), _said(counts)
    for match in re.finditer(r"^(?:=+ )?no tests ran in [\d.]+s(?: =+)?$", text, re.M):
        yield match.end(), "no tests ran"


def _unittest(text: str) -> Iterator[Found]:
    pattern = r"^Ran (\d+) tests? in [\d.]+s\n\n(?:OK|FAILED|NO TESTS RAN)(?: \(([a-z0-9=, ]+)\))?$"
    for match in re.finditer(pattern, text, re.M):
        reasons = dict(part.split("=") for part in (match[2] or "").split(", ") if "=" in part)
        numbers = {reason: int(number) for reason, number in reasons.items()}
        counts = {
            "passed": int(match[1]) - sum(numbers.values()),
            "failed": numbers.get("failures", 0),
            "errors": numbers.get("errors", 0),
            "skipped": numbers.get("skipped", 0),
            "xfailed": numbers.get("expected failures", 0),
            "xpassed": numbers.get("unexpected successes", 0),
        }
        yield match.end(), _said(counts) if int(match[1]) else "no tests ran"


def _jest(text: str) -> Iterator[Found]:
    for match in re.finditer(r"^Tests: +((?:\d+ [a-z]+, )+)\d+ total$", text, re.M):
        yield match.end(), _said(_counts(match[1]))


def _vitest(text: str) -> Iterator[Found]:
    for match in re.finditer(r"^ +Tests +((?:\d+ [a-z]+(?: \| )?)+) \(\d+\)$", text, re.M):
        yield match.end(), _said(_counts(match[1]))


def _cargo(text: str) -> Iterator[Found]:
    results = list(
        re.finditer(r"^test result: (?:ok|FAILED)\. (\d+ passed; \d+ failed; \d+ ignored);", text, re.M)
    )
    if results:
        # One result per target; a package is their sum.
        yield results[-1].end(), _said(_sum(_counts(result[1]) for result in results))


def _go(text: str) -> Iterator[Found]:
    packages = list(re.finditer(r"^(ok  |FAIL)\t(\S+)(?:\t| \[(?:build|setup) failed\]$)", text, re.M))
    if not packages:
        return
    place = packages[-1].end()
    tests = re.findall(r"^--- (PASS|FAIL|SKIP): (\S+) ", text, re.M)
    if any(verdict == "PASS" for verdict, _ in tests):
        verdicts = [verdict for verdict, _ in tests]
        counted = {word: verdicts.count(verdict) for word, verdict in _GO_VERDICTS.items()}
        yield place, _said(counted)
        return
    good = sum(package[1] == "ok  " for package in packages)
    bad = len(packages) - good
    names = ", ".join(name for verdict, name in tests if verdict == "FAIL")
    said = [f"{_many(good, 'package')} passed"] * bool(good)
    said += [f"{_many(bad, 'package')} failed" + (f" ({names})" if names else "")] * bool(bad)
    yield place, ", ".join(said)


_GO_VERDICTS = {"passed": "PASS", "failed": "FAIL", "skipped": "SKIP"}


def _ruff(text: str) -> Iterator[Found]:
    for match in re.finditer(r"^All checks passed!$", text, re.M):
        yield match.end(), "all checks passed"
    pattern = r"^Found (\d+) errors?(?: \((\d+ fixed, \d+ remaining)\))?\.$(?:\n.*?(\d+) fixable with)?"
    for match in re.finditer(pattern, text, re.M):
        details = match[2] or (f"{match[3]} fixable" if match[3] else "")
        yield match.end(), _many(int(match[1]), "error") + (f" ({details})" if details else "")
    for match in re.finditer(r"^\d+ files? (?:would be |already |left |re)?[a-z]*formatted\b.*$", text, re.M):
        yield match.end(), match[0]


def _mypy(text: str) -> Iterator[Found]:
    for match in re.finditer(
        r"^Found (\d+) errors? in (\d+) files? \((?:checked|errors)[^()]*\)$", text, re.M
    ):
        yield match.end(), f"{_many(int(match[1]), 'error')} in {_many(int(match[2]), 'file')}"
    for match in re.finditer(r"^Success: no issues found in (\d+) source files?$", text, re.M):
        yield match.end(), f"no issues in {_many(int(match[1]), 'file')}"


def _make(text: str) -> Iterator[Found]:
    prefix = r"^g?make(?:\[\d+\])?: "
    for match in re.finditer(
        prefix + r"\*\*\* \[(?:[^\s:]+:\d+: )?(\S+)\] (Error \d+|[A-Z][a-z]+)", text, re.M
    ):
        yield match.end(), f"target {match[1]} failed ({match[2]})"
    for match in re.finditer(prefix + r"\*\*\* (.{1,160}?)\.?  Stop\.$", text, re.M):
        yield match.end(), match[1][0].lower() + match[1][1:]
    for match in re.finditer(
        prefix + r"(Nothing to be done for '.{1,80}'|'.{1,80}' is up to date)\.$", text, re.M
    ):
        yield match.end(), match[1][0].lower() + match[1][1:]


def _not_started(text: str) -> str | None:
    """Return what a shell said last of a program that it could not start."""
    said = re.findall(r"^\S{1,40}: (?:line )?\d+: (\S.{0,120}: [A-Za-z][A-Za-z ]{1,60})$", text, re.M)
    return said[-1] if said else None


_TOOLS: tuple[Callable[[str], Iterable[Found]], ...] = (
    _pytest,
    _unittest,
    _jest,
    _vitest,
    _cargo,
    _go,
    _ruff,
    _mypy,
)


def _counts(text: str) -> dict[str, int]:
    """Parse `2 failed, 89 passed`; words that are not outcomes are ignored."""
    return {_OUTCOMES[word]: int(number) for number, word in _COUNT.findall(text) if word in _OUTCOMES}


def _sum(many: Iterable[dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for counts in many:
        for outcome, number in counts.items():
            total[outcome] = total.get(outcome, 0) + number
    return total


def _said(counts: dict[str, int]) -> str:
    said = [f"{counts[outcome]} {outcome}" for outcome in _ORDER if counts.get(outcome)]
    return ", ".join("1 error" if each == "1 errors" else each for each in said) or "no tests ran"


def _many(number: int, thing: str) -> str:
    return f"{number} {thing}" + "s" * (number != 1)


def _is_good(said: str) -> bool:
    # "xfailed" is good although it contains a bad word.
    return not any(word in said.replace("xfailed", "") for word in _BAD)
