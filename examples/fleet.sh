#!/usr/bin/env bash
# A fleet of three hosts on this machine: starts PostgreSQL and three homes in a temporary folder, runs something on
# each host, kills one of them in the middle of a task, and removes everything again. Needs the extra hosts and
# PostgreSQL, which need not run. `make fleet` in a checkout gets both.
#
# examples/fleet.sh [LEASE]: seconds for which a host counts as alive without a word from it (default 30, as in any fleet)
set -euo pipefail

lease=${1:-30}
errands=${ERRANDS:-errands}
case $lease in
'' | *[!0-9]*) echo "the lease is a number of seconds, such as 30 (got '$lease')" >&2; exit 2 ;;
esac
[ "$lease" -ge 6 ] || { echo "the lease is at least 6 seconds (got $lease)" >&2; exit 2; }
tools=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
PATH=${tools:+$tools:}$PATH
for program in "$errands" initdb postgres psql; do
    command -v "$program" >/dev/null || {
        echo "$program is not installed: install PostgreSQL (apt install postgresql) and errands (pip install '.[hosts]' in its clone)" >&2
        exit 2
    }
done

base=$(mktemp -d /tmp/errands-fleet.XXXXXX)
as=()
if [ "$(id -u)" = 0 ]; then # PostgreSQL refuses root
    user=$(id -un postgres 2>/dev/null || echo nobody)
    as=(setpriv "--reuid=$user" "--regid=$(id -g "$user")" --clear-groups)
    chmod 711 "$base"
fi
# Nothing of the caller's own home or configuration is used.
for name in $(compgen -e ERRANDS_); do unset "$name"; done
export HOME="$base" XDG_CONFIG_HOME="$base/config" FLEET_URL="postgresql://postgres@/fleet?host=$base/database"

mkdir -p "$base/config/errands"
printf '[schedules]\nbackoff = "1s"\n' >"$base/config/errands/config.toml" # between a failure and the next attempt

bold='' plain=''
[ ! -t 1 ] || bold=$'\033[1m' plain=$'\033[0m'

# on HOST VERB ...: a command of one of the three homes
on() { ERRANDS_HOME="$base/$1" "$errands" "${@:2}"; }
show() {
    local word
    printf '\n%s[%s] $ errands' "$bold" "$1"
    for word in "${@:2}"; do
        case $word in *[!a-zA-Z0-9_:./=-]*) word=${word@Q} ;; esac
        printf ' %s' "$word"
    done
    printf '%s\n' "$plain"
    on "$@"
}
say() { printf '\n%s# %s%s\n' "$bold" "$*" "$plain"; }
sql() { psql -q -d "$FLEET_URL" -c "$1"; }

clean_up() {
    trap - EXIT
    for host in laptop red blue; do
        [ ! -d "$base/$host" ] || {
            on "$host" ls --json=id | sed 's/.*"id": "\(.*\)".*/\1/' | while read -r task; do on "$host" cancel "$task"; done
            on "$host" daemon stop
        } >/dev/null 2>&1 || true
    done
    [ -z "${server:-}" ] || { kill -INT "$server" && wait "$server"; } 2>/dev/null || true
    rm -rf "$base"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say "PostgreSQL, in $base"
mkdir "$base/database"
[ ${#as[@]} = 0 ] || chown "$user" "$base/database"
(cd "$base/database" && "${as[@]}" initdb -D "$base/database/data" -U postgres -A trust -E UTF8 --locale=C >/dev/null)
(cd "$base/database" && exec "${as[@]}" postgres -D "$base/database/data" -k "$base/database" -c listen_addresses= \
    >"$base/database/log" 2>&1) &
server=$!
until psql -q -d "${FLEET_URL/fleet?/postgres?}" -c 'create database fleet' 2>/dev/null; do
    kill -0 "$server" 2>/dev/null || { cat "$base/database/log" >&2; exit 1; }
    sleep 0.1
done

say "Three homes join the same database: each is a host of the fleet"
show laptop host join env:FLEET_URL --name laptop --slots 1
if [ "$lease" != 30 ]; then # the hosts of a fleet read these durations when they join
    sql "update fleet.clock set lease = '$lease s', renewal = '$lease s'::interval / 6, slack = '2 s', quiet = '2 s', steady = '2 s'"
    on laptop host join env:FLEET_URL --name laptop --slots 1 >/dev/null
fi
show red host join env:FLEET_URL --name red --label big --slots 2
show blue host join env:FLEET_URL --name blue --label big --slots 2
until [ "$(on laptop hosts --json | grep -c '"state": "up"')" = 3 ]; do sleep 0.2; done
show laptop hosts

say "From the laptop, a run on each of them"
for host in laptop red blue; do
    show laptop run --yes --host "$host" --wait -- sh -c 'echo "this ran in $ERRANDS_RUN_DIR"'
done

say "A task for any host with the label big; if its host is lost, it may run once more"
command='echo "$$" >>"$0"; [ "$(wc -l <"$0")" -gt 1 ] || exec sleep 1000'
show laptop run --yes --host big --name long --retries 1 -- sh -c "$command" "$base/pids"
until [ -s "$base/pids" ]; do sleep 0.2; done
until where=$(on laptop show long --json=runs_on | sed -n 's/.*"runs_on": "\([a-z]*\)".*/\1/p') && [ -n "$where" ]; do
    sleep 0.2
done
show laptop ls --fleet

say "kill -9 of the daemon and the host process of $where: the fleet hears nothing of that host any more"
daemon=$(on "$where" daemon status --json=pid | tr -dc 0-9)
kill -STOP "$daemon" # it must not see its children die
pkill -KILL -P "$daemon"
kill -KILL "$daemon"
began=$SECONDS
while kill -0 "$(head -1 "$base/pids")" 2>/dev/null; do sleep 0.2; done
echo "after $((SECONDS - began)) s its shim, which hears nothing either, has ended the command"
show laptop wait long
echo "after $((SECONDS - began)) s it has run on another host"
show laptop show long
show laptop hosts

say "The host comes back"
show "$where" daemon start
until [ "$(on laptop hosts --json | grep -c '"state": "up"')" = 3 ]; do sleep 0.2; done
show laptop hosts

say "All of this is stopped and removed now"
