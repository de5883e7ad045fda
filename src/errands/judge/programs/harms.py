"""Harms: well-known programs that change something, with what they would do.

The table only makes a question precise: a program that is missing here is still asked about.
"""

from __future__ import annotations

from errands.model.record import record
from errands.model.verdict import Reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.verdict import Undo


@record
class Harm:
    """What a program does; `{}` in the text is replaced by the operands, or by `nothing` without any.

    `when` lists options of which one must be given (`-r` also in a bundle such as `-rf`). Of several harms of
    one program the first that applies is reported.
    """

    text: str
    kind: str
    undo: Undo
    when: str
    nothing: str


def harm_of(words: tuple[str, ...]) -> Reason | None:
    """Return what a command would do, by its program and subcommand; None if the table does not know."""
    if words[1:2] and words[1].startswith("-chdir="):
        words = words[:1] + words[2:]  # where terraform works, in front of what it does
    for length in (2, 1):
        for harm in HARMS.get(" ".join(words[:length]), ()) if len(words) >= length else ():
            rest = words[length:]
            if not harm.when or any(_has(rest, option) for option in harm.when.split()):
                operands = shortened(_operands(rest), longest=120) or harm.nothing
                text = harm.text.replace("{}", operands)
                if harm.undo == "no":
                    text += "; cannot be undone"
                return Reason(text=text, undo=harm.undo, kind=harm.kind)
    return None


def shortened(words: list[str], *, longest: int = 80) -> str:
    """Join words for a sentence that a person reads."""
    text = " ".join(words)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _has(words: tuple[str, ...], option: str) -> bool:
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


def does(
    text: str, kind: str, undo: Undo = "unknown", *, when: str = "", nothing: str = "(nothing named)"
) -> Harm:
    return Harm(text=text, kind=kind, undo=undo, when=when, nothing=nothing)


def _each(names: str, *harms: Harm) -> dict[str, tuple[Harm, ...]]:
    return dict.fromkeys(names.split(), harms)


def _uses(programs: str, names: str, *harms: Harm) -> dict[str, tuple[Harm, ...]]:
    return {f"{program} {name}": harms for program in programs.split() for name in names.split()}


_SWITCHES = does("switches environments: {}", "script", nothing="the default one")
FILES = {
    **_each(
        "rm grm",
        does("deletes {} recursively", "delete", "no", when="-r -R --recursive"),
        does("deletes {}", "delete", "no"),
    ),
    **_each("unlink", does("deletes {}", "delete", "no")),
    **_each("rmdir", does("deletes the empty directory {}", "delete", "yes")),
    **_each("shred srm wipe", does("destroys the content of {}", "delete", "no")),
    **_each("trash trash-put gio", does("moves {} to the trash", "delete", "yes")),
    **_each("truncate", does("sets the size of files, cutting off their content: {}", "delete", "no")),
    **_each("dd", does("copies raw blocks: {}", "write", "no")),
    **_each("mv gmv", does("moves files, and may overwrite some: {}", "write")),
    **_each("cp gcp install ditto", does("copies and may overwrite files: {}", "write")),
    **_each(
        "ln",
        does("replaces files with links: {}", "write", "no", when="-f --force"),
        does("creates a link: {}", "write", "yes"),
    ),
    **_each("mkdir", does("creates the directory {}", "write", "yes")),
    **_each("touch", does("creates {} or changes its dates", "write", "yes")),
    **_each("mkfifo mknod", does("creates the special file {}", "write", "yes")),
    **_each("mktemp", does("creates a temporary file", "write", "yes")),
    **_each(
        "tee",
        does("appends to {}", "write", when="-a --append"),
        does("overwrites {}", "write", "no", nothing="no file"),
    ),
    **_each("nohup", does("writes nohup.out if its output is a terminal", "program")),
    **_each("split csplit", does("writes the parts of {} into files", "write")),
    **_each("patch", does("edits files with a patch", "write")),
    **_each("ed ex vi vim nvim nano emacs pico code", does("opens {} in an editor", "write")),
    **_each(
        "chmod",
        does("changes permissions recursively: {}", "write", "no", when="-R --recursive"),
        does("changes permissions: {}", "write"),
    ),
    **_each(
        "chown chgrp",
        does("changes the owner recursively: {}", "write", "no", when="-R --recursive"),
        does("changes the owner: {}", "write"),
    ),
    **_each("chattr setfacl setfattr xattr", does("changes attributes of files: {}", "write")),
    **_each("zip 7z 7za rar ar cpio", does("writes or extracts an archive: {}", "write")),
    **_each("compress lzma zstd", does("replaces {} with a compressed file", "write", "yes")),
    **_each("rename prename", does("renames files: {}", "write", "no")),
    **_each("less more most", does("shows {} in a pager, which waits for a person", "program")),
    **_each("ldd", does("may run {} to see which libraries it loads", "script")),
    **_each("history fc", does("shows or changes the history of commands", "secret")),
    **_each("env", does("shows the environment, where secrets may be kept", "secret")),
}

DISKS = {
    **_each(
        "mkfs mke2fs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.fat mkfs.ntfs "
        "mkfs.f2fs mkswap newfs",
        does("formats {}", "delete", "no"),
    ),
    **_each("wipefs blkdiscard", does("erases {}", "delete", "no")),
    **_each(
        "fdisk sfdisk cfdisk gdisk sgdisk parted diskutil",
        does("changes the partitions of {}", "write", "no"),
    ),
    **_each("mount umount swapon swapoff losetup", does("changes what is mounted: {}", "write")),
    **_each("fsck e2fsck xfs_repair tune2fs resize2fs", does("changes the file system {}", "write", "no")),
    **_each(
        "cryptsetup lvremove vgremove pvremove lvcreate lvresize mdadm zpool zfs btrfs",
        does("changes volumes: {}", "write", "no"),
    ),
}

MACHINE = {
    **_each("kill", does("sends a signal to the process {}", "process")),
    **_each("pkill killall xkill", does("kills every process that matches {}", "process")),
    **_each("reboot shutdown halt poweroff", does("stops or restarts the machine", "process", "no")),
    **_each("init telinit", does("changes what the machine runs", "process")),
    **_each("systemctl service launchctl rc-service", does("controls services: {}", "process")),
    **_each(
        "crontab",
        does("deletes all scheduled commands of this user", "delete", "no", when="-r"),
        does("changes or shows scheduled commands", "write"),
    ),
    **_each("at batch", does("schedules a command for later", "script")),
    **_each("sysctl", does("reads or changes settings of the kernel: {}", "write")),
    **_each("modprobe insmod rmmod", does("changes the kernel: {}", "write")),
    **_each(
        "useradd userdel usermod groupadd groupdel passwd chpasswd chsh visudo adduser deluser",
        does("changes accounts: {}", "write"),
    ),
    **_each("sudo doas su pkexec runuser", does("runs a command with other privileges: {}", "privilege")),
    **_each("iptables ip6tables nft ufw firewall-cmd", does("changes the firewall", "write")),
    **_each("route brctl iwconfig nmcli networksetup", does("may change the network", "write")),
    **_each(
        "hostnamectl timedatectl localectl loginctl",
        does("queries or changes the system's services: {}", "write"),
    ),
    **_each("journalctl", does("shows or removes the system's logs", "secret")),
    **_each("reset tput stty", does("changes the terminal's settings", "program")),
    **_each("yes", does("never stops writing", "program")),
}

NETWORK = {
    **_each(
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
    **_each("wget aria2c", does("downloads {}", "network")),
    **_each("http https xh httpie lynx links w3m", does("talks to the network: {}", "network")),
    **_each("ssh mosh telnet ftp sftp", does("connects to another host: {}", "network")),
    **_each("scp", does("copies over the network: {}", "network")),
    **_each(
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
    **_each("rclone", does("copies to or from other places: {}", "network")),
    **_each("nc ncat netcat socat", does("opens a connection: {}", "network")),
    **_each(
        "ping ping6 dig nslookup host whois traceroute tracepath mtr nmap arp getent resolvectl drill",
        does("queries the network about {}", "network"),
    ),
    **_each("tcpdump tshark wireshark", does("listens to the network", "network")),
    **_each("mail mailx sendmail mutt", does("sends mail: {}", "network", "no")),
    **_each("xdg-open open", does("opens {} in another program", "program")),
    **_uses("openssl", "dgst rand version", does("computes something: {}", "script")),
    **_each(
        "gpg gpg2 openssl age sops pass op vault security keyring ssh-add ssh-keygen ssh-agent",
        does("works with keys or secrets: {}", "secret"),
    ),
}

PACKAGES = {
    **_uses(
        "pip pip3", "install download wheel", does("installs packages, which runs their code: {}", "script")
    ),
    **_uses("pip pip3", "uninstall", does("removes packages: {}", "delete")),
    **_uses(
        "npm pnpm yarn bun",
        "install i ci add update upgrade",
        does("installs packages, which runs their scripts: {}", "script", nothing="those of the project"),
    ),
    **_uses(
        "npm pnpm yarn cargo uv poetry gem hatch flit",
        "publish",
        does("publishes a package", "network", "no"),
    ),
    **_each("twine", does("publishes packages: {}", "network", "no")),
    **{
        f"{program} {use}": (
            does(f"runs a script of the project with {program}: {{}}", "script", nothing=use),
        )
        for program in ("npm", "pnpm", "yarn", "bun", "deno")
        for use in ("run", "test", "start", "exec", "run-script", "task")
    },
    **_each("npx pnpx bunx uvx pipx", does("downloads and runs a package: {}", "script")),
    **_each("yarn pnpm", does("runs the project's package manager", "script")),
    **_each(
        "apt apt-get aptitude yum dnf zypper pacman apk brew port snap flatpak emerge nix nix-env guix",
        does("changes the software of this machine: {}", "network"),
    ),
    **_each("rpm", does("changes the software of this machine: {}", "write")),
    **_uses(
        "conda mamba micromamba",
        "env",
        does("changes environments: {}", "network", when="create remove update config export"),
        does("shows what is installed", "script"),
    ),
    **_uses("conda mamba micromamba apt", "list info", does("shows what is installed", "script")),
    **_uses("conda mamba micromamba", "run", does("runs a command in an environment: {}", "script")),
    **_uses("conda mamba micromamba", "activate deactivate", _SWITCHES),
    **_each("conda mamba micromamba", does("changes environments: {}", "network")),
    **_each(
        "make gmake ninja just task rake gradle mvn ant bazel cmake meson scons tox nox invoke",
        does("runs the recipes of the project: {}", "script", nothing="the default one"),
    ),
    **_each(
        "cargo go rustc javac gcc g++ cc clang tsc webpack vite esbuild dotnet swift stack cabal mix",
        does("builds or runs code: {}", "script"),
    ),
    **_each("pre-commit", does("runs configured hooks, which may edit files", "script")),
    **_each(
        "ruff black isort autopep8 yapf prettier eslint gofmt rustfmt clang-format",
        does("may edit files: {}", "write", nothing="those of the project"),
    ),
    **_each("mypy pylint flake8 pyright coverage", does("runs code that the project configures", "script")),
    **_each("poetry pipenv hatch pdm rye", does("runs or changes the project's environment: {}", "script")),
}

SERVICES = {
    **_uses("docker", "rm rmi prune kill stop", does("removes or stops containers: {}", "delete", "no")),
    **_uses("docker", "run exec build compose", does("runs something in a container: {}", "script")),
    **_each("docker podman nerdctl docker-compose", does("talks to the container service: {}", "program")),
    **_uses("kubectl", "version", does("shows its version", "script", when="--client")),
    **_uses("kubectl", "delete drain", does("deletes from the cluster: {}", "delete", "no")),
    **_each("kubectl oc helm k9s minikube kind", does("talks to a cluster: {}", "network")),
    **_uses(
        "terraform tofu packer",
        "fmt validate version -version graph",
        does("checks or formats files: {}", "script", nothing="here"),
    ),
    **_uses("terraform tofu", "workspace state", does("lists what it manages: {}", "script", when="list")),
    **_uses("helm kubectl", "lint template kustomize", does("renders templates: {}", "script")),
    **_uses("terraform", "destroy", does("destroys infrastructure", "delete", "no")),
    **_uses("terraform", "apply", does("changes infrastructure", "network", "no")),
    **_each(
        "terraform tofu pulumi ansible ansible-playbook packer vagrant",
        does("checks a playbook: {}", "script", when="--syntax-check --list-tasks"),
        does("works on infrastructure: {}", "network"),
    ),
    **_uses("aws", "s3", does("works on stored objects: {}", "network")),
    **_each(
        "aws gcloud az doctl flyctl fly heroku vercel netlify wrangler gsutil",
        does("talks to a cloud: {}", "network"),
    ),
    **_each("gh glab hub", does("talks to a code host: {}", "network")),
    **_each("dropdb", does("deletes the database {}", "delete", "no")),
    **_each("dropuser", does("deletes the database user {}", "delete", "no")),
    **_each("createdb createuser pg_restore", does("changes a database: {}", "write")),
    **_each(
        "psql mysql mariadb sqlite3 mongosh mongo cqlsh clickhouse-client duckdb",
        does("runs statements on a database: {}", "write"),
    ),
    **_each("pg_dump mysqldump mongodump", does("reads a whole database", "secret")),
    **_uses("redis-cli", "FLUSHALL FLUSHDB flushall flushdb", does("deletes the store", "delete", "no")),
    **_each("redis-cli", does("runs commands on a store: {}", "write")),
}

LANGUAGES = {
    **_each(
        "perl ruby php node deno bun lua tclsh osascript Rscript R julia ghci scala groovy pwsh elixir",
        does("runs code: {}", "script", nothing="from its input"),
    ),
    **_each(
        "bash sh zsh dash ksh fish csh tcsh", does("runs a script: {}", "script", nothing="from its input")
    ),
    **_each("eval source . exec", does("runs its operands as code: {}", "script")),
    **_each(
        "export declare typeset local readonly unset set alias unalias shopt enable read mapfile readarray "
        "let complete compgen bind hash getopts",
        does("changes the shell for what follows: {}", "shell", nothing="its variables"),
    ),
    **_each("xargs parallel watch entr", does("runs other commands: {}", "program")),
}

GIT = {
    **_uses(
        "git",
        "push",
        does(
            "overwrites what others have: pushes {} by force",
            "network",
            "no",
            when="-f --force --force-with-lease --mirror --delete -d --prune",
            nothing="the current branch",
        ),
        does("publishes commits: {}", "network", nothing="the current branch"),
    ),
    **_uses(
        "git",
        "reset",
        does(
            "throws away changes and moves the branch to {}",
            "delete",
            "no",
            when="--hard --merge --keep",
            nothing="HEAD",
        ),
        does("moves the branch or the index to {}", "write", nothing="HEAD"),
    ),
    **_uses("git", "clean", does("deletes untracked files", "delete", "no")),
    **_uses(
        "git",
        "checkout switch restore",
        does("changes the work tree and may throw away changes: {}", "write", "no"),
    ),
    **_uses("git", "rebase", does("rewrites commits onto {}", "write", nothing="the upstream branch")),
    **_uses("git", "filter-branch filter-repo", does("rewrites the whole history", "write", "no")),
    **_uses("git", "commit", does("creates a commit and runs hooks", "write")),
    **_uses("git", "merge cherry-pick revert am pull", does("creates commits in this branch: {}", "write")),
    **_uses("git", "fetch ls-remote clone submodule", does("talks to another repository: {}", "network")),
    **_uses(
        "git", "add rm mv apply stage update-index", does("changes the index or the work tree: {}", "write")
    ),
    **_uses("git", "branch", does("deletes the branch {}", "delete", "no", when="-D -d --delete")),
    **_uses("git", "tag", does("deletes the tag {}", "delete", "no", when="-d --delete")),
    **_uses(
        "git",
        "stash",
        does("deletes stashed changes: {}", "delete", "no", when="drop clear"),
        does(
            "takes changes out of the work tree or back into it",
            "write",
            when="push pop apply save branch store create",
        ),
    ),
    **_uses("git", "gc prune repack", does("removes old objects", "delete", "no")),
    **_uses("git", "update-ref", does("changes references: {}", "write", "no")),
    **_uses("git", "init archive bundle format-patch", does("writes files: {}", "write", nothing="here")),
    **_uses("git", "bisect difftool mergetool", does("runs programs or changes the work tree", "script")),
}

HARMS = FILES | DISKS | MACHINE | NETWORK | PACKAGES | SERVICES | LANGUAGES | GIT
