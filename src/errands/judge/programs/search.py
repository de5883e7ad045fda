"""Programs that search the content of files."""

from __future__ import annotations

import posixpath
import re

from errands.judge.programs.entry import Program, ask, ask_each
from errands.judge.programs.globs import Glob
from errands.judge.programs.hunting import about_keys, may_find_secrets, seeks_secrets
from errands.judge.programs.name_patterns import is_among_settings, may_name_secret
from errands.judge.programs.names import names_below
from errands.judge.programs.ordinary import CODE, is_ordinary
from errands.judge.programs.patterns import matches
from errands.judge.programs.places import (
    objection_to_following,
    objection_to_place,
    objection_to_recursion,
)
from errands.judge.programs.usage import objection
from errands.model.text.regex import is_wild

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from errands.judge.programs.entry import Reasons, Usage
    from errands.judge.programs.patterns import Dialect
    from errands.judge.workspace import Workspace


_PATTERNS = "-e --regexp -f --file"


_NO_LINES = "-l --files-with-matches --files-without-match -c --count --count-matches -q --quiet".split()
_CONTEXT = "-A -B -C --after-context --before-context --context".split()
_HIDDEN = ("-.", "--hidden", "-u", "--unrestricted", "--no-ignore", "--untracked")
_FOLLOWS = ("-R", "--dereference-recursive")
# Lines as in files with secrets. A pattern that matches one of them was not written to find something else.
_PROBES = ("", "QZ_WXKJV=7fq3", "zq: 'xw8'", '"zq": "xw8"', "-----QZWX")
# Ordinary lines of such files. A pattern that matches most of them shows most of a file.
_SETTINGS = (
    "NODE_ENV=development", "PORT=8080", "DEBUG=false", "LOG_LEVEL=info", "DB_HOST=127.0.0.1",
    "APP_KEY=b64:QzX7w", "SMTP_USER=ann", "SESSION_SALT=9f8e7d", "MAIL_PWD=hunter2", "S3_BUCKET=my-files",
)  # fmt: skip
_DIALECTS: dict[Dialect, str] = {
    "basic": "-G --basic-regexp",
    "extended": "-E --extended-regexp",
    "perl": "-P --perl-regexp --pcre2 --engine --auto-hybrid-regex",
    "fixed": "-F --fixed-strings",
}
# Where no option says which. What `a|b` was meant for counts, too; and git has settings for it.
_DEFAULTS: dict[str, list[Dialect]] = {
    "grep": ["basic", "extended"],
    "egrep": ["extended"],
    "fgrep": ["fixed"],
    "git grep": ["basic", "extended", "perl"],
}
_ENDING = re.compile(r"\.(\w+|\{\w+(,\w+)*\})$")
# Endings, and types of ripgrep, of files of which some often have secrets.
_TELLING = re.compile(r"json\w*|ya?ml|toml|ini|xml|conf|config|cfg|plist|properties|php")
_REPEATS = re.compile(r"[*+{]")  # a pattern that may match any number of lines
# Parts of a pattern that stay in a line or among blanks: `\s*`, `\w+`, `[a-z_]*`, `.*`.
_BOUNDED = re.compile(
    r"\\[swdb](?:[*+?]|\{[\d,]*\})?\??|\\\W|\[[\w .,'\"/-]+\](?:[*+?]\??)?|\.(?:[*+?]\??)?|\w[*+?]\??"
)
# Parts of a pattern that name no word, or one that may be missing.
_CLASS = re.compile(r"\\.|\[\^?\]?[^\]]*\]|\(\?[<!=#][^)]*\)|(?s:\(.*\))[?*{]")
_WORD, _SHORT_WORD = (
    re.compile(rf"(?<![A-Za-z_])[A-Za-z_]{{{shortest},}}(?![A-Za-z_?*{{])") for shortest in (4, 3)
)
_DOTALL = re.compile(r"\(\?\w*s")
_STARTUP = re.compile(
    r"(?:^|/)(?:\.(?:bash|zsh|profile)[\w]*|(?:config|.*env)\.fish|\.?zshenv|bash\.bashrc|profile)$"
)
_WIDEST = 20  # lines of context that still show a place and not a file
_NARROW = 5  # and those that do so wherever a pattern finds something
_SHOWS_ALL = "may show every line of every file, hidden ones too"


def _grep(usage: Usage, workspace: Workspace) -> Reasons:
    if not (usage.has("-r", "--recursive", *_FOLLOWS) or "recurse" in usage.values("-d", "--directories")):
        return hunts_keys(usage) or about_files(usage, _files(usage, _PATTERNS), workspace)
    chosen = usage.values("--include")
    places = _files(usage, _PATTERNS)
    everything = () if _are_narrow(chosen) else copies_all(usage)
    followed = _links_below(places, workspace) if usage.has(*_FOLLOWS) else ()
    sought = () if _are_narrow(chosen) else seeks_everywhere(usage, places, workspace)
    hunted = _secret_choice(chosen, workspace, sees_hidden=True) or hunts_keys(usage)
    wide = () if _are_narrow(chosen) else about_width(usage, places, workspace)
    objections = hunted or everything or followed or _everything_below(places, workspace)
    return (*objections, *wide) or sought


def _rg(usage: Usage, workspace: Workspace) -> Reasons:
    if usage.has("--files", "--type-list"):
        return names_below(usage.operands, workspace)
    places = _files(usage, _PATTERNS)
    if places and set(places) == {"-"}:
        return hunts_keys(usage)  # what it is fed
    places = [place for place in places if place != "-"]
    named = usage.values("-g", "--glob", "--iglob")
    secret = _secret_choice([*named, *_added_types(usage)], workspace, sees_hidden=usage.has(*_HIDDEN))
    globs = [each for each in named if not each.startswith("!")]
    types = usage.values("-t", "--type")
    is_typed = bool(types) and "all" not in types and not usage.has("--type-add")
    is_typed = is_typed and not any(map(_TELLING.fullmatch, types))
    chosen = _are_narrow(globs) or is_typed or _are_files(places, workspace)
    is_open = usage.has(*_HIDDEN) or _has_open_glob(usage)
    hidden = copies_all(usage) if is_open or not chosen else ()
    if hidden and not is_open and _needs_a_word(usage):
        hidden = ask("may show many lines of every file", "settings")
    if is_open or not chosen:
        hidden += about_width(usage, places, workspace)
    followed = _links_below(places, workspace) if usage.has("-L", "--follow") else ()
    sought = () if chosen else seeks_everywhere(usage, places, workspace)
    shown = about_files(usage, places, workspace) if _are_files(places, workspace) else ()
    objections = secret or hunts_keys(usage) or followed or shown
    return objections or (*hidden, *_everything_below(places, workspace)) or sought


def about_files(usage: Usage, files: Sequence[str], workspace: Workspace) -> Reasons:
    """Object to a search that shows all of some files, or looks for secrets in them."""
    copied = copies_all(usage) if files else ()
    if _has_open_glob(usage) and (shown := copied or about_width(usage, files, workspace)):
        return shown
    doubtful = [each for each in files if not is_ordinary(each, workspace)]
    if doubtful and (copied or (usage.has(*_CONTEXT, "-NUMBER") and not _shows_no_lines(usage))):
        return tuple(each for file in doubtful if (each := objection("READ", file, workspace)))
    sought = seeks_everywhere(usage, doubtful, workspace) if doubtful else ()
    return sought or (_seeks(usage) if any(map(_STARTUP.search, files)) else ())


def _seeks(usage: Usage) -> Reasons:
    """Object to a search for what secrets are called where people also set variables for other reasons."""
    patterns = () if _shows_no_lines(usage) else _patterns(usage)
    found = (f"looks for secrets: {each}" for each in patterns if seeks_secrets(each, _dialects(usage)))
    return ask_each(found, "settings")[:1]


def _patterns(usage: Usage) -> Sequence[str]:
    return usage.values("-e", "--regexp") or usage.operands[:1]


def _has_open_glob(usage: Usage) -> bool:
    """Return whether an operand is every file of a directory."""
    return any(
        isinstance(word, Glob) and word.rpartition("/")[2].strip("*?") == "" for word in usage.operands
    )


def _are_narrow(patterns: Sequence[str]) -> bool:
    """Return whether patterns choose files by their endings, of kinds that seldom have secrets."""
    endings = [_ENDING.search(pattern) for pattern in patterns]
    return bool(endings) and all(
        ending and not any(map(_TELLING.fullmatch, re.findall(r"\w+", ending[1]))) for ending in endings
    )


def _are_files(places: Sequence[str], workspace: Workspace) -> bool:
    """Return whether all places are single files, by their names."""
    return bool(places) and all(
        "." in place.rpartition("/")[2].strip(".") and not workspace.is_directory(place) for place in places
    )


def _added_types(usage: Usage) -> Sequence[str]:
    """Return the patterns of `--type-add 'name:*.x'`."""
    return [value.rpartition(":")[2] for value in usage.values("--type-add")]


def _links_below(places: Sequence[str], workspace: Workspace) -> Reasons:
    return ask_each((objection_to_following(place, workspace) for place in places or ["."]), "secret")


def _secret_choice(patterns: Sequence[str], workspace: Workspace, *, sees_hidden: bool) -> Reasons:
    return ask_each(
        (
            f"searches files with secrets: {pattern}"
            for pattern in patterns
            if not pattern.startswith("!")
            and (may_name_secret(pattern) or _is_secret_place(pattern, workspace, sees_hidden=sees_hidden))
        ),
        "secret",
    )


def _is_secret_place(pattern: str, workspace: Workspace, *, sees_hidden: bool) -> bool:
    """Return whether a pattern chooses a place of secrets: `.git/config`, `secrets/**`."""
    names = pattern.strip("/").split("/")
    plain = [name for name in names if name.strip("*")]
    if sees_hidden and plain in (["config"], ["config.worktree"]) and names[-1] == plain[0]:
        return True  # a repository's settings have that name
    path = "/".join(plain)
    if not path or is_wild(path) or len(names) == 1:
        return False
    is_folder = names[-1] != plain[-1]
    said = objection_to_place(f"{path}/x" if is_folder else path, "READ", workspace)
    return (said is not None and not is_among_settings(said)) or (
        is_folder and objection_to_recursion(path, workspace) is not None
    )


def hunts_keys(usage: Usage) -> Reasons:
    """Object to a search for what keys of well-known services look like, unless it only names files."""
    return () if _shows_no_lines(usage) else about_keys(_patterns(usage), _dialects(usage))


def copies_all(usage: Usage, *, spanning: bool = True) -> Reasons:
    """Object to a search that shows nearly every line of what it searches, or spans any number of lines."""
    if _shows_no_lines(usage):
        return ()
    patterns, dialects = _patterns(usage), _dialects(usage)
    shows_rest = usage.has("-v", "--invert-match", "-z", "--null-data", "--passthru", "--passthrough")
    shows_rest = shows_rest or usage.has("-f", "--file", "-W", "--function-context")
    is_multiline = usage.has("-U", "--multiline", "--multiline-dotall")
    probes = (*_PROBES, "\n".join(_PROBES)) if is_multiline else _PROBES
    is_dotall = usage.has("--multiline-dotall")
    shows_rest = shows_rest or (
        spanning and is_multiline and any(_spans_lines(each, is_dotall) for each in patterns)
    )
    if shows_rest or any(matches(pattern, dialect, probes) for pattern in patterns for dialect in dialects):
        return ask(_SHOWS_ALL, "secret")
    return ()


def about_width(usage: Usage, places: Sequence[str], workspace: Workspace) -> Reasons:
    """Object to so much context around each match that it may be all of a file."""
    wide = usage.values(*_CONTEXT)
    wide += [value or "" for name, value in usage.options if name == "-NUMBER"]
    if _shows_no_lines(usage) or all(number.isdigit() and int(number) <= _NARROW for number in wide):
        return ()
    patterns = _patterns(usage)
    is_code = all(_is_code(place, workspace) for place in places or ["."])
    finds_anything = not is_code and _sees_hidden(usage) and not all(map(_names_something, patterns))
    if not finds_anything and all(number.isdigit() and int(number) <= _WIDEST for number in wide):
        return ()
    if finds_anything or (not is_code and any(seeks_secrets(each, _dialects(usage)) for each in patterns)):
        return ask(_SHOWS_ALL, "secret")
    return ask("shows many lines around each that it finds", "settings")


def _names_something(pattern: str) -> bool:
    """Return whether a pattern requires a word, other than one that stands in files with secrets."""
    return _SHORT_WORD.search(_CLASS.sub(" ", pattern)) is not None and not may_find_secrets(pattern)


def _spans_lines(pattern: str, is_dotall: bool) -> bool:
    """Return whether a pattern may match any number of lines of any text."""
    if is_dotall or _DOTALL.search(pattern):
        return _REPEATS.search(pattern) is not None
    return _REPEATS.search(_BOUNDED.sub("", pattern)) is not None


def _needs_a_word(usage: Usage) -> bool:
    """Return whether a search over several lines requires a certain word: `struct \\w+ {[^}]*}`."""
    patterns = _patterns(usage)
    needed = all(_WORD.search(_CLASS.sub(" ", each)) and "|" not in each for each in patterns)
    is_hunt = any(seeks_secrets(each, _dialects(usage)) for each in patterns)
    return needed and not is_hunt and not copies_all(usage, spanning=False)


def _shows_no_lines(usage: Usage) -> bool:
    # To ripgrep `-L` means to follow links; `--json` prints the lines, whatever else is asked for.
    names_only = usage.has(*_NO_LINES, "--name-only", "--silent") or (usage.has("-L") and usage.name != "rg")
    return names_only and not usage.has("--json")


def seeks_everywhere(usage: Usage, places: Sequence[str], workspace: Workspace) -> Reasons:
    """Object to a search for secrets in directories that have more than code, hidden files included."""
    is_code = all(_is_code(place, workspace) for place in places or ["."])
    return () if is_code else looks_for_secrets(usage)


def looks_for_secrets(usage: Usage) -> Reasons:
    """Object to a search for what secrets are called, or look like, unless it only names files."""
    if _shows_no_lines(usage):
        return ()
    patterns, dialects = _patterns(usage), _dialects(usage)
    sees_hidden = _sees_hidden(usage)
    if sees_hidden and _shows_settings(patterns, dialects):
        return ask("may show most lines of files with settings", "settings")
    found = (
        f"looks for secrets in every file: {each}"
        for each in patterns
        if seeks_secrets(each, dialects) or (sees_hidden and may_find_secrets(each))
    )
    return ask_each(found, "settings")[:1]


def _shows_settings(patterns: Sequence[str], dialects: Sequence[Dialect]) -> bool:
    """Return whether patterns together match half of the lines of an ordinary file with settings."""
    shown = [
        line
        for line in _SETTINGS
        if any(matches(each, dialect, (line,)) for each in patterns for dialect in dialects)
    ]
    return len(shown) * 2 >= len(_SETTINGS)


def _sees_hidden(usage: Usage) -> bool:
    return usage.name in ("grep", "egrep", "fgrep") or usage.has(*_HIDDEN)


def _is_code(place: str, workspace: Workspace) -> bool:
    project = workspace.project.rstrip("/") + "/"
    path = posixpath.normpath(posixpath.join(workspace.cwd, place))
    inside = path.removeprefix(project)
    is_file = _ENDING.search(inside) is not None and is_ordinary(place, workspace)
    return inside != path and (inside.partition("/")[0] in CODE or is_file)


def _dialects(usage: Usage) -> list[Dialect]:
    """Return the dialects in which a pattern may be read; options that contradict each other mean several."""
    given = [dialect for dialect, names in _DIALECTS.items() if usage.has(*names.split())]
    if usage.name == "rg":
        return given if given == ["fixed"] and not usage.has("--no-fixed-strings") else ["rust", *given]
    return given or _DEFAULTS[usage.name]


def _files(usage: Usage, patterns: str) -> Sequence[str]:
    return usage.operands if usage.has(*patterns.split()) else usage.operands[1:]


def _everything_below(places: Sequence[str], workspace: Workspace) -> Reasons:
    found = [objection_to_recursion(place, workspace) for place in places or ["."]]
    # Without an operand nothing has looked at the current directory itself.
    here = [] if places else [objection_to_place(".", "SEARCH", workspace)]
    return ask_each([*here, *found], "secret")


_GREP = Program(
    options="""
    -NUMBER -E --extended-regexp -F --fixed-strings -G --basic-regexp -P --perl-regexp -e=PATTERN
    --regexp=PATTERN -f=READ --file=READ -i --ignore-case --no-ignore-case -y -v --invert-match -w
    --word-regexp -x --line-regexp -c --count --color[=always|never|auto] --colour[=always|never|auto] -L
    --files-without-match -l --files-with-matches -m=NUMBER --max-count=NUMBER -o --only-matching -q --quiet
    --silent -s --no-messages -b --byte-offset -H --with-filename -h --no-filename --label=TEXT -n
    --line-number -T --initial-tab -Z --null -z --null-data -A=NUMBER --after-context=NUMBER -B=NUMBER
    --before-context=NUMBER -C=NUMBER --context=NUMBER --group-separator=TEXT --no-group-separator -a --text
    --binary-files=binary|text|without-match -D=read|skip --devices=read|skip -d=read|skip|recurse
    --directories=read|skip|recurse --exclude=PATTERN --exclude-from=READ --exclude-dir=PATTERN -I
    --include=PATTERN -r --recursive -R --dereference-recursive -U --binary -u --line-buffered -V
    """,
    operands="PATTERN SEARCH...",
    instead=_PATTERNS,
    check=_grep,
)

PROGRAMS = {
    "grep": _GREP,
    "egrep": _GREP,
    "fgrep": _GREP,
    "rg": Program(
        options="""
        -NUMBER -e=PATTERN --regexp=PATTERN -f=READ --file=READ -A=NUMBER --after-context=NUMBER -B=NUMBER
        --before-context=NUMBER -C=NUMBER --context=NUMBER --auto-hybrid-regex --binary --no-binary
        --block-buffered -b --byte-offset -s --case-sensitive --color=auto|always|never|ansi --colors=TEXT
        --column --no-column --context-separator=TEXT --no-context-separator -c --count --count-matches
        --crlf --debug --trace --dfa-size-limit=SIZE -E=TEXT --encoding=TEXT --engine=default|pcre2|auto
        --field-context-separator=TEXT --field-match-separator=TEXT --files -l --files-with-matches
        --files-without-match -F --fixed-strings --no-fixed-strings -L --follow --no-follow -g=TEXT
        --glob=TEXT --glob-case-insensitive -h --heading --no-heading -. --hidden --no-hidden
        --iglob=TEXT -i --ignore-case --ignore-file=READ --ignore-file-case-insensitive --include-zero -v
        --invert-match --json --line-buffered -n --line-number -N --no-line-number -x --line-regexp
        -M=NUMBER --max-columns=NUMBER --max-columns-preview -m=NUMBER --max-count=NUMBER -d=NUMBER
        --max-depth=NUMBER --maxdepth=NUMBER --max-filesize=SIZE --mmap --no-mmap -U --multiline
        --multiline-dotall --no-config --no-ignore --no-ignore-dot --no-ignore-exclude --no-ignore-files
        --no-ignore-global --no-ignore-messages --no-ignore-parent --no-ignore-vcs --no-messages
        --no-pcre2-unicode --no-require-git --no-unicode --no-pre --no-search-zip -0 --null --null-data
        --one-file-system -o --only-matching --passthru --passthrough --path-separator=TEXT -P --pcre2
        --pcre2-version -p --pretty -q --quiet --regex-size-limit=SIZE -r=TEXT --replace=TEXT -S
        --smart-case --sort=none|path|modified|accessed|created --sortr=none|path|modified|accessed|created
        --sort-files --stats --stop-on-nonmatch -a --text -j=NUMBER --threads=NUMBER --trim -t=TEXT
        --type=TEXT --type-add=TEXT --type-clear=TEXT --type-list -T=TEXT --type-not=TEXT -u --unrestricted
        --vimgrep -H --with-filename -I --no-filename -w --word-regexp -V
        --unicode --pcre2-unicode
        """,
        operands="PATTERN SEARCH...",
        instead=_PATTERNS + " --files --type-list",
        refused={
            "--pre": "runs a program for every file",
            "--hostname-bin": "runs a program",
            "--hyperlink-format": "may run a program for the name of the host",
            "-z --search-zip": "starts programs to unpack files",
        },
        check=_rg,
    ),
}
