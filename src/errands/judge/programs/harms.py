"""Harms: well-known programs that change something, with what they would do.

The table only makes a question precise: a program that is missing here is still asked about.
"""

from __future__ import annotations

from errands.judge.programs.git_harms import GIT
from errands.judge.programs.harm_entry import does, each, uses
from errands.judge.programs.package_harms import PACKAGES
from errands.judge.shell.tokens import STREAMS
from errands.model.text.regex import regex
from errands.model.verdict import Reason


def harm_of(words: tuple[str, ...]) -> Reason | None:
    """Return what a command would do, by its program and subcommand; None if the table does not know."""
    if words[1:2] and words[1].startswith("-chdir="):
        words = words[:1] + words[2:]  # where terraform works, in front of what it does
    for length in (2, 1):
        for harm in HARMS.get(" ".join(words[:length]), ()) if len(words) >= length else ():
            rest = _without_streams(words[0], words[length:])
            if not harm.when or any(_has(rest, option) for option in harm.when.split()):
                operands = shortened(_operands(rest), longest=120) or harm.nothing
                text = harm.text.replace("{}", operands)
                if harm.undo == "no":
                    text += "; cannot be undone"
                return Reason(text=text, undo=harm.undo, kind=harm.kind)
    return None


def _without_streams(name: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """Return words without streams, which are open anyway: `curl -so /dev/null`, `tee /dev/stderr FILE`."""
    if name == "tee":
        others = tuple(word for word in words if word not in STREAMS)
        return others if _operands(others) else words
    if name != "curl":
        return words
    found: list[str] = []
    for word in words:
        if word in STREAMS and found and (told := _OUTPUT.fullmatch(found[-1])):
            found[-1:] = [told[1]] if told[1] not in (None, "-") else []
        elif not _JOINED_OUTPUT.fullmatch(word):
            found.append(word)
    return tuple(found)


def shortened(words: list[str], *, longest: int = 80) -> str:
    """Join words for a sentence that a person reads."""
    text = " ".join(words)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _has(words: tuple[str, ...], option: str) -> bool:
    if option == "()":
        return not _operands(words)
    if option.startswith("-") and "--" in words:
        words = words[: words.index("--")]
    if option.startswith("--") or not option.startswith("-") or len(option) > 2:
        return any(word == option or word.startswith(option + "=") for word in words)
    return any(word[:1] == "-" and word[:2] != "--" and option[1] in word[1:] for word in words)


def _operands(words: tuple[str, ...]) -> list[str]:
    found, separated = [], False
    for word in words:
        if word == "--" and not separated:
            separated = True
        elif separated or not word.startswith("-") or word == "-":
            found.append(word)
    return found


# Behind walls these find nothing, so an agent would believe that a port is free or a file unused.
_LOOKS_INTO_PROCESSES = does(
    "looks into other processes, which walls would hide from it; `ss -tln` shows listening ports at once, "
    "and `ps -ef` what runs",
    "process",
)
_OUTPUT = regex(r"(-[A-Za-z#]*)o|--output")
_JOINED_OUTPUT = regex(rf"(?:-o|--output=)(?:{'|'.join(STREAMS)})")
FILES = {
    **each(
        "rm grm",
        does("deletes {} recursively", "delete", "no", when="-r -R --recursive"),
        does("deletes {}", "delete", "no"),
    ),
    **each("unlink", does("deletes {}", "delete", "no")),
    **each("rmdir", does("deletes the empty directory {}", "delete", "yes")),
    **each("shred srm wipe", does("destroys the content of {}", "delete", "no")),
    **each("trash trash-put gio", does("moves {} to the trash", "delete", "yes")),
    **each("truncate", does("sets the size of files, cutting off their content: {}", "delete", "no")),
    **each("dd", does("copies raw blocks: {}", "write", "no")),
    **each("mv gmv", does("moves files, and may overwrite some: {}", "write")),
    **each("cp gcp install ditto", does("copies and may overwrite files: {}", "write")),
    **each(
        "ln",
        does("replaces files with links: {}", "write", "no", when="-f --force"),
        does("creates a link: {}", "write", "yes"),
    ),
    **each("mkdir", does("creates the directory {}", "write", "yes")),
    **each("touch", does("creates {} or changes its dates", "write", "yes")),
    **each("mkfifo mknod", does("creates the special file {}", "write", "yes")),
    **each("mktemp", does("creates a temporary file", "write", "yes")),
    **each(
        "tee",
        does("writes to {}", "program", when=" ".join(STREAMS)),
        does("appends to {}", "write", when="-a --append"),
        does("overwrites {}", "write", "no", nothing="no file"),
    ),
    **each("nohup", does("writes nohup.out if its output is a terminal", "program")),
    **each("split csplit", does("writes the parts of {} into files", "write")),
    **each("patch", does("edits files with a patch", "write")),
    **each("ed ex vi vim nvim nano emacs pico code", does("opens {} in an editor", "write")),
    **each(
        "chmod",
        does("changes permissions recursively: {}", "write", "no", when="-R --recursive"),
        does("changes permissions: {}", "write"),
    ),
    **each(
        "chown chgrp",
        does("changes the owner recursively: {}", "write", "no", when="-R --recursive"),
        does("changes the owner: {}", "write"),
    ),
    **each("chattr setfacl setfattr xattr", does("changes attributes of files: {}", "write")),
    **each("zip 7z 7za rar ar cpio", does("writes or extracts an archive: {}", "write")),
    **each("compress lzma zstd", does("replaces {} with a compressed file", "write", "yes")),
    **each("rename prename", does("renames files: {}", "write", "no")),
    **each("less more most", does("shows {} in a pager, which waits for a person at a terminal", "program")),
    **each("ldd", does("may run {} to see which libraries it loads", "script")),
    **each("history fc", does("shows or changes the history of commands", "secret")),
    **each("env", does("shows the environment, where secrets may be kept", "secret")),
}

DISKS = {
    **each(
        "mkfs mke2fs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.fat mkfs.ntfs "
        "mkfs.f2fs mkswap newfs",
        does("formats {}", "delete", "no"),
    ),
    **each("wipefs blkdiscard", does("erases {}", "delete", "no")),
    **each(
        "fdisk sfdisk cfdisk gdisk sgdisk parted diskutil",
        does("changes the partitions of {}", "write", "no"),
    ),
    **each("mount umount swapon swapoff losetup", does("changes what is mounted: {}", "write")),
    **each("fsck e2fsck xfs_repair tune2fs resize2fs", does("changes the file system {}", "write", "no")),
    **each(
        "cryptsetup lvremove vgremove pvremove lvcreate lvresize mdadm zpool zfs btrfs",
        does("changes volumes: {}", "write", "no"),
    ),
}

MACHINE = {
    **each("kill", does("sends a signal to the process {}", "process")),
    **each("pkill killall xkill", does("kills every process that matches {}", "process")),
    **each(
        "fuser",
        does("sends a signal to every process that uses {}", "process", when="-k --kill"),
        _LOOKS_INTO_PROCESSES,
    ),
    **each("lsof pwdx pmap", _LOOKS_INTO_PROCESSES),
    **each("reboot shutdown halt poweroff", does("stops or restarts the machine", "process", "no")),
    **each("init telinit", does("changes what the machine runs", "process")),
    **each("systemctl service launchctl rc-service", does("controls services: {}", "process")),
    **each(
        "crontab",
        does("deletes all scheduled commands of this user", "delete", "no", when="-r"),
        does("changes or shows scheduled commands", "write"),
    ),
    **each("at batch", does("schedules a command for later", "script")),
    **each("sysctl", does("reads or changes settings of the kernel: {}", "write")),
    **each("modprobe insmod rmmod", does("changes the kernel: {}", "write")),
    **each(
        "useradd userdel usermod groupadd groupdel passwd chpasswd chsh visudo adduser deluser",
        does("changes accounts: {}", "write"),
    ),
    **each("sudo doas su pkexec runuser", does("runs a command with other privileges: {}", "privilege")),
    **each("iptables ip6tables nft ufw firewall-cmd", does("changes the firewall", "write")),
    **each("route brctl iwconfig nmcli networksetup", does("may change the network", "write")),
    **each(
        "hostnamectl timedatectl localectl loginctl",
        does("queries or changes the system's services: {}", "write"),
    ),
    **each("journalctl", does("shows or removes the system's logs", "secret")),
    **each("reset tput stty", does("changes the terminal's settings", "program")),
    **each("yes", does("never stops writing", "program")),
}

NETWORK = {
    **each(
        "curl",
        does(
            "sends something over the network: {}",
            "network",
            when="-d -F -T -X --data --data-binary --data-raw "
            "--data-urlencode --form --upload-file --request --json",
        ),
        does(
            "fetches over the network and writes a file: {}", "network", when="-o -O --output --remote-name"
        ),
        does("talks to the network: {}", "network"),
    ),
    **each("wget aria2c", does("downloads {}", "network")),
    **each("http https xh httpie lynx links w3m", does("talks to the network: {}", "network")),
    **each("ssh mosh telnet ftp sftp", does("connects to another host: {}", "network")),
    **each("scp", does("copies over the network: {}", "network")),
    **each(
        "rsync",
        does(
            "copies, and deletes what is not at the source: {}",
            "delete",
            "no",
            when="--delete --delete-before "
            "--delete-after --delete-during --delete-excluded --remove-source-files",
        ),
        does("copies and may overwrite files: {}", "write"),
    ),
    **each("rclone", does("copies to or from other places: {}", "network")),
    **each("nc ncat netcat socat", does("opens a connection: {}", "network")),
    **each(
        "ping ping6 dig nslookup host whois traceroute tracepath mtr nmap arp getent resolvectl drill",
        does("queries the network about {}", "network"),
    ),
    **each("tcpdump tshark wireshark", does("listens to the network", "network")),
    **each("mail mailx sendmail mutt", does("sends mail: {}", "network", "no")),
    **each("xdg-open open", does("opens {} in another program", "program")),
    **uses("openssl", "dgst rand version", does("computes something: {}", "script")),
    **each(
        "gpg gpg2 openssl age sops pass op vault security keyring ssh-add ssh-keygen ssh-agent",
        does("works with keys or secrets: {}", "secret"),
    ),
}

SERVICES = {
    **uses("docker", "rm rmi prune kill stop", does("removes or stops containers: {}", "delete", "no")),
    **uses("docker", "run exec build compose", does("runs something in a container: {}", "script")),
    **each("docker podman nerdctl docker-compose", does("talks to the container service: {}", "program")),
    **uses("kubectl", "version", does("shows its version", "script", when="--client")),
    **uses("kubectl", "delete drain", does("deletes from the cluster: {}", "delete", "no")),
    **each("kubectl oc helm k9s minikube kind", does("talks to a cluster: {}", "network")),
    **uses(
        "terraform tofu packer",
        "fmt validate version -version graph",
        does("checks or formats files: {}", "script", nothing="here"),
    ),
    **uses("terraform tofu", "workspace state", does("lists what it manages: {}", "script", when="list")),
    **uses("helm kubectl", "lint template kustomize", does("renders templates: {}", "script")),
    **uses("terraform", "destroy", does("destroys infrastructure", "delete", "no")),
    **uses("terraform", "apply", does("changes infrastructure", "network", "no")),
    **each(
        "terraform tofu pulumi ansible ansible-playbook packer vagrant",
        does("checks a playbook: {}", "script", when="--syntax-check --list-tasks"),
        does("works on infrastructure: {}", "network"),
    ),
    **uses("aws", "s3", does("works on stored objects: {}", "network")),
    **each(
        "aws gcloud az doctl flyctl fly heroku vercel netlify wrangler gsutil",
        does("talks to a cloud: {}", "network"),
    ),
    **each("gh glab hub", does("talks to a code host: {}", "network")),
    **each("dropdb", does("deletes the database {}", "delete", "no")),
    **each("dropuser", does("deletes the database user {}", "delete", "no")),
    **each("createdb createuser pg_restore", does("changes a database: {}", "write")),
    **each(
        "psql mysql mariadb sqlite3 mongosh mongo cqlsh clickhouse-client duckdb",
        does("runs statements on a database: {}", "write"),
    ),
    **each("pg_dump mysqldump mongodump", does("reads a whole database", "secret")),
    **uses("redis-cli", "FLUSHALL FLUSHDB flushall flushdb", does("deletes the store", "delete", "no")),
    **each("redis-cli", does("runs commands on a store: {}", "write")),
}

LANGUAGES = {
    **each(
        "perl ruby php node deno bun lua tclsh osascript Rscript R julia ghci scala groovy pwsh elixir",
        does("runs code: {}", "script", nothing="from its input"),
    ),
    **each(
        "bash sh zsh dash ksh fish csh tcsh", does("runs a script: {}", "script", nothing="from its input")
    ),
    **each("eval source . exec", does("runs its operands as code: {}", "script")),
    **each(
        "export declare typeset local readonly unset set alias unalias shopt enable read mapfile readarray "
        "let complete compgen bind hash getopts",
        does("changes the shell for what follows: {}", "shell", nothing="its variables"),
    ),
    **each(
        "claude codex gemini opencode aider cursor-agent",
        does("starts another agent, which needs the network: {}", "program", nothing="without a task"),
    ),
    **each("xargs parallel watch entr", does("runs other commands: {}", "program")),
}

HARMS = FILES | DISKS | MACHINE | NETWORK | PACKAGES | SERVICES | LANGUAGES | GIT
