"""Harms: well-known programs that change something, with what they would do.

The table only makes a question precise: what is not in it is asked about all the same.
"""

from __future__ import annotations

from errands.judge.programs.harm import Harm


def _each(names: str, *harms: Harm) -> dict[str, tuple[Harm, ...]]:
    return dict.fromkeys(names.split(), harms)


def _uses(program: str, names: str, *harms: Harm) -> dict[str, tuple[Harm, ...]]:
    return {f"{program} {name}": harms for name in names.split()}


FILES = {
    **_each(
        "rm grm",
        Harm(text="deletes {} recursively", kind="delete", undo="no", when="-r -R --recursive"),
        Harm(text="deletes {}", kind="delete", undo="no"),
    ),
    **_each("unlink", Harm(text="deletes {}", kind="delete", undo="no")),
    **_each("rmdir", Harm(text="deletes the empty directory {}", kind="delete", undo="yes")),
    **_each("shred srm wipe", Harm(text="destroys the content of {}", kind="delete", undo="no")),
    **_each("trash trash-put gio", Harm(text="moves {} to the trash", kind="delete", undo="yes")),
    **_each("truncate", Harm(text="cuts off the content of {}", kind="delete", undo="no")),
    **_each("dd", Harm(text="copies raw blocks: {}", kind="write", undo="no")),
    **_each("mv gmv", Harm(text="moves files, and may overwrite some: {}", kind="write")),
    **_each("cp gcp install ditto", Harm(text="copies and may overwrite files: {}", kind="write")),
    **_each(
        "ln",
        Harm(text="replaces files by links: {}", kind="write", undo="no", when="-f --force"),
        Harm(text="creates a link: {}", kind="write", undo="yes"),
    ),
    **_each("mkdir", Harm(text="creates the directory {}", kind="write", undo="yes")),
    **_each("touch", Harm(text="creates {} or changes its dates", kind="write", undo="yes")),
    **_each("mkfifo mknod", Harm(text="creates the special file {}", kind="write", undo="yes")),
    **_each("mktemp", Harm(text="creates a temporary file", kind="write", undo="yes")),
    **_each(
        "tee",
        Harm(text="appends to {}", kind="write", when="-a --append"),
        Harm(text="overwrites {}", kind="write", undo="no", nothing="no file"),
    ),
    **_each("split csplit", Harm(text="writes the parts of {} into files", kind="write")),
    **_each("patch", Harm(text="edits files by a patch", kind="write")),
    **_each("ed ex vi vim nvim nano emacs pico code", Harm(text="opens {} in an editor", kind="write")),
    **_each(
        "chmod",
        Harm(
            text="changes the permissions of {} recursively", kind="write", undo="no", when="-R --recursive"
        ),
        Harm(text="changes permissions: {}", kind="write"),
    ),
    **_each(
        "chown chgrp",
        Harm(text="changes the owner of {} recursively", kind="write", undo="no", when="-R --recursive"),
        Harm(text="changes the owner: {}", kind="write"),
    ),
    **_each("chattr setfacl setfattr xattr", Harm(text="changes attributes of files: {}", kind="write")),
    **_each("zip 7z 7za rar ar cpio", Harm(text="writes or extracts an archive: {}", kind="write")),
    **_each("compress lzma zstd", Harm(text="replaces {} by a packed file", kind="write", undo="yes")),
    **_each("rename prename", Harm(text="renames files: {}", kind="write", undo="no")),
    **_each("less more most", Harm(text="shows {} in a pager, which waits for a person", kind="program")),
    **_each("ldd", Harm(text="may run {} to see which libraries it loads", kind="script")),
    **_each("history fc", Harm(text="shows or changes the history of commands", kind="secret")),
    **_each("env", Harm(text="shows the environment, where secrets may be kept", kind="secret")),
}

DISKS = {
    **_each(
        "mkfs mke2fs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.fat mkfs.ntfs "
        "mkfs.f2fs mkswap newfs",
        Harm(text="formats {}", kind="delete", undo="no"),
    ),
    **_each("wipefs blkdiscard", Harm(text="erases {}", kind="delete", undo="no")),
    **_each(
        "fdisk sfdisk cfdisk gdisk sgdisk parted diskutil",
        Harm(text="works on the partitions of {}", kind="write", undo="no"),
    ),
    **_each("mount umount swapon swapoff losetup", Harm(text="changes what is mounted: {}", kind="write")),
    **_each(
        "fsck e2fsck xfs_repair tune2fs resize2fs",
        Harm(text="changes the file system {}", kind="write", undo="no"),
    ),
    **_each(
        "cryptsetup lvremove vgremove pvremove lvcreate lvresize mdadm zpool zfs btrfs",
        Harm(text="changes volumes: {}", kind="write", undo="no"),
    ),
}

MACHINE = {
    **_each("kill", Harm(text="sends a signal to the process {}", kind="process")),
    **_each("pkill killall xkill", Harm(text="ends every process that matches {}", kind="process")),
    **_each(
        "reboot shutdown halt poweroff", Harm(text="stops or restarts the machine", kind="process", undo="no")
    ),
    **_each("init telinit", Harm(text="changes what the machine runs", kind="process")),
    **_each("systemctl service launchctl rc-service", Harm(text="controls services: {}", kind="process")),
    **_each(
        "crontab",
        Harm(text="deletes all scheduled commands of this user", kind="delete", undo="no", when="-r"),
        Harm(text="changes or shows scheduled commands", kind="write"),
    ),
    **_each("at batch", Harm(text="plans a command for later", kind="script")),
    **_each("sysctl", Harm(text="reads or changes settings of the kernel: {}", kind="write")),
    **_each("modprobe insmod rmmod", Harm(text="changes the kernel: {}", kind="write")),
    **_each(
        "useradd userdel usermod groupadd groupdel passwd chpasswd chsh visudo adduser deluser",
        Harm(text="changes accounts: {}", kind="write"),
    ),
    **_each(
        "sudo doas su pkexec runuser", Harm(text="runs a command with other rights: {}", kind="privilege")
    ),
    **_each("iptables ip6tables nft ufw firewall-cmd", Harm(text="changes the firewall", kind="write")),
    **_each("route brctl iwconfig nmcli networksetup", Harm(text="may change the network", kind="write")),
    **_each(
        "hostnamectl timedatectl localectl loginctl",
        Harm(text="asks or changes the system's services: {}", kind="write"),
    ),
    **_each("journalctl", Harm(text="shows or removes the system's logs", kind="secret")),
    **_each("reset tput stty", Harm(text="drives the terminal", kind="program")),
    **_each("yes", Harm(text="writes without an end", kind="program")),
}

NETWORK = {
    **_each(
        "curl",
        Harm(
            text="sends something over the network: {}",
            kind="network",
            when="-d -F -T -X --data --data-binary --data-raw "
            "--data-urlencode --form --upload-file --request --json",
        ),
        Harm(
            text="fetches over the network and writes a file: {}",
            kind="network",
            when="-o -O --output --remote-name",
        ),
        Harm(text="talks to the network: {}", kind="network"),
    ),
    **_each("wget aria2c", Harm(text="downloads {}", kind="network")),
    **_each("http https xh httpie lynx links w3m", Harm(text="talks to the network: {}", kind="network")),
    **_each("ssh mosh telnet ftp sftp", Harm(text="connects to another host: {}", kind="network")),
    **_each("scp", Harm(text="copies over the network: {}", kind="network")),
    **_each(
        "rsync",
        Harm(
            text="copies, and deletes what is not at the source: {}",
            kind="delete",
            undo="no",
            when="--delete --delete-before "
            "--delete-after --delete-during --delete-excluded --remove-source-files",
        ),
        Harm(text="copies and may overwrite files: {}", kind="write"),
    ),
    **_each("rclone", Harm(text="copies to or from other places: {}", kind="network")),
    **_each("nc ncat netcat socat", Harm(text="opens a connection: {}", kind="network")),
    **_each(
        "ping ping6 dig nslookup host whois traceroute tracepath mtr nmap arp getent resolvectl drill",
        Harm(text="asks the network about {}", kind="network"),
    ),
    **_each("tcpdump tshark wireshark", Harm(text="listens to the network", kind="network")),
    **_each("mail mailx sendmail mutt", Harm(text="sends mail: {}", kind="network", undo="no")),
    **_each("xdg-open open", Harm(text="opens {} in another program", kind="program")),
    **_each(
        "gpg gpg2 openssl age sops pass op vault security keyring ssh-add ssh-keygen ssh-agent",
        Harm(text="works with keys or secrets: {}", kind="secret"),
    ),
}

PACKAGES = {
    **_uses(
        "pip",
        "install download wheel",
        Harm(text="installs packages, which runs their code: {}", kind="script"),
    ),
    **_uses(
        "pip3",
        "install download wheel",
        Harm(text="installs packages, which runs their code: {}", kind="script"),
    ),
    **_uses("pip", "uninstall", Harm(text="removes packages: {}", kind="delete")),
    **_uses("pip3", "uninstall", Harm(text="removes packages: {}", kind="delete")),
    **{
        f"{program} {use}": (
            Harm(
                text="installs packages, which runs their scripts: {}",
                kind="script",
                nothing="those of the project",
            ),
        )
        for program in ("npm", "pnpm", "yarn", "bun")
        for use in ("install", "i", "ci", "add", "update", "upgrade")
    },
    **{
        f"{program} publish": (Harm(text="publishes a package to everybody", kind="network", undo="no"),)
        for program in ("npm", "pnpm", "yarn", "cargo", "uv", "poetry", "gem", "hatch", "flit")
    },
    **_each("twine", Harm(text="publishes packages to everybody: {}", kind="network", undo="no")),
    **{
        f"{program} {use}": (
            Harm(text=f"runs a script of the project with {program}: {{}}", kind="script", nothing=use),
        )
        for program in ("npm", "pnpm", "yarn", "bun", "deno")
        for use in ("run", "test", "start", "exec", "run-script", "task")
    },
    **_each("npx pnpx bunx uvx pipx", Harm(text="downloads and runs a package: {}", kind="script")),
    **_each("yarn pnpm", Harm(text="runs the project's package manager", kind="script")),
    **_each(
        "apt apt-get aptitude yum dnf zypper pacman apk brew port snap flatpak emerge nix nix-env guix",
        Harm(text="changes the software of this machine: {}", kind="network"),
    ),
    **_each("rpm", Harm(text="changes the software of this machine: {}", kind="write")),
    **_each("conda mamba micromamba", Harm(text="changes environments: {}", kind="network")),
    **_each(
        "make gmake ninja just task rake gradle mvn ant bazel cmake meson scons tox nox invoke",
        Harm(text="runs the recipes of the project: {}", kind="script", nothing="the default one"),
    ),
    **_each(
        "cargo go rustc javac gcc g++ cc clang tsc webpack vite esbuild dotnet swift stack cabal mix",
        Harm(text="builds or runs code: {}", kind="script"),
    ),
    **_each("pre-commit", Harm(text="runs configured hooks, which may edit files", kind="script")),
    **_each(
        "ruff black isort autopep8 yapf prettier eslint gofmt rustfmt clang-format",
        Harm(text="may edit files: {}", kind="write", nothing="those of the project"),
    ),
    **_each(
        "mypy pylint flake8 pyright coverage",
        Harm(text="runs code that the project configures", kind="script"),
    ),
    **_each(
        "poetry pipenv hatch pdm rye",
        Harm(text="runs or changes the project's environment: {}", kind="script"),
    ),
}

SERVICES = {
    **_uses(
        "docker",
        "rm rmi prune kill stop",
        Harm(text="removes or stops containers: {}", kind="delete", undo="no"),
    ),
    **_uses(
        "docker", "run exec build compose", Harm(text="runs something in a container: {}", kind="script")
    ),
    **_each(
        "docker podman nerdctl docker-compose",
        Harm(text="talks to the container service: {}", kind="program"),
    ),
    **_uses("kubectl", "delete drain", Harm(text="deletes from the cluster: {}", kind="delete", undo="no")),
    **_each("kubectl oc helm k9s minikube kind", Harm(text="talks to a cluster: {}", kind="network")),
    **_uses("terraform", "destroy", Harm(text="destroys infrastructure", kind="delete", undo="no")),
    **_uses("terraform", "apply", Harm(text="changes infrastructure", kind="network", undo="no")),
    **_each(
        "terraform tofu pulumi ansible ansible-playbook packer vagrant",
        Harm(text="works on infrastructure: {}", kind="network"),
    ),
    **_uses("aws", "s3", Harm(text="works on stored objects: {}", kind="network")),
    **_each(
        "aws gcloud az doctl flyctl fly heroku vercel netlify wrangler gsutil",
        Harm(text="talks to a cloud: {}", kind="network"),
    ),
    **_each("gh glab hub", Harm(text="talks to a code host: {}", kind="network")),
    **_each("dropdb", Harm(text="deletes the database {}", kind="delete", undo="no")),
    **_each("dropuser", Harm(text="deletes the database user {}", kind="delete", undo="no")),
    **_each("createdb createuser pg_restore", Harm(text="changes a database: {}", kind="write")),
    **_each(
        "psql mysql mariadb sqlite3 mongosh mongo cqlsh clickhouse-client duckdb",
        Harm(text="runs statements on a database: {}", kind="write"),
    ),
    **_each("pg_dump mysqldump mongodump", Harm(text="reads a whole database", kind="secret")),
    **_uses(
        "redis-cli",
        "FLUSHALL FLUSHDB flushall flushdb",
        Harm(text="deletes everything in the store", kind="delete", undo="no"),
    ),
    **_each("redis-cli", Harm(text="runs commands on a store: {}", kind="write")),
}

LANGUAGES = {
    **_each(
        "perl ruby php node deno bun lua tclsh osascript Rscript R julia ghci scala groovy pwsh elixir",
        Harm(text="runs code: {}", kind="script", nothing="from its input"),
    ),
    **_each(
        "bash sh zsh dash ksh fish csh tcsh",
        Harm(text="runs a script: {}", kind="script", nothing="from its input"),
    ),
    **_each("eval source . exec", Harm(text="runs what it is given: {}", kind="script")),
    **_each(
        "export declare typeset local readonly unset set alias unalias shopt enable read mapfile readarray "
        "let complete compgen bind hash getopts",
        Harm(text="changes the shell for what follows: {}", kind="shell", nothing="its variables"),
    ),
    **_each("xargs parallel watch entr", Harm(text="runs other commands: {}", kind="program")),
}

GIT = {
    **_uses(
        "git",
        "push",
        Harm(
            text="overwrites what others have: pushes {} by force",
            kind="network",
            undo="no",
            when="-f --force --force-with-lease --mirror --delete -d --prune",
            nothing="the branch",
        ),
        Harm(text="publishes commits: {}", kind="network", nothing="the branch"),
    ),
    **_uses(
        "git",
        "reset",
        Harm(
            text="throws away changes and moves the branch to {}",
            kind="delete",
            undo="no",
            when="--hard --merge --keep",
            nothing="HEAD",
        ),
        Harm(text="moves the branch or the index to {}", kind="write", nothing="HEAD"),
    ),
    **_uses("git", "clean", Harm(text="deletes untracked files", kind="delete", undo="no")),
    **_uses(
        "git",
        "checkout switch restore",
        Harm(text="changes the work tree and may throw away changes: {}", kind="write", undo="no"),
    ),
    **_uses(
        "git", "rebase", Harm(text="rewrites commits onto {}", kind="write", nothing="the upstream branch")
    ),
    **_uses(
        "git", "filter-branch filter-repo", Harm(text="rewrites the whole history", kind="write", undo="no")
    ),
    **_uses("git", "commit", Harm(text="creates a commit and runs hooks", kind="write")),
    **_uses(
        "git",
        "merge cherry-pick revert am pull",
        Harm(text="creates commits in this branch: {}", kind="write"),
    ),
    **_uses(
        "git", "fetch ls-remote clone submodule", Harm(text="talks to another repository: {}", kind="network")
    ),
    **_uses(
        "git",
        "add rm mv apply stage update-index",
        Harm(text="changes the index or the work tree: {}", kind="write"),
    ),
    **_uses(
        "git",
        "branch",
        Harm(text="deletes the branch {}", kind="delete", undo="no", when="-D -d --delete"),
    ),
    **_uses("git", "tag", Harm(text="deletes the tag {}", kind="delete", undo="no", when="-d --delete")),
    **_uses(
        "git",
        "stash",
        Harm(text="deletes stashed changes: {}", kind="delete", undo="no", when="drop clear"),
        Harm(
            text="takes changes out of the work tree or back into it",
            kind="write",
            when="push pop apply save branch store create",
        ),
    ),
    **_uses("git", "gc prune repack", Harm(text="removes old objects", kind="delete", undo="no")),
    **_uses("git", "update-ref", Harm(text="changes references: {}", kind="write", undo="no")),
    **_uses(
        "git", "init archive bundle format-patch", Harm(text="writes files: {}", kind="write", nothing="here")
    ),
    **_uses(
        "git", "bisect difftool mergetool", Harm(text="runs programs or changes the work tree", kind="script")
    ),
}

HARMS = FILES | DISKS | MACHINE | NETWORK | PACKAGES | SERVICES | LANGUAGES | GIT
