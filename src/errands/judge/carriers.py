"""Carriers: programs, subcommands and options that run another program, which a `*` in a rule does not mean.

Allowing `git fetch *` is meant for remotes and branches, not for `--upload-pack='sh -c ...'`. A rule that
names such a word itself covers it.
"""

from __future__ import annotations

import posixpath

from errands.model.text.regex import is_wild, regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Programs that run what they are given; the judge does not follow them as it follows wrappers.
_PROGRAMS = frozenset(
    """R ansible ansible-console at bpython busybox chronic choom clojure cpulimit crontab dart debugpy
    dtach dumb-init ed elvish emacs emacsclient erl ex expect faketime foreman forever gdb ghci gosu iex
    ipython ipython3 irb jupyter kotlin lldb lua maxima mosh nano ncat newgrp nodemon nu nvim octave osh pm2
    prlimit ptpython py-spy runcon runghc sbcl sg socat ssh-agent sshpass su-exec tini toybox tsocks vi view
    vim vimdiff wine xonsh""".split()
)
_LOADER = regex(r"ld(-linux.*|-musl.*|64|)\.so(\.\d+)*|s6-.*|qemu-.*|ipython\d.*|jupyter-.*")
# Subcommands that take another program, or code, as their next word.
SUBCOMMANDS = frozenset(
    """uv:run uv:tool npm:exec npm:x npm:explore pnpm:exec pnpm:dlx yarn:exec yarn:dlx poetry:run
    pdm:run hatch:run rye:run pipenv:run conda:run mamba:run bundle:exec docker:run docker:exec
    podman:run podman:exec kubectl:exec oc:exec git:bisect git:submodule git:rebase git:filter-branch
    git:difftool git:mergetool go:run go:generate cargo:run dotnet:run nix:run nix:shell nix:develop
    systemctl:edit gh:alias gh:extension gh:extensions gh:ext gh:codespace gh:cs glab:alias helm:plugin
    errands:run errands:add errands:ask errands:template errands:client ip:netns rustup:run mise:exec mise:x
    asdf:exec pyenv:exec rbenv:exec""".split()
)
# Options that run a program or load code, by program: long ones, then letters.
_OPTIONS = {
    "git": (
        "upload-pack receive-pack exec exec-path ext-diff open-files-in-pager config config-env extcmd "
        "template git-dir",
        "",
    ),
    "tar": ("to-command use-compress-program checkpoint-action info-script new-volume-script rsh-command "
            "rmt-command", "IF"),
    "rsync": ("rsh rsync-path remote-option", "eM"),
    "rg": ("pre hostname-bin", ""),
    "sort": ("compress-program", ""),
    "split": ("filter", ""),
    "fd": ("exec exec-batch", "xX"),
    "find": ("", ""),
    "scp": ("", "oSFDJ"),
    "sftp": ("", "oSFDJb"),
    "zip": ("unzip-command", "T"),
    "man": ("pager html preprocessor", "PH"),
    "tcpdump": ("", "z"),
    "nmap": ("script datadir", ""),
    "kubectl": ("kubeconfig", ""),
    "oc": ("kubeconfig", ""),
    "helm": ("kubeconfig post-renderer", ""),
    "curl": ("config", "K"),
    "wget": ("use-askpass execute config", "e"),
    "sqlite3": ("cmd init", ""),
    "terraform": ("chdir", ""),
    "apt": ("option config-file", "oc"),
    "apt-get": ("option config-file", "oc"),
}  # fmt: skip
_OPTIONS |= {"gtar": _OPTIONS["tar"], "bsdtar": _OPTIONS["tar"], "fdfind": _OPTIONS["fd"]}
# How sed and its relatives are given a script: in a file, or as an expression.
_SCRIPT_FILE = regex(r"-[^-ie]*f")
_EXPRESSION = regex(r"--exp\w*=|-[^-ie]*e")
# Letters of git's options that do so, by subcommand.
_GIT_LETTERS = {"clone": "cu", "grep": "O", "difftool": "x", "rebase": "x"}
# Words that carry a program by their form.
_FORMS = {
    "git": regex(r"[\w+-]+::|file://"),  # a helper for a protocol, and a repository with hooks
    "find": regex(r"-(exec|execdir|ok|okdir)$"),
    "psql": regex(r"(?si).*\\|.*\bprogram\b"),
    "mysql": regex(r"(?si).*\\|.*\bsystem\b"),
    "sqlite3": regex(r"(?si).*\.(shell|system|load|once|output|read|excel|www|import)|.*load_extension"),
    "less": regex(r"\+"),
    "more": regex(r"\+"),
}  # fmt: skip


def runs_anything(name: str) -> bool:
    """Return whether a program runs whatever its words name."""
    return name in _PROGRAMS or _LOADER.fullmatch(name) is not None


def carried(words: Sequence[str], named: Sequence[str]) -> str:
    """Return the first word of a command that runs another program, if a rule does not name it; "" if none.

    `named` are the words of the rule, which may have wildcards.
    """
    name, rest = posixpath.basename(words[0]), words[1:]
    literal = {each for each in named if not is_wild(each)}
    command = next((each for each in rest if not each.startswith("-")), "")
    if f"{name}:{command}" in SUBCOMMANDS and command not in literal:
        return command
    longs, letters = _OPTIONS.get(name, ("", ""))
    if name == "git":
        letters = _GIT_LETTERS.get(command, "")
    form = _FORMS.get(name)
    for word in rest:
        if word in literal:
            continue
        if (form is not None and form.match(word)) or _is_carrying(word, longs.split(), letters):
            return word
    if name in ("sed", "gsed"):
        return next((each for each in sed_scripts(rest) if each not in literal and _is_doubtful(each)), "")
    return _local_remote(rest, literal) if name == "git" and command == "push" else ""


def _is_carrying(word: str, longs: list[str], letters: str) -> bool:
    if word.startswith("--"):
        name = word[2:].partition("=")[0]
        # Most programs accept the beginning of an option.
        return len(name) > 1 and any(each.startswith(name) for each in longs)
    return word.startswith("-") and any(letter in letters for letter in word[1:].partition("=")[0])


def sed_scripts(words: Sequence[str]) -> Iterator[str]:
    """Yield the scripts of sed, and an option that names a file with one."""
    following, operands, is_named = iter(words), [], False
    for word in following:
        if not word.startswith("-") or word == "-":
            operands.append(word)
        elif word.startswith(("--file", "--fi")) or _SCRIPT_FILE.match(word):
            yield word
            is_named = True
        elif found := _EXPRESSION.match(word):
            yield word[found.end() :] or next(following, "")
            is_named = True
    yield from () if is_named else operands[:1]


def _is_doubtful(script: str) -> bool:
    from errands.judge.programs.sed import objection_to_script

    return script.startswith("-") or objection_to_script(script) is not None


def _local_remote(words: Sequence[str], literal: set[str]) -> str:
    """Return the directory that is pushed to: its hooks would run here."""
    operands = [each for each in words if not each.startswith("-")][1:2]
    return next(
        (
            each
            for each in operands
            if each not in literal and ":" not in each and ("/" in each or each[0] in ".~")
        ),
        "",
    )
