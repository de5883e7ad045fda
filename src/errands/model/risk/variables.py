"""Variables: which ones change what a program does, and which ones change nothing that matters.

A command judged harmless runs without the variables that would make it load or start something else.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# May be set in front of a command, or added to a task: name, and what its value may look like.
_WORD = r"[A-Za-z0-9_.@-]*"
_HARMLESS = {
    **dict.fromkeys(
        """LANG LANGUAGE LC_ALL LC_ADDRESS LC_COLLATE LC_CTYPE LC_IDENTIFICATION LC_MEASUREMENT
        LC_MESSAGES LC_MONETARY LC_NAME LC_NUMERIC LC_PAPER LC_TELEPHONE LC_TIME TERM COLORTERM
        NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE PY_COLORS CARGO_TERM_COLOR CI COLUMNS LINES
        RUST_BACKTRACE PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONIOENCODING
        PYTHONUTF8 PYTHONNOUSERSITE GIT_OPTIONAL_LOCKS GIT_TERMINAL_PROMPT BLOCK_SIZE BLOCKSIZE""".split(),
        _WORD,
    ),
    "TZ": r"(?!/)[A-Za-z0-9_+,./:-]*",
}

# Removed before a command that was judged harmless: loaders, start-up files, pagers, plug-ins, options.
_REMOVED = frozenset(
    """BASH_ENV ENV SHELLOPTS BASHOPTS BASH_LOADABLES_PATH BASH_XTRACEFD PS4 PROMPT_COMMAND CDPATH
    GLOBIGNORE FPATH ZDOTDIR IFS EXECIGNORE FIGNORE TIMEFORMAT GCONV_PATH LOCPATH NLSPATH
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
    JDK_JAVA_OPTIONS CLASSPATH MAVEN_OPTS GRADLE_OPTS RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTC
    RUSTDOC RUSTFLAGS RUSTDOCFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_HOME RUSTUP_TOOLCHAIN RUSTUP_HOME
    GOFLAGS GOENV GOTOOLCHAIN GOROOT GOTOOLDIR GOEXPERIMENT GCC_EXEC_PREFIX COMPILER_PATH MAKEFLAGS
    MFLAGS GNUMAKEFLAGS MAKEFILES RIPGREP_CONFIG_PATH GREP_OPTIONS GREP_COLOR GREP_COLORS FD_OPTIONS
    FZF_DEFAULT_COMMAND FZF_DEFAULT_OPTS LS_OPTIONS TREE_COLORS JQ_LIBRARY_PATH MAGIC POSIX2_VERSION
    _POSIX2_VERSION TAR_OPTIONS GZIP XZ_OPT XZ_DEFAULTS BZIP2 ZIPOPT UNZIP DIFF_OPTIONS DIFFOPTIONS
    TIME AWKPATH AWKLIBPATH GAWK_READ_TIMEOUT QUOTING_STYLE HGRCPATH SVN_SSH CVS_RSH RSYNC_RSH""".split()
)
_REMOVED_FAMILIES = (
    "BASH_FUNC_",  # a function that takes the place of a program
    "LD_",
    "DYLD_",
    "GIT_",
    "PYTEST_XDIST_",
    "UV_TOOL_",
    "NPM_CONFIG_",
    "npm_config_",
    "CARGO_BUILD_",
    "CARGO_TARGET_",
    "CARGO_ALIAS_",
    "COR_",
    "CORECLR_",
    "DOTNET_STARTUP_",
)
# What git may still be told from outside: it keeps it from waiting and from writing.
_KEPT = frozenset(("GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS"))


def is_harmless(name: str, value: str) -> bool:
    """Tell whether setting this variable changes nothing but language, colours and the like."""
    allowed = _HARMLESS.get(name)
    return allowed is not None and re.fullmatch(allowed, value) is not None


def removed(environment: Mapping[str, str], *, project: str = "") -> tuple[str, ...]:
    """Name the variables of an environment without which a command judged harmless has to run.

    A PYTHONPATH stays when everything on it is in the project, whose code a test run executes anyway.
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
