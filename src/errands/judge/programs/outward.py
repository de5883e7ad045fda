"""What a command changes outside of its project: on other hosts, or in other directories of this one.

A person who types a command has approved it, but is asked again about this. This is a courtesy, not a
safety check: a program that the tables do not know is not asked about.
"""

from __future__ import annotations

import posixpath

from errands.judge.workspace import is_within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from errands.judge.workspace import Workspace

# They change something elsewhere whatever they are asked for, or may do anything there.
_ALWAYS = frozenset(
    "ssh mosh telnet ftp sftp scp ansible ansible-playbook twine mail mailx sendmail mutt".split()
)
# Subcommands that publish or change something elsewhere.
_CHANGES = {
    "git": "push send-email",
    **dict.fromkeys(
        "npm pnpm yarn bun".split(),
        "publish unpublish deprecate dist-tag access owner token adduser login logout",
    ),
    "cargo": "publish yank owner login logout",
    **dict.fromkeys("uv poetry hatch flit pdm rye".split(), "publish"),
    "gem": "push yank owner",
    **dict.fromkeys("docker podman nerdctl".split(), "push login logout"),
    **dict.fromkeys("mvn mvnw".split(), "deploy"),
    **dict.fromkeys("gradle gradlew".split(), "publish"),
    "helm": "install upgrade uninstall delete rollback push",
    **dict.fromkeys("terraform tofu".split(), "apply destroy import taint untaint"),
    "pulumi": "up update destroy import refresh",
    **dict.fromkeys("make gmake just task rake invoke inv".split(), "deploy publish upload push"),
}
# Programs that talk to a service: with these words they only ask, with any others they change something.
_ASKS = {
    **dict.fromkeys(
        "gh glab hub".split(),
        """list view status diff checks watch search browse download clone checkout help version completion
        log verify-asset""",
    ),
    **dict.fromkeys(
        "kubectl oc".split(),
        """get describe logs top explain version api-resources api-versions cluster-info diff wait status
        history can-i view current-context get-contexts whoami completion help port-forward events""",
    ),
    "rclone": "ls lsl lsd lsf lsjson cat size check md5sum sha1sum tree version about listremotes help",
    "gsutil": "ls cat stat du hash version help",
    **dict.fromkeys(
        "aws gcloud az doctl flyctl fly heroku vercel netlify wrangler".split(),
        """ls list describe show get info version help status logs log tail head whoami configure config
        presign account dev inspect search""",
    ),
}
_ASKING_VERBS = ("describe-", "get-", "list-", "head-", "batch-get-", "lookup-", "search-", "wait")
_READING_METHODS = frozenset("GET HEAD OPTIONS get head options".split())
# Options with which a request carries something; a letter may stand among other letters.
_SENDING = {
    "curl": "-d --data --data-binary --data-raw --data-ascii --data-urlencode --json -F --form --form-string "
    "-T --upload-file",
    "wget": "--post-data --post-file --body-data --body-file",
    "gh": "-f --raw-field -F --field --input",
}
_METHODS = {"curl": "-X --request", "wget": "--method", "gh": "-X --method"}
# Programs that write where their operands say: to all of them, or to the last.
_WRITING = frozenset(
    """mv gmv mkdir touch tee truncate chmod chown chgrp patch mkfifo gzip gunzip xz unxz bzip2 bunzip2 zstd
    rename prename unlink rmdir rm""".split()
)
_COPYING = frozenset("cp gcp ln install rsync ditto".split())
_IN_PLACE = frozenset("sed gsed perl".split())
# Options whose value is what is written, or the directory where.
_TARGETS = {
    **dict.fromkeys("cp gcp mv gmv ln install".split(), "-t --target-directory"),
    "curl": "-o --output --output-dir",
    "wget": "-O --output-document -P --directory-prefix",
    "tar": "-C --directory",
    "unzip": "-d",
}
_DEVICES = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty")
_HOMES = ("~", "$HOME", "${HOME}")


def changes_outside(words: tuple[str, ...], workspace: Workspace) -> bool:
    """Return whether a command changes something on another host, or writes outside of the project."""
    name = posixpath.basename(words[0])
    return _changes_elsewhere(name, words[1:]) or any(
        is_outside(path, workspace) for path in _written(name, words[1:])
    )


def is_outside(path: str, workspace: Workspace) -> bool:
    """Return whether a file that would be written is not in the project."""
    if not path or path == "-" or path in _DEVICES or path.startswith("/dev/fd/"):
        return False
    if path.startswith(("/dev/tcp/", "/dev/udp/")):
        return True
    for home in _HOMES:
        if path == home or path.startswith(f"{home}/"):
            path = posixpath.join(workspace.home, path[len(home) + 1 :])
    if "$" in path.partition("/")[0]:
        return False  # it may be anywhere
    return not is_within(workspace.real(path), workspace.real(workspace.project))


def _changes_elsewhere(name: str, words: tuple[str, ...]) -> bool:
    if name in _ALWAYS:
        return not _asks_for_help(words)
    named = [word for word in words if not word.startswith("-")]
    if name in ("curl", "wget"):
        return _sends(name, words) and not (name == "curl" and _has(words, ("-G", "--get", "-I", "--head")))
    if name in ("http", "https", "xh", "xhs", "httpie"):
        methods = [word for word in named[:2] if word.isupper() and word.isalpha()]
        return any(each not in _READING_METHODS for each in methods) or any(
            "=" in word and "==" not in word and "://" not in word for word in named
        )
    if name in ("gh", "glab") and named[:1] == ["api"]:
        return _sends(name, words)
    if name == "rsync":
        return bool(named) and _is_remote(named[-1])
    if name in _ASKS:
        return bool(named) and not _asks_for_help(words) and not _only_asks(name, named)
    if name in ("npm", "pnpm", "yarn", "bun") and named[:1] in (["run"], ["run-script"]):
        named = named[1:]
        return named[:1] != [] and named[0].partition(":")[0] in ("deploy", "publish", "upload", "push")
    if name not in _CHANGES:
        return False
    return any(each in _CHANGES[name].split() for each in named[: 3 if name in _DEEP else 1])


# A target, or a goal, may come after others.
_DEEP = frozenset("make gmake just task rake invoke inv mvn mvnw gradle gradlew".split())


def _only_asks(name: str, named: list[str]) -> bool:
    known = _ASKS[name].split()
    return any(word in known or word.startswith(_ASKING_VERBS) for word in named[:4])


def _sends(name: str, words: tuple[str, ...]) -> bool:
    """Return whether a request has another method than one that reads, or carries something."""
    known = "gh" if name == "glab" else name
    methods = _values(words, _METHODS[known].split())
    if methods:
        return any(each not in _READING_METHODS for each in methods)
    return _has(words, _SENDING[known].split())


def _written(name: str, words: tuple[str, ...]) -> list[str]:
    """Return the files and directories that a command writes, as far as its words say."""
    named = [word for word in words if not word.startswith("-")]
    found = _values(words, _TARGETS.get(name, "").split())
    if name in _WRITING:
        first = 1 if name in ("chmod", "chown", "chgrp") else 0
        found += named[first:]
    elif name in _COPYING:
        found += [each for each in named[-1:] if not _is_remote(each)]
    elif name in _IN_PLACE and any(word.startswith(("-i", "--in-place")) for word in words):
        found += named[1:] or named
    elif name == "dd":
        found += [word.removeprefix("of=") for word in words if word.startswith("of=")]
    return found


def _is_remote(operand: str) -> bool:
    host, colon, _ = operand.partition(":")
    return bool(colon) and "/" not in host


def _asks_for_help(words: tuple[str, ...]) -> bool:
    return _has(words, ("--help", "--version", "-V"))


def _has(words: tuple[str, ...], options: Iterable[str]) -> bool:
    for option in options:
        for word in words:
            if word == option or word.startswith(f"{option}="):
                return True
            if len(option) == 2 and word[:1] == "-" and word[:2] != "--" and option[1] in word[1:]:
                return True
    return False


def _values(words: tuple[str, ...], options: Iterable[str]) -> list[str]:
    """Return the values of options: the next word, or what follows in the same one."""
    found: list[str] = []
    for at, word in enumerate(words):
        for option in options:
            if word == option:
                found += words[at + 1 : at + 2]
            elif word.startswith(f"{option}=") and option.startswith("--"):
                found.append(word.partition("=")[2])
            elif len(option) == 2 and word.startswith(option) and word[:2] != "--":
                found.append(word[2:])
    return found
