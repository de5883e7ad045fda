"""Payload: text that a line only carries, such as what it searches for and what it writes into a file.

In a line that is not followed, words such as `curl` are only text there. This merely keeps questions rare:
whatever is overlooked starts behind walls.
"""

from __future__ import annotations

from errands.model.text.regex import regex

# The pattern of a search, behind options whose value is not a file, a choice of files or a program.
_SEARCH = regex(
    r"""(?x)((?:^|[\s;&|(`])(?:[ef]?grep|rg|ag|ack|git\s+grep)
    (?:\s+(?:-[A-NP-Za-eh-z.]+|--(?!pre|open|file|i?glob|host|ignore-file)[a-z-]+(?:=\S+)?))*\s+)
    (?:'[^']*'|"[^"$`\\]*"|[\w.]+(?=[\s;&|)`]|$))"""
)
_SEARCHING = frozenset("grep egrep fgrep rg ag ack".split())
_FINDING = frozenset(("fd", "fdfind"))
_SEARCHERS = ("grep", "rg", "ag", "ack")  # one of them is in every line that `_SEARCH` finds something in
_OTHERWISE = regex(r"-[A-Za-z.]*[Ofg]|--(?:pre|open|file|i?glob|host|ignore-file)")
# What sed replaces and with what: one plain `s` command, whose flags neither write nor run anything.
_REPLACEMENT = regex(
    r"""(?x)((?:^|[\s;&|(`])g?sed(?:\s+(?:-[iEnrz]+(?:\.\w+)?|-e|''|--in-place|--regexp-extended))*\s+)
    (?:'s([/|\#,@!%])(?:(?!\2)[^'\n])*\2(?:(?!\2)[^'\n])*\2[gIip0-9]*'
    |"s([/|\#,@!%])(?:(?!\3)[^"$`\\\n])*\3(?:(?!\3)[^"$`\\\n])*\3[gIip0-9]*")"""
)
# A filter of jq, whose words are keys (`.key`, `.env`), not files; `env` and modules still count.
_LOOKING = regex(r"\benv\b|\$ENV|\bimport\b|\binclude\b")
_FILTER = regex(
    rf"""(?x)((?:^|[\s;&|(`])jq(?:\s+(?:-[acCejMnrRsS]+|--(?:raw-output|compact-output|slurp|exit-status
    |null-input|sort-keys|raw-input|tab|join-output)|--arg(?:json)?\s+\w+\s+[\w."$-]+))*\s+)
    '(?![^']*(?:{_LOOKING.pattern}))[^']*'"""
)
# A text that is only printed, and where something else may get it instead.
_PRINTED = regex(
    r"""(?x)((?:^|[;&\n]|\b(?:do|then|else))\s*echo\s+(?:-[ne]+\s+)?)(?:'[^']*'|"[^"$`\\]*")(?=\s*(?:$|[;\n]|&&|\|\|))"""
)
_CAPTURED = regex(r"[<>(]\(|\$\(|`|\{|\b(?:done|fi|esac)\s*[|>]|\)\s*[|>]")
# A here-document that `cat` or `tee` prints or writes, or that Python runs, and what follows after `&&`.
_DOCUMENT = regex(
    r"""(?x)(?:^|\n|&&|\|\||;)[ \t]*
    (?:(?:cat|tee)\b[^\n|;&`$()<]*|(?P<script>python3?[ \t]+-?[ \t]*))<<-?[ \t]*
    (?:'(?P<single>\w+)'|"(?P<double>\w+)"|\\?(?P<plain>\w+))[^\n|;&`$()<]*(?P<then>(?:&&[^\n|;&`$()<]*)*)\n"""
)
# What such a script replaces or writes, unless it may run that.
_LITERAL = r"""[rf]?(?:\"{3}[\s\S]*?\"{3}|'{3}[\s\S]*?'{3}|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
_TEXT = regex(
    rf"""(?x)(?:(?<=\.replace\()(?:\w+,)?|(?<=\bre\.sub\()|(?<=\.write_text\()|(?<=\bassert\ )
    |(?<=\w\ =\ )(?=["']{{3}}))\s*{_LITERAL}(?:\s*,\s*{_LITERAL})?"""
)
_RUNNING = regex(
    r"\b(?:eval|exec\w*|compile|subprocess|system|[pP]open|__import__|importlib|runpy|getattr|pty|spawn\w*)\b"
)
_EXPANDED = regex(r"[`$]")
# Which tests are run, behind an option and as a word of a command that runs tests.
_TESTER = r"(?:pytest|unittest|jest|vitest|mocha|playwright|phpunit|pest|rspec|ctest|test(?:[:_-]\w+)*)"
_CHOOSING = regex(r"-[kgteR]|--tag|--?run|--?grep|--filter|--tests|--only|--testNamePattern")
_CHOSEN = regex(
    rf"""(?x)((?:^|[\s;&|(`/]){_TESTER}\s(?:[^\n;&|`$()]*?\s)?
    (?:{_CHOOSING.pattern})[\s=])
    (?:'[^']*'|"[^"$`\\]*"|~?\w+(?=\s|$))"""
)
_TEST = regex(r"~?\w[\w .:|&()!^$*\[\]-]*")
_TESTERS = regex(rf"(?:.*/)?{_TESTER}")
# A server that the line itself or the tests start, also as the value of an option.
LOCAL = regex(r"https?://(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?::\d+)?(?:/[\w./-]*)?")
_SERVER = regex(rf"(?:--[\w-]+=)?{LOCAL.pattern}")
_ARGUMENTS = r"\b(?:2>&1|[^\n;&|`$()])*"
# Commands that run nothing of what was written; with any other, the text counts.
_BESIDE = (
    "cd|cat|tee|mkdir|ls|echo|wc|head|tail|touch|chmod|grep|true|pwd|diff|stat|jq|nl|sed -n|ba?sh -n"
    "|git (?:status|diff|log|show)|node --check|python3? -m (?:py_compile|json\\.tool|ruff|black|isort)"
    "|(?:(?:npx|pnpm|yarn|bunx|uv run|poetry run) )?(?:tsc|biome|ruff|black|isort|pyright)"
    "|shellcheck|gofmt|go (?:vet|build)|rustfmt|cargo fmt|clang-format|yamllint"
)
# These may run it as a test or a setting, so that what deletes still counts; a network is not there.
_TESTING = (
    "(?:(?:uv run|poetry run) )?(?:python3? -m )?(?:pytest|unittest|mypy|flake8)"
    "|(?:npx |pnpm |yarn )?(?:jest|vitest|mocha|eslint|prettier)"
    "|(?:npm|pnpm|yarn|bun|cargo|go) test|cargo (?:check|clippy|build)"
)
_END = r"(?:[;&|\n][\s;&|]*|\Z)"
_ONLY_BESIDE = regex(rf"[\s;&|]*(?:(?:{_BESIDE}){_ARGUMENTS}{_END})*")
_ONLY_TESTING = regex(rf"[\s;&|]*(?:(?:{_BESIDE}|{_TESTING}){_ARGUMENTS}{_END})*")
# A test of the project may delete what it has made, but nothing by its name, and not through a shell.
_TEST_FILE = regex(
    r"""(?x)>{1,2}\s*["']?(?:\./)?(?![/~])(?:(?!\.\.)[\w./@-])*
    (?:\b(?:tests?|__tests__|specs?|e2e)/(?:(?!\.\.)[\w./@-])*|(?:\btest_\w+|\w(?:_test|\.test|_spec|\.spec)))
    \.(?:py|[cm]?[jt]sx?|rb|go|rs|java|kt|php)["']?(?=\s|<|$)"""
)
_DELETING_NAMED = regex(
    r"""(?x)(?:\b(?:rm|rmdir|rmtree|rimraf|shred|unlink\w*|rm(?:dir)?Sync|rm_rf?|removedirs|removeSync|truncate
    |remove_(?:all|tree|dir|file|entry)\w*)|(?<![\w.])remove|\b(?:os|fs|Files?|FileUtils|Deno)\.(?:remove|delete)\w*)
    \(\s*(?:Path\(\s*)?[rbf]?["'`/] | \bPath\(\s*["'][^()\n]*\)\.(?:unlink|rmdir)\b
    | \brm\s+-?[\w./*-] | ["'](?:rm|rmdir|shred)["'] | -delete\b"""
)


def without_payload(source: str) -> str:
    """Return a line without the documents that it writes, what it searches for, prints or replaces."""
    rest, left, at = "", "", 0
    bodies: list[tuple[str, bool]] = []  # each with whether it is a test of the project
    while "<<" in source and (found := _DOCUMENT.search(source, at)):
        word = found["single"] or found["double"] or found["plain"]
        end = regex(rf"(?m)^\t*{word}$").search(source, found.end())
        if end is None:
            break
        body = source[found.end() : end.start()]
        expands = found["plain"] and not found[0].rpartition("<<")[2].lstrip("- \t").startswith("\\")
        if found["script"]:
            kept = body if expands or _RUNNING.search(body) else _TEXT.sub("", body)
        else:
            kept = body if expands and _EXPANDED.search(body) else ""
        rest += source[at : found.end()] + kept
        command = "" if found["script"] else found[0].partition("<<")[0]
        left += source[at : found.start()] + command + found["then"] + "\n"
        bodies.append((body, _TEST_FILE.search(found[0]) is not None))
        at = end.end()
    rest, left = rest + source[at:], left + source[at:]
    if at == 0 or not (_ONLY_BESIDE.fullmatch(left) or _is_tested(left, bodies)):
        rest = source
    if "echo" in rest and not _CAPTURED.search(rest):
        rest = _PRINTED.sub(r"\1", rest)
    if any(name in rest for name in _SEARCHERS):
        rest = _SEARCH.sub(r"\1", rest)
    if "jq" in rest:
        rest = _FILTER.sub(r"\1", rest)
    if "sed" in rest:
        rest = _REPLACEMENT.sub(r"\1", rest)
    return _CHOSEN.sub(r"\1", rest)


def _is_tested(line: str, documents: list[tuple[str, bool]]) -> bool:
    """Return whether documents are only tested by the rest of their line, and delete nothing.

    Those that are tests themselves may delete what they have made.
    """
    if _ONLY_TESTING.fullmatch(line) is None:
        return False
    from errands.judge.code import deletes  # few lines write a document

    return not any(
        _DELETING_NAMED.search(document) if is_test else deletes(document) for document, is_test in documents
    )


def without_pattern(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a command without the pattern that it searches for, or what sed replaces."""
    if words[0] == "xargs" and (at := _passed_to(words)):
        return words[:at] + without_pattern(words[at:])
    if words[0] in ("sed", "gsed"):
        return _without_scripts(words)
    if words[0] == "jq":
        return _without_filter(words)
    if words[0] == "echo":  # the whole line says whether anything else gets what it prints
        return ("echo", *(word for word in words[1:] if _EXPANDED.search(word)))
    if words[0] in _FINDING and not "".join(words[1:2]).startswith("-"):
        return words[:1] + words[2:]
    first = 2 if words[:2] == ("git", "grep") else 1 if words[0] in _SEARCHING else 0
    for at in range(first, len(words)) if first else ():
        if _OTHERWISE.match(words[at]):
            break
        if not words[at].startswith("-"):
            return words[:at] + words[at + 1 :]
    return words


def _passed_to(words: tuple[str, ...]) -> int:
    """Return where the command of xargs begins; 0 if that is not known."""
    rest = enumerate(words[1:], start=1)
    for at, word in rest:
        if word in ("-n", "-P", "-L", "-I", "-d", "-s"):
            next(rest, None)
        elif not word.startswith("-"):
            return at
    return 0


def without_tests(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a command without those for its tests: `cargo test token`, `http://localhost`."""
    if not any(map(_TESTERS.fullmatch, words[:4])):
        return words
    rest = (word for word in words[1:] if not (_TEST.fullmatch(word) or _SERVER.fullmatch(word)))
    return (words[0], *rest)


def without_chosen(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a command without the options that choose the tests it runs: `pytest -k token`."""
    if not any(map(_TESTERS.fullmatch, words[:4])):
        return words
    after = zip(("", *words), words, strict=False)
    return tuple(each for name, each in after if not (_CHOOSING.fullmatch(name) and _TEST.fullmatch(each)))


def _without_filter(words: tuple[str, ...]) -> tuple[str, ...]:
    """Leave out the filter of jq where only plain options are before it."""
    at = next((at for at in range(1, len(words)) if not words[at].startswith("-")), len(words))
    is_plain = at < len(words) and not any(
        "f" in word or "L" in word or "arg" in word for word in words[1:at]
    )
    return words[:at] + words[at + 1 :] if is_plain and not _LOOKING.search(words[at]) else words


def _without_scripts(words: tuple[str, ...]) -> tuple[str, ...]:
    """Leave out the scripts of sed that only change lines: what they replace names no place."""
    from errands.judge.carriers import sed_scripts
    from errands.judge.programs.sed import objection_to_script

    harmless = {script for script in sed_scripts(words[1:]) if objection_to_script(script) is None}
    return tuple(word for word in words if word not in harmless)
