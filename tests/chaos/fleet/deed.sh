#!/bin/sh
# deed.sh WITNESS TOKEN SECONDS|FILE CODE [stubborn]: a command that tells when it starts and ends, by the clock of the
# machine. It lasts so long, or until a file is there; a stubborn one ignores SIGTERM.
witness=$1
token=$2

say() {
    read -r now rest </proc/uptime
    printf '%s %s %s %s %s\n' "$1" "$token" "$$" "$now" "$2" >>"$witness"
}

[ -z "${5:-}" ] || trap '' TERM
say start 0
echo "$token works"
case $3 in
/*) until [ -e "$3" ]; do sleep 0.5; done ;;
*) sleep "$3" ;;
esac
echo "$token is done"
say end "$4"
exit "$4"
