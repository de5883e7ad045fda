"""Git's configuration: the settings of a repository, and which of them would make git run a program.

Only settings that are known to run nothing are accepted. The person's own configuration is not checked: an
attacker who can write that needs no trick.
"""

from __future__ import annotations

from errands.model.record import record
from errands.model.text.regex import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from re import Pattern


@record
class Setting:
    """One setting; names are in lower case except the middle one, a key without `=` has the value "true"."""

    section: str
    middle: str
    key: str
    value: str

    @property
    def name(self) -> str:
        return ".".join(part for part in (self.section, self.middle, self.key) if part)


class Unreadable(Exception):  # noqa: N818  # its name says what is wrong, as those of all errors do
    """A repository that cannot be checked: git would refuse it, or reads it in a way that is not analysed."""


def read_settings(text: str) -> tuple[Setting, ...]:
    """Parse a configuration file the way git does."""
    return tuple(_settings(text.removeprefix("\ufeff").replace("\r\n", "\n")))


_SPACE = regex(r"(?:\s|[#;][^\n]*)*+")
_HEADER = regex(r'\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\[^\n])*)")?\]')
_KEY = regex(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:(=)|(?=\n|\Z))")
_VALUE = regex(r'(?:\\[\s\S]|"(?:[^"\\\n]|\\[\s\S])*"|[^"\\\n#;])*+')
_PIECE = regex(r'\\([\s\S])|"((?:[^"\\\n]|\\[\s\S])*)"|([^"\\]+)')
_ESCAPE = regex(r"\\(.)")
_ESCAPED = regex(r"\\([\s\S])")
_SIGNATURE = regex("%[-+ ]?G")
_REVISIONS = regex(r"(?:[\w-]+/)*\.?[\w-]*(?:ignore|revs|blame)[\w.-]*")
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", "\\": "\\", '"': '"', "\n": ""}


def _settings(text: str) -> Iterator[Setting]:
    section = middle = ""
    at = 0
    while (at := _after(_SPACE, text, at)) < len(text):
        if text[at] == "[":
            header = _HEADER.match(text, at)
            if header is None:
                raise Unreadable("a section header cannot be parsed")
            section, dot, rest = header[1].lower().partition(".")
            middle = _ESCAPE.sub(r"\1", header[2]) if header[2] is not None else rest
            if dot and header[2] is not None:
                raise Unreadable("a section has two names")
            at = header.end()
            continue
        key = _KEY.match(text, at)
        if key is None or not section:
            raise Unreadable("a line cannot be parsed")
        at = key.end()
        value = "true"
        if key[2]:
            end = _after(_VALUE, text, at)
            value = _unescaped(text[at:end])
            at = end
            if text[at : at + 1] not in ("", "\n", "#", ";"):
                raise Unreadable("a value cannot be parsed")
        yield Setting(section=section, middle=middle, key=key[1].lower(), value=value)


def _after(expression: Pattern[str], text: str, at: int) -> int:
    found = expression.match(text, at)
    return found.end() if found else at


def _unescaped(text: str) -> str:
    parts = []
    for escape, inside, plain in _PIECE.findall(text.strip()):
        if escape:
            parts.append(_escape(escape))
        else:
            parts.append(plain or _ESCAPED.sub(lambda found: _escape(found[1]), inside))
    return "".join(parts)


def _escape(letter: str) -> str:
    if letter not in _ESCAPES:
        raise Unreadable("git does not know an escape in a value")
    return _ESCAPES[letter]


# Settings that run nothing in a command that only reads; `section.*.key` accepts any middle name.
_HARMLESS = frozenset(
    """
    core.repositoryformatversion core.filemode core.bare core.logallrefupdates core.ignorecase
    core.symlinks core.precomposeunicode core.autocrlf core.eol core.safecrlf core.quotepath core.abbrev
    core.commentchar core.compression core.loosecompression core.bigfilethreshold core.untrackedcache
    core.preloadindex core.fscache core.longpaths core.protecthfs core.protectntfs core.trustctime
    core.checkstat core.whitespace core.hidedotfiles core.sharedrepository core.multipackindex
    core.commitgraph core.sparsecheckout core.sparsecheckoutcone core.fsync core.fsyncmethod
    core.fsyncobjectfiles core.excludesfile core.deltabasecachelimit core.packedgitlimit
    core.packedgitwindowsize core.packedrefstimeout core.filesreflocktimeout core.warnambiguousrefs
    core.checkroundtripencoding core.splitindex core.unsetenvvars core.restrictinheritedhandles
    core.maxtreedepth extensions.objectformat extensions.compatobjectformat extensions.worktreeconfig
    extensions.refstorage extensions.noop extensions.preciousobjects extensions.relativeworktrees
    diff.algorithm diff.renames diff.renamelimit diff.mnemonicprefix diff.noprefix diff.colormoved
    diff.colormovedws diff.wserrorhighlight diff.interhunkcontext diff.context diff.statgraphwidth
    diff.statnamewidth diff.suppressblankempty diff.ignoresubmodules diff.indentheuristic diff.dirstat
    diff.relative diff.autorefreshindex diff.wordregex diff.srcprefix diff.dstprefix diff.*.xfuncname
    diff.*.funcname diff.*.wordregex diff.*.algorithm diff.*.binary status.showuntrackedfiles status.short
    status.branch status.relativepaths status.aheadbehind status.renames status.renamelimit
    status.displaycommentprefix status.showstash log.date log.decorate log.abbrevcommit log.follow
    log.graphcolors log.showroot log.mailmap log.excludedecoration log.initialdecorationset log.diffmerges
    format.pretty format.signoff format.thread format.attach format.headers format.subjectprefix
    format.suffix mailmap.file mailmap.blob merge.ff merge.conflictstyle merge.log merge.stat
    merge.renames merge.renamelimit merge.tool merge.autostash merge.directoryrenames merge.verbosity
    merge.defaulttoupstream merge.branchdesc commit.gpgsign commit.cleanup commit.template commit.verbose
    commit.status tag.sort tag.gpgsign tag.forcesignannotated filter.*.required
    lfs.repositoryformatversion lfs.*.access lfs.*.locksverify lfs.locksverify remote.pushdefault
    remote.*.url remote.*.pushurl remote.*.fetch remote.*.push remote.*.mirror remote.*.tagopt
    remote.*.prune remote.*.prunetags remote.*.skipdefaultupdate remote.*.skipfetchall
    remote.*.gh-resolved remote.*.followremotehead submodule.*.active submodule.*.url submodule.*.branch
    submodule.*.ignore submodule.*.fetchrecursesubmodules submodule.*.shallow submodule.recurse
    submodule.active submodule.fetchjobs submodule.propagatebranches blame.blankboundary blame.coloring
    blame.date blame.markignoredlines blame.markunblamablelines blame.showemail blame.showroot
    """.split()
)
# Sections without any setting that runs something in a command that only reads.
_HARMLESS_SECTIONS = frozenset(
    """advice apply branch checkout clean color column credential feature fetch gc grep gui
    http i18n index init maintenance notes pack protocol pull push rebase receive repack rerere safe
    stash transfer url user versionsort worktree""".split()
)
# What `git lfs install --local` writes.
_LFS = {
    "clean": "git-lfs clean -- %f",
    "smudge": "git-lfs smudge -- %f",
    "process": "git-lfs filter-process",
}


def danger(setting: Setting) -> str | None:
    """Return why a repository with this setting is not trusted; None if the setting is harmless."""
    generic = f"{setting.section}.{'*.' if setting.middle else ''}{setting.key}"
    harmless = generic in _HARMLESS or setting.section in _HARMLESS_SECTIONS
    if harmless and not (
        (setting.section == "format" and _SIGNATURE.search(setting.value))
        or (setting.key == "sort" and "signature" in setting.value.lower())
    ):
        return None
    match setting.section:
        # An alias replaces no command of git, apart from one that newer versions dropped.
        case "alias" if not setting.value.startswith("!") and setting.key != "whatchanged":
            return None
        # Git shows the first line of it that does not name a commit.
        case "blame" if setting.key == "ignorerevsfile" and _REVISIONS.fullmatch(setting.value):
            return None
        case "filter" if setting.middle == "lfs" and setting.value == _LFS.get(setting.key):
            return None
        case "submodule" if setting.key == "update" and not setting.value.startswith("!"):
            return None
        case "pager" if setting.value.lower() in ("true", "false", "yes", "no", "on", "off", "1", "0", ""):
            return None
        case "include" | "includeif":
            return f"the repository's configuration includes another file: {setting.value}"
    return f"the repository's configuration may run a program or point elsewhere: {setting.name}"
