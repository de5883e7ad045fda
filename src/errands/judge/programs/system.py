"""Programs that describe the machine, its users and processes."""

from __future__ import annotations

import re

from errands.judge.programs.entry import Program, ask, ask_each, objection_to_home, unlisted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.judge.programs.entry import Entry, Reasons, Usage
    from errands.judge.workspace import Workspace

# Fields of `ps -o`, without any that shows the environment.
_FIELDS = frozenset(
    """
    pid ppid pgid pgrp sid sess session tpgid tid lwp spid nlwp thcount user euser ruser suser fuser uid
    euid ruid suid group egroup rgroup gid egid rgid comm ucmd ucomm cmd command args fname exe %cpu pcpu c
    cp %mem pmem rss rssize rsz vsz vsize size sz drs trs start lstart bsdstart start_time stime etime
    etimes time cputime cputimes times bsdtime stat s state flag flags f nice ni pri priority rtprio policy
    class cls sched wchan nwchan psr cpuid tty tt tname maj_flt min_flt majflt minflt label cgroup ipcns
    mntns netns pidns userns utsns
    """.split()
)
# Options of `ps` with a dash and without a value.
_PS_FLAGS = frozenset("AadefFjlLHTMcwNV")
_PS_VALUES = frozenset("pPuUCgGts")
# Without a dash `e` shows the environment of every process, so it is missing.
_PS_BSD = frozenset("aAxTrufjlsvXLmHcwhnSgWk")
_PS_AUX = frozenset("-aux -auxw -auxww -ax -axu -auxf".split())
_PS_LONG = frozenset("--forest --no-headers --no-heading --headers --deselect --cumulative --version".split())


def _ps(words: tuple[str, ...], workspace: Workspace) -> Reasons:
    rest = list(words[1:])
    given_flags: set[str] = set()
    only_flags = True
    values = False
    while rest:
        word = rest.pop(0)
        if word in _PS_AUX or word in _PS_LONG:
            only_flags = only_flags and word in ("--no-headers", "--no-heading", "--headers", "--forest")
            given_flags |= {"H"} if word == "--forest" else set()
            continue
        if word == "--sort" or word == "--cols" or word == "--columns":
            word = f"{word}={rest.pop(0) if rest else ''}"
        if word.startswith(("--sort=", "--cols=", "--columns=", "--width=")):
            if not re.fullmatch(r"[\w%+,-]+", word.partition("=")[2]):
                return unlisted("ps", word)
        elif word.startswith(("--pid=", "--ppid=", "--user=", "--tty=", "--group=")):
            values = True
        elif word.startswith("-") and not word.startswith("--") and len(word) > 1:
            letters = re.match(r"[A-Za-z]+?(?=[oOpPuUCgGts]|$)", word[1:])
            flags = letters[0] if letters else ""
            if word[1] in "oO" or word[1] in _PS_VALUES:
                flags = ""
            value = word[1 + len(flags) :]
            if not set(flags) <= _PS_FLAGS or value[:1] not in ("", "o", "O", *_PS_VALUES):
                return unlisted("ps", word)
            given_flags |= {*flags, *value[:1]}
            if value:
                given = value[1:] or (rest.pop(0) if rest else "")
                if value[0] in "oO":
                    if not _are_fields(given):
                        return unlisted("ps", given)
                elif not re.fullmatch(r"[\w,.:+/-]+", given) or given.startswith("-"):
                    return unlisted("ps", word)
                elif value[0] != "C" and "e" in given:
                    # ps reads a user or terminal that does not exist again, as flags without a dash.
                    return unlisted("ps", f"{word} {given}")
                else:
                    values = True
        elif re.fullmatch(r"\d+", word):
            values = True
        elif word in ("o", "k"):
            only_flags = False
            if not rest or not _are_fields(rest.pop(0)):
                return unlisted("ps", word)
        elif not set(word) <= _PS_BSD:
            if "e" in word:
                said = "`ps e` shows the environments of processes, where secrets may be kept"
                return ask(said, "secret")
            return unlisted("ps", word)
        else:
            only_flags = False
    if "e" in given_flags and (values or not only_flags or not _is_understood(given_flags)):
        # ps reads a line that it does not understand again, as if there were no dash.
        return ask("`ps -e` with other options may be read as `ps e`, which shows environments", "secret")
    return ()


def _is_understood(flags: set[str]) -> bool:
    """Return whether ps accepts `-e` with these flags: one format, and no tree of threads."""
    return (
        flags <= {*"efFljwHLTo"} and len(flags & {*"fFljo"}) <= 1 and not ("H" in flags and flags & {*"LT"})
    )


def _are_fields(text: str) -> bool:
    names = [re.sub(r"[=:].*", "", name).lstrip("+-").lower() for name in re.split(r"[, ]+", text)]
    return all(name in _FIELDS for name in names)


def _who(usage: Usage, workspace: Workspace) -> Reasons:
    if usage.operands in ([], ["am", "i"], ["am", "I"]):
        return ()
    return ask(f"`who` reads {' '.join(usage.operands)}", "option")


def _date(usage: Usage, workspace: Workspace) -> Reasons:
    return ask_each(
        (f"sets the clock to {word}" for word in usage.operands if not word.startswith("+")), "write"
    )


def _top(usage: Usage, workspace: Workspace) -> Reasons:
    if usage.has("-b") and usage.values("-n"):
        # What it shows, environments for instance, is chosen in a file of the home directory.
        return objection_to_home("top", workspace)
    return ask("`top` never ends", "option")


def _numeric(usage: Usage, workspace: Workspace) -> Reasons:
    if usage.has("-n", "--numeric"):
        return ()
    return ask(f"`{usage.name}` without `-n` looks up names over the network", "network")


# The words of a filter, and addresses and ports in digits; any other word may be the name of a host.
_SOCKET_FILTER = re.compile(
    r"[=!<>&|]+|(eq|ne|neq|gt|lt|ge|le|and|or|not|state|exclude|dst|src|dport|sport|autobound|all|connected"
    r"|synchronized|bucket|big|established|syn-sent|syn-recv|fin-wait-[12]|time-wait|closed?|close-wait|last-ack"
    r"|listen(ing)?|closing)|:?\d+|(\d+\.){1,3}\d+(/\d+)?(:\d+)?|\[[0-9a-fA-F:]+\](:\d+)?|\*"
)


def _ss(usage: Usage, workspace: Workspace) -> Reasons:
    for operand in usage.operands:
        for word in re.split(r"[\s()]+", operand):
            if word and not _SOCKET_FILTER.fullmatch(word):
                return ask(f"`ss` may look up a name over the network: {word}", "network")
    return ()


def _counted(usage: Usage, workspace: Workspace) -> Reasons:
    if len(usage.operands) != 1:
        return ()
    return ask(f"`{usage.name}` with an interval and no count never ends", "option")


_IP_OBJECTS = frozenset(
    """
    a addr address l link r route rule n neigh neighbor neighbour maddr maddress mroute tunnel netconf ntable
    """.split()
)
_IP_FLAGS = frozenset(
    """
    -4 -6 -0 -br -brief -j -json -p -pretty -s -stats -statistics -d -details -o -oneline -c -color -h -human
    -V
    """.split()
)


def _ip(words: tuple[str, ...], workspace: Workspace) -> Reasons:
    rest = list(words[1:])
    while rest and rest[0] in _IP_FLAGS:
        rest.pop(0)
    if not rest:
        return ()
    if rest[0] not in _IP_OBJECTS:
        return ask(f"`ip {rest[0]}` is not on the list of its harmless uses", "program")
    if len(rest) == 1 or rest[1] in ("show", "list", "ls", "lst"):
        return ()
    if rest[0] in ("r", "route") and rest[1] == "get" and len(rest) == 3:
        return ()
    return ask(f"`ip {' '.join(rest[:2])}` may change the network", "write")


def _only_processes(usage: Usage, workspace: Workspace) -> Reasons:
    values = usage.values("-o")
    return () if all(re.fullmatch(r"[1-9]\d{0,8}", each) for each in values) else unlisted("pidof", "-o")


PROGRAMS: dict[str, Entry] = {
    "uname": Program(
        options="""
        -a --all -s --kernel-name -n --nodename -r --kernel-release -v --kernel-version -m --machine -p
        --processor -i --hardware-platform -o --operating-system
        """
    ),
    "arch": Program(),
    "whoami": Program(),
    "logname": Program(),
    "hostid": Program(),
    "tty": Program(options="-s --silent --quiet"),
    "users": Program(),
    "groups": Program(operands="TEXT..."),
    "id": Program(
        options="-a -Z --context -g --group -G --groups -n --name -r --real -u --user -z --zero",
        operands="TEXT...",
    ),
    "who": Program(
        options="""
        -a --all -b --boot -d --dead -H --heading --ips -l --login -m -p --process -q --count -r --runlevel -s
        --short -t --time -T -w --mesg --message --writable -u --users
        """,
        operands="TEXT TEXT",
        check=_who,
    ),
    "w": Program(
        options="-h --no-header -u --no-current -s --short -f --from -o --old-style -i --ip-addr -V"
    ),
    "hostname": Program(
        options="-s --short -I --all-ip-addresses -V",
        refused={
            "-F --file -b --boot": "sets the name of the host",
            "-f --fqdn --long -d --domain -i --ip-address -a --alias -A --all-fqdns": "asks a name server",
        },
    ),
    "uptime": Program(options="-p --pretty -s --since -h -V"),
    "nproc": Program(options="--all --ignore=NUMBER"),
    "free": Program(
        options="""
        -b --bytes --kilo --mega --giga --tera --peta -k --kibi -m --mebi -g --gibi --tebi --pebi -h --human
        --si -l --lohi -L --line -t --total -v --committed -w --wide -V
        """,
        refused={"-s --seconds -c --count": "never ends"},
    ),
    "date": Program(
        options="""
        -d=DATE --date=DATE --debug -I[=date|hours|minutes|seconds|ns]
        --iso-8601[=date|hours|minutes|seconds|ns] -R --rfc-email --rfc-2822 --rfc-3339=date|seconds|ns
        -r=LOOK --reference=LOOK --resolution -u --utc --universal
        """,
        operands="TEXT",
        refused={
            "-s --set": "sets the clock",
            "-f --file": "reads dates from a file and prints the lines that are not dates",
        },
        check=_date,
    ),
    "cal": Program(
        options="""
        -1 --one -3 --three -n=NUMBER --months=NUMBER -s --sunday -m --monday -j --julian -y --year -Y
        --twelve -w --week -h -V
        """,
        operands="TEXT TEXT TEXT",
    ),
    "ps": _ps,
    "pgrep": Program(
        options="""
        -a --list-full -c --count -d=TEXT --delimiter=TEXT -f --full -g=TEXT --pgroup=TEXT -G=TEXT
        --group=TEXT -i --ignore-case -l --list-name -n --newest -o --oldest -P=TEXT --parent=TEXT -s=TEXT
        --session=TEXT -t=TEXT --terminal=TEXT -u=TEXT --euid=TEXT -U=TEXT --uid=TEXT -v --inverse -w
        --lightweight -x --exact -V
        """,
        operands="PATTERN",
    ),
    # On some systems it writes to the log and the console about any other option or value.
    "pidof": Program(options="-s -c -x -o=NUMBER", operands="TEXT...", helps=False, check=_only_processes),
    "pstree": Program(
        options="""
        -a --arguments -A --ascii -c --compact-not -h --highlight-all -l --long -n --numeric-sort -p
        --show-pids -s --show-parents -t --thread-names -T --hide-threads -u --uid-changes -U --unicode -V
        """,
        operands="TEXT",
    ),
    "top": Program(
        options="""
        -b -n=NUMBER -c -H -i -o=TEXT -p=TEXT -u=TEXT -U=TEXT -w[=NUMBER] -d=NUMBER -E=TEXT -e=TEXT -1 -s -S
        """,
        check=_top,
        helps=False,
    ),
    "lscpu": Program(
        options="""
        -a --all -b --online -c --offline -B --bytes -C[=TEXT] --caches[=TEXT] -e[=TEXT] --extended[=TEXT] -J
        --json -p[=TEXT] --parse[=TEXT] -x --hex -y --physical --output-all -h -V
        """
    ),
    "lsblk": Program(
        options="""
        -a --all -b --bytes -d --nodeps -D --discard -e=TEXT --exclude=TEXT -f --fs -i --ascii -I=TEXT
        --include=TEXT -J --json -l --list -m --perms -M --merge -n --noheadings -o=TEXT --output=TEXT -O
        --output-all -p --paths -P --pairs -r --raw -s --inverse -S --scsi -t --topology -T[=TEXT]
        --tree[=TEXT] -x=TEXT --sort=TEXT -z --zoned -h -V
        """,
        operands="LOOK...",
    ),
    "lsmem": Program(
        options="-a --all -b --bytes -J --json -n --noheadings -P --pairs -r --raw -o=TEXT -h -V"
    ),
    "lsusb": Program(
        options="-t --tree -s=TEXT -d=TEXT -V", refused={"-v --verbose": "opens devices for writing"}
    ),
    "lspci": Program(options="-m -n -t -v -k -D -P -s=TEXT -d=TEXT"),
    "lsmod": Program(),
    "findmnt": Program(
        options="-A --all -a --ascii -D --df -f --first-only -i --invert -J --json -l --list -n --noheadings "
        "-o=TEXT --output=TEXT -P --pairs -r --raw -R --submounts -t=TEXT --types=TEXT -T=LOOK --target=LOOK "
        "-S=TEXT --source=TEXT -b --bytes -k --kernel -h -V",
        operands="LOOK LOOK",
    ),
    "vmstat": Program(
        options="""
        -a --active -f --forks -m --slabs -n --one-header -s --stats -d --disk -D --disk-sum -S=TEXT
        --unit=TEXT -t --timestamp -w --wide -V
        """,
        operands="NUMBER NUMBER",
        check=_counted,
    ),
    "iostat": Program(
        options="-c -d -h -k -m -N -s -t -x -y -z -V --human", operands="NUMBER NUMBER", check=_counted
    ),
    "mpstat": Program(options="-A -u -V", operands="NUMBER NUMBER", check=_counted),
    "dmesg": Program(
        options="""
        -d --show-delta -e --reltime -f=TEXT --facility=TEXT -J --json -k --kernel -l=TEXT --level=TEXT
        -L[=always|auto|never] --color[=always|auto|never] -P --nopager -p --force-prefix -r --raw -t --notime
        -T --ctime -u --userspace -x --decode -h -V
        --since=DATE --until=DATE --time-format=TEXT
        """,
        refused={
            "-C --clear -c --read-clear": "clears the kernel's log",
            "-w --follow -W --follow-new": "waits for more and never ends",
            "-H --human": "starts a pager",
        },
    ),
    "ss": Program(
        options="""
        -n --numeric -a --all -l --listening -o --options -e --extended -m --memory -p --processes -i --info
        -s --summary -4 --ipv4 -6 --ipv6 -0 --packet -t --tcp -u --udp -w --raw -x --unix -d --dccp -S
        --sctp -H --no-header -O --oneline -h -V
        -A=TEXT --query=TEXT -f=TEXT --family=TEXT -b --bpf -M --mptcp --cgroup --tos
        """,
        operands="TEXT...",
        refused={
            "-K --kill": "closes connections",
            "-r --resolve": "looks up names over the network",
            "-D --diag": "writes a file",
        },
        check=_ss,
    ),
    "netstat": Program(
        options="""
        -n --numeric -a --all -l --listening -p --programs -t --tcp -u --udp -w --raw -x --unix -r --route -i
        --interfaces -s --statistics -e --extend -o --timers -v --verbose -W --wide -4 -6 -V
        -g --groups
        """,
        check=_numeric,
    ),
    "ip": _ip,
    "ifconfig": Program(options="-a -s -v", operands="TEXT", helps=False),
    "locale": Program(
        options="-a --all-locales -c --category-name -k --keyword-name -m --charmaps", operands="TEXT..."
    ),
    "getconf": Program(options="-a", operands="TEXT LOOK"),
    "lsb_release": Program(
        options="-a --all -d --description -r --release -c --codename -i --id -s --short -v"
    ),
    "sw_vers": Program(helps=False),
}
