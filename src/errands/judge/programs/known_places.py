"""Known places: where secrets are kept on a machine, and what may be read nevertheless."""

from __future__ import annotations

# Hidden files in a home directory that may be read; every other hidden file there asks.
HIDDEN = """
.bashrc .bash_profile .bash_logout .bash_aliases .profile .zshrc .zprofile .zlogin .inputrc .vimrc
.vim/vimrc .vim/after .vim/autoload .vim/bundle .vim/colors .vim/ftplugin .vim/pack .vim/plugged .vim/plugin
.tmux.conf .editorconfig .gitignore .gitignore_global .cache/pip .cache/uv .cache/pypoetry .cache/yarn
.cache/go-build .cache/pre-commit .cache/ms-playwright .cache/bazel .cache/ccache .cache/sccache
.cache/huggingface/hub .cache/torch .cache/node .cache/typescript .cache/puppeteer .cache/deno
.cache/golangci-lint .cache/fontconfig .cache/errands .pyenv .nvm .rustup .rbenv .sdkman
.oh-my-zsh/lib .oh-my-zsh/plugins .oh-my-zsh/themes .oh-my-zsh/oh-my-zsh.sh
.local/lib .local/bin .local/share/man .cargo/registry .cargo/bin .npm/_logs .config/nvim .config/git/ignore
.config/fish/config.fish
""".split()

# Where the system keeps secrets.
SYSTEM = """
/etc/shadow* /etc/gshadow* /etc/passwd* /etc/sudoers* /etc/ssl/private /etc/ssh /etc/pki /etc/krb5.keytab
/etc/krb5.conf.d /etc/wireguard /etc/openvpn /etc/ipsec.secrets /etc/ipsec.d /etc/ppp /etc/letsencrypt
/etc/kubernetes /etc/rancher /etc/networkmanager/system-connections /etc/netplan /etc/wpa_supplicant*
/etc/vault* /etc/mysql/debian.cnf /etc/environment /etc/security/opasswd /etc/docker/key.json /etc/ansible
/etc/exim4/passwd* /etc/postfix/sasl* /etc/samba/*.tdb /etc/fstab.creds /etc/credstore* /etc/cups/ssl
/etc/polkit-1 /etc/master.passwd /etc/spwd.db /etc/errands /private/etc/master.passwd /private/var/db
/run/secrets /run/credentials /run/user /run/keys /var/run/secrets /var/lib/docker /var/lib/kubelet
/var/lib/rancher /var/lib/mysql /var/lib/postgresql /var/lib/sss /var/lib/samba/private /var/lib/vault
/var/lib/containerd /var/lib/systemd/credential.secret /var/mail /var/spool /var/db/sudo /var/log/auth.log*
/var/log/secure* /var/log/btmp* /var/backups /var/db/dslocal /var/root /boot/efi /lost+found /etc/gitlab
/etc/gitlab-runner /etc/grafana /etc/redis /etc/sssd /etc/apt/auth.conf* /etc/msmtprc /etc/ssmtp
/etc/swanctl /etc/strongswan* /etc/racoon /etc/freeradius /etc/raddb /etc/snmp /etc/ceph /etc/cloudflared
/etc/consul* /etc/nomad* /etc/borgmatic /etc/corosync/authkey /etc/asterisk /etc/dovecot
/etc/postgresql/pgpass /etc/pgbouncer /etc/rabbitmq /etc/iscsi /etc/crypttab /etc/luks* /etc/pve/priv
/run/cloud-init /var/lib/cloud /var/lib/rabbitmq /var/lib/tailscale /var/lib/iwd /var/lib/jenkins
/var/lib/redis /var/lib/grafana /var/lib/mongodb /var/lib/mongo /var/lib/etcd /var/lib/gitea
/var/lib/libvirt /var/lib/bluetooth /var/lib/tor /var/lib/networkmanager /var/log/journal /var/log/audit
/var/log/installer /var/log/cloud-init-output.log* /var/log/sudo* /var/log/anaconda /var/crash /var/kerberos
/var/vmail /var/opt /var/snap /var/cache/private /var/cache/krb5rcache /var/log/cloud-init.log*
/var/log/azure /var/log/waagent* /var/log/pam_tty* /etc/x11/xdm /var/log/mysql* /var/log/jenkins
/etc/sysconfig/network-scripts/keys-* /boot/grub/user.cfg /boot/grub2/user.cfg /opt/couchdb/etc
""".split()

# What may be read where the system keeps settings and state; everything else there asks.
READABLE = """
/etc/*release* /etc/*_version /etc/*-version /etc/version /etc/hosts* /etc/hostname /etc/host.conf
/etc/resolv.conf /etc/nsswitch.conf /etc/fstab /etc/mtab /etc/group /etc/timezone /etc/localtime
/etc/locale* /etc/default/locale /etc/default/grub /etc/default/useradd /etc/default/keyboard /etc/issue*
/etc/motd* /etc/update-motd.d /etc/shells /etc/services /etc/protocols /etc/networks /etc/ethertypes
/etc/rpc /etc/machine-id /etc/machine-info /etc/subuid /etc/subgid /etc/login.defs /etc/adduser.conf
/etc/ld.so.* /etc/sysctl.* /etc/modules* /etc/modprobe.d /etc/crontab /etc/cron.* /etc/anacrontab
/etc/profile* /etc/bash* /etc/zsh* /etc/inputrc /etc/skel /etc/vim /etc/nanorc /etc/wgetrc
/etc/apt/sources.list* /etc/apt/preferences* /etc/apt/apt.conf* /etc/apt/trusted.gpg.d /etc/apt/keyrings
/etc/yum.repos.d /etc/yum.conf /etc/dnf /etc/pacman.conf /etc/pacman.d/mirrorlist /etc/apk /etc/alternatives
/etc/dpkg /etc/debconf.conf /etc/systemd/*.conf /etc/systemd/system /etc/systemd/user /etc/init.d /etc/rc*
/etc/inittab /etc/logrotate.* /etc/rsyslog.* /etc/security/limits* /etc/pam.d /etc/pam.conf /etc/udev
/etc/tmpfiles.d /etc/nginx /etc/apache2 /etc/httpd /etc/caddy /etc/php /etc/docker/daemon.json
/etc/containers /etc/ssl/certs /etc/ssl/openssl.cnf /etc/ca-certificates* /etc/python* /etc/perl /etc/java*
/etc/gitconfig /etc/gitattributes /etc/manpath.config /etc/man_db.conf /etc/mime.types /etc/magic
/etc/papersize /etc/fonts /etc/x11 /etc/xdg /etc/terminfo /etc/nix /etc/fuse.conf /etc/lsb-base /etc/kernel
/etc/initramfs-tools /etc/screenrc /etc/tmux.conf /etc/sysconfig/network-scripts /etc/sysconfig/selinux
/etc/selinux/config /etc/ntp.conf /etc/chrony.conf /etc/chrony/chrony.conf /etc/netconfig /etc/gai.conf
/etc/paths* /etc/pulse/*.conf /etc/pulse/*.pa /etc/opt /etc/wsl.conf /etc/aliases /etc/mysql/mysql.conf.d
/etc/mysql/conf.d /etc/postgresql /etc/cloud/cloud.cfg /var/lib/dpkg /var/lib/apt /var/lib/pacman
/var/lib/rpm /var/lib/dnf /var/lib/alternatives /var/lib/misc /var/lib/locales /var/lib/systemd/timers
/var/lib/logrotate /var/lib/man-db /var/lib/dhcp /var/lib/python /run/systemd/resolve /run/os-release
/run/motd* /run/utmp /run/reboot-required* /run/*.pid /run/*/*.pid
""".split()

# Of those, settings that may have a password among them.
SERVERS = tuple(
    """
    /etc/nginx /etc/apache2 /etc/httpd /etc/caddy /etc/php /etc/mysql /etc/postgresql /etc/cloud
    /etc/systemd/system /etc/systemd/user /etc/apt/sources.list /etc/apt/apt.conf /etc/yum.repos.d
    /etc/yum.conf /etc/dnf /etc/pacman.conf /etc/pacman.d /etc/apk/repositories /etc/gitconfig /etc/docker
    /etc/containers /etc/nix /etc/opt /etc/screenrc /etc/aliases /etc/init.d /etc/fstab /etc/cron
    /etc/anacrontab /etc/profile.d /etc/rc /etc/wgetrc /etc/xdg /etc/sysconfig /etc/rsyslog
    """.split()
)

# What may be read from the kernel's trees; the rest belongs to other processes, or is memory.
KERNEL = """
/proc/cpuinfo /proc/meminfo /proc/version /proc/loadavg /proc/uptime /proc/stat /proc/mounts
/proc/filesystems /proc/partitions /proc/swaps /proc/diskstats /proc/interrupts /proc/softirqs /proc/vmstat
/proc/zoneinfo /proc/modules /proc/devices /proc/buddyinfo /proc/cgroups /proc/crypto /proc/misc
/proc/mdstat /proc/slabinfo /proc/net/dev /proc/net/route /proc/net/tcp /proc/net/tcp6 /proc/net/udp
/proc/net/udp6 /proc/net/unix /proc/net/arp /proc/net/snmp /proc/net/netstat /proc/net/sockstat
/proc/pressure/cpu /proc/pressure/memory /proc/pressure/io /proc/*/status /proc/*/stat /proc/*/statm
/proc/*/limits /proc/*/cgroup /proc/*/mountinfo /proc/*/mounts /proc/*/io /proc/*/comm /proc/*/schedstat
/proc/*/sched /proc/*/oom_score /proc/*/oom_score_adj /proc/*/loginuid /proc/*/smaps_rollup /proc/*/wchan
/proc/sys/kernel/* /proc/sys/vm/* /proc/sys/fs/* /proc/sys/fs/inotify/* /proc/sys/net/ipv4/*
/proc/sys/net/core/* /sys/class/net/*/* /sys/class/thermal/*/* /sys/class/power_supply/*/*
/sys/class/dmi/id/* /sys/block/*/size /sys/block/*/queue/* /sys/devices/system/cpu/*
/sys/devices/system/cpu/*/* /sys/devices/system/cpu/*/*/* /sys/devices/system/node/*/* /sys/fs/cgroup/*
/sys/fs/cgroup/*/* /sys/kernel/mm/transparent_hugepage/* /sys/kernel/debug /sys/module/*/version /dev/null
/dev/stdin
""".split()
