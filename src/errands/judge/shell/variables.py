"""Environment variables: which ones are harmless to set, and which ones a harmless command may inherit.

A command that only reads inherits nothing but what is listed. Test runs need variables that cannot be
listed, so they run without those that would make them load or start something else.
"""

from __future__ import annotations

from errands.model.text.regex import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from errands.judge.shell.grammar import Word

# May be set in front of a command or added to a task: the name, and a pattern for its value.
_WORD = r"[A-Za-z0-9_.@-]*"
_HARMLESS = {
    **dict.fromkeys(
        """LANG LANGUAGE LC_ALL LC_ADDRESS LC_COLLATE LC_CTYPE LC_IDENTIFICATION LC_MEASUREMENT
        LC_MESSAGES LC_MONETARY LC_NAME LC_NUMERIC LC_PAPER LC_TELEPHONE LC_TIME TERM COLORTERM
        NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE PY_COLORS CARGO_TERM_COLOR CI COLUMNS LINES
        RUST_BACKTRACE PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONIOENCODING
        PYTHONUTF8 PYTHONNOUSERSITE GIT_TERMINAL_PROMPT BLOCK_SIZE BLOCKSIZE""".split(),
        _WORD,
    ),
    "GIT_OPTIONAL_LOCKS": "0|false|no|off",  # otherwise `git status` writes the index
    "TZ": r"(?!:?/)(?!.*\.\.)[A-Za-z0-9_+,./:-]*",  # no file but those of the system's zones
}

_ENDING_EACH = frozenset(("-0", "--null"))
# In a line with this, what `--env` adds may be printed; another program behind `env` is no harm.
_PRINTING = regex(
    r"""(?x)\bprintenv\b | (?<![\w.$-])(?<!venv\ )env
    (?:\s+(?:-\w+|--[\w=-]+|-u\s+\w+|\w+=\S*))*\s*(?:$|[\n|;&<>)\"'`}]|\d>)"""
)
# Removed before a command that was judged harmless: loaders, start-up files, pagers, plug-ins, options.
_REMOVED = frozenset(
    """BASH_ENV ENV SHELLOPTS BASHOPTS BASH_LOADABLES_PATH BASH_XTRACEFD PS4 PROMPT_COMMAND CDPATH
    GLOBIGNORE FPATH ZDOTDIR NULLCMD READNULLCMD IFS EXECIGNORE FIGNORE TIMEFORMAT GCONV_PATH LOCPATH NLSPATH
    MALLOC_TRACE RESOLV_HOST_CONF HOSTALIASES LOCALDOMAIN GETCONF_DIR GLIBC_TUNABLES TERMINFO
    TERMINFO_DIRS TERMCAP TERMPATH INPUTRC PAGER MANPAGER MANOPT MANROFFOPT BROWSER EDITOR VISUAL
    LESS LESSOPEN LESSCLOSE LESSEDIT LESSKEY LESSKEYIN LESSKEY_SYSTEM LESSHISTFILE MORE LV
    DELTA_PAGER BAT_PAGER BAT_CONFIG_PATH BAT_OPTS SSH_ASKPASS SUDO_ASKPASS PYTHONSTARTUP PYTHONHOME
    PYTHONPLATLIBDIR PYTHONINSPECT PYTHONBREAKPOINT PYTHONWARNINGS PYTHONEXECUTABLE PYTHONUSERBASE
    PYTHONPYCACHEPREFIX PYTHONCASEOK PYTHONPROFILEIMPORTTIME PYTHONTRACEMALLOC PYTHON_HISTORY
    PYTEST_ADDOPTS PYTEST_PLUGINS PYTEST_DEBUG PYTEST_THEME PY_IGNORE_IMPORTMISMATCH
    COVERAGE_PROCESS_START COVERAGE_RCFILE COVERAGE_FILE HYPOTHESIS_STORAGE_DIRECTORY UV_PYTHON
    UV_PROJECT UV_PROJECT_ENVIRONMENT UV_WORKING_DIRECTORY UV_CONFIG_FILE UV_ENV_FILE
    UV_RUN_RECURSION UV_INDEX UV_INDEX_URL UV_DEFAULT_INDEX UV_EXTRA_INDEX_URL UV_FIND_LINKS
    UV_OVERRIDE UV_CONSTRAINT UV_BUILD_CONSTRAINT UV_PYTHON_INSTALL_MIRROR UV_INSTALL_DIR UV_WITH
    UV_INSECURE_HOST NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS NODE_REPL_EXTERNAL_MODULE
    NODE_REDIRECT_WARNINGS NODE_V8_COVERAGE PERL5OPT PERL5LIB PERLLIB PERL5DB PERLIO_DEBUG RUBYOPT
    RUBYLIB PHPRC PHP_INI_SCAN_DIR LUA_INIT LUA_PATH LUA_CPATH JAVA_TOOL_OPTIONS _JAVA_OPTIONS
    JDK_JAVA_OPTIONS CLASSPATH MAVEN_OPTS MAVEN_ARGS MAVEN_CONFIG GRADLE_OPTS BUN_OPTIONS
    RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTC
    RUSTDOC RUSTFLAGS RUSTDOCFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_HOME RUSTUP_TOOLCHAIN RUSTUP_HOME
    GOFLAGS GOENV GOTOOLCHAIN GOROOT GOTOOLDIR GOEXPERIMENT GCC_EXEC_PREFIX COMPILER_PATH MAKEFLAGS
    MFLAGS GNUMAKEFLAGS MAKEFILES RIPGREP_CONFIG_PATH GREP_OPTIONS GREP_COLOR GREP_COLORS FD_OPTIONS
    FZF_DEFAULT_COMMAND FZF_DEFAULT_OPTS LS_OPTIONS TREE_COLORS JQ_LIBRARY_PATH MAGIC POSIX2_VERSION
    _POSIX2_VERSION TAR_OPTIONS GZIP XZ_OPT XZ_DEFAULTS BZIP2 ZIPOPT UNZIP DIFF_OPTIONS DIFFOPTIONS
    BC_ENV_ARGS POSIXLY_CORRECT POSIX_ME_HARDER GNUTARGET
    DPKG_PAGER DPKG_PAGER_LESS DPKG_ROOT DPKG_ADMINDIR DPKG_FORCE DPKG_COLORS DPKG_FRONTEND_LOCKED
    MANPATH MANSECT MAN_KEEP_FORMATTING MANLESS PS_FORMAT PS_PERSONALITY PROCPS_USERLEN FIND_BLOCK_SIZE
    VIRTUALENV_OVERRIDE_APP_DATA LSOFDEVCACHE LOCATE_PATH PSMODULEPATH SYSTEMD_PAGER SYSTEMD_LESS
    TIME AWKPATH AWKLIBPATH GAWK_READ_TIMEOUT QUOTING_STYLE HGRCPATH SVN_SSH CVS_RSH RSYNC_RSH""".split()
)
_REMOVED_FAMILIES = (
    "BASH_FUNC_",  # a function that replaces a program
    "LD_",
    "DYLD_",
    "GIT_",
    "PYTEST_XDIST_",
    "UV_TOOL_",
    "PIP_",
    "ERRANDS_RUNS_",  # the shell of a daemon that the command starts
    "NPM_CONFIG_",
    "npm_config_",
    "pnpm_config_",
    "YARN_",
    "JUST_",
    "CARGO_BUILD_",
    "CARGO_TARGET_",
    "CARGO_ALIAS_",
    "COR_",
    "CORECLR_",
    "DOTNET_STARTUP_",
)
# What git may still inherit: not to prompt, not to write, and the identity of the author.
_KEPT = frozenset(
    """GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE
    GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE""".split()
)


# What a command that only reads inherits besides what is harmless: who and where one is, and colours.
_INHERITED = {
    **dict.fromkeys("USER LOGNAME HOSTNAME PWD HOME TMPDIR TMP TEMP XDG_CONFIG_HOME".split(), r"[^\0\n]*"),
    **dict.fromkeys("LS_COLORS JQ_COLORS EZA_COLORS EXA_COLORS".split(), r"[\x20-\x7e]*"),
    **dict.fromkeys("SHLVL MANWIDTH".split(), r"[0-9]{0,9}"),
    "SHELL": r"(?:/usr)?/bin/[a-z]+",
    "LOCALE_ARCHIVE": r"/(?:nix/store|usr/lib/locale)/[A-Za-z0-9_+.-]+(?:/[A-Za-z0-9_+-][A-Za-z0-9_+.-]*)*",
    "__CF_USER_TEXT_ENCODING": r"[0-9A-Fa-fx:]*",
}
# What it may look up, as long as that is in the person's own home directory.
_OWN = frozenset("XDG_CACHE_HOME XDG_DATA_HOME XDG_STATE_HOME".split())
# A pager takes commands from its terminal that were never judged, so there is none on a terminal either.
_NO_PAGERS = {**dict.fromkeys(("PAGER", "GIT_PAGER", "MANPAGER"), "cat"), "LESSSECURE": "1"}
# Before version 24, `pip list` asks the network for a newer pip, and keeps the answer in its cache.
_NO_REQUESTS = {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def inherited(environment: Mapping[str, str], *, own_home: str) -> dict[str, str]:
    """Return the variables of a command that only reads, without its search path.

    `own_home` is the person's home directory according to the system. If HOME names another, Python must not
    load what is installed there.
    """
    found = {name: value for name, value in environment.items() if _is_inherited(name, value, own_home)}
    if not _is_inside(environment.get("HOME", own_home), own_home):
        found["PYTHONNOUSERSITE"] = "1"
    return found | _NO_PAGERS | _NO_REQUESTS


def _is_inherited(name: str, value: str, own_home: str) -> bool:
    if name in _KEPT or is_harmless(name, value):
        return True
    if name in _OWN:
        return _is_inside(value, own_home)
    pattern = _INHERITED.get(name)
    return pattern is not None and _fits(pattern, value)


def _is_inside(path: str, directory: str) -> bool:
    is_below = path == directory or path.startswith(directory.rstrip("/") + "/")
    return bool(directory) and is_below and ".." not in path.split("/")


def prints_variables(command: str | Sequence[str]) -> bool:
    """Return whether a command may print all variables, or any that its words name."""
    return _PRINTING.search(command if isinstance(command, str) else "\n".join(command)) is not None


def shows_variables(words: Sequence[Word]) -> bool:
    """Return whether a command does nothing but print variables; a sandbox has none with a secret."""
    name, rest = words[0].text.rpartition("/")[2], [word.text for word in words[1:]]
    return (name == "env" and _ENDING_EACH.issuperset(rest)) or name == "printenv"


def is_harmless(name: str, value: str) -> bool:
    """Return whether setting this variable changes nothing but language, colours and the like."""
    allowed = _HARMLESS.get(name)
    return allowed is not None and _fits(allowed, value)


def _fits(pattern: str, value: str) -> bool:
    import re  # few commands come with variables

    return re.fullmatch(pattern, value) is not None


def removed(environment: Mapping[str, str], *, project: str = "") -> tuple[str, ...]:
    """Return the variables that a command judged harmless must not inherit.

    A PYTHONPATH stays when all of it is inside the project, whose code a test run executes anyway.
    """
    return tuple(sorted(name for name, value in environment.items() if _is_removed(name, value, project)))


def _is_removed(name: str, value: str, project: str) -> bool:
    if name == "PYTHONPATH":
        inside = project.rstrip("/") + "/"
        return not project or not all(
            (entry == project or entry.startswith(inside)) and ".." not in entry.split("/")
            for entry in value.split(":")
            if entry
        )
    return name not in _KEPT and (name in _REMOVED or name.startswith(_REMOVED_FAMILIES))
