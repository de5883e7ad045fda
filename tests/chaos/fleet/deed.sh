#!/bin/sh
# deed.sh WITNESS TOKEN SECONDS CODE [stubborn]: a command that tells when it starts and ends, by the clock of the
# machine; a stubborn one ignores SIGTERM.
witness=$1
token=$2

say() {
    read -r now rest </proc/uptime
    printf '%s %s %s %s %s\n' "$1" "$token" "$$" "$now" "$2" >>"$witness"
}

[ -z "${5:-}" ] || trap '' TERM
say start 0
echo "$token works"
sleep "$3"
echo "$token is done"
say end "$4"
exit "$4"
