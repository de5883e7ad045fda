#!/bin/sh
# A task that tells the truth: it does what its words say, and its first and last acts stand in the witness file.
ulimit -c 0
token=$1
shift

say() {
    printf '%s %s %s %s\n' "$1" "$ERRANDS_RUN_ID" "$token" "$2" >>"$CHAOS_WITNESS"
}

say start $$
for step; do
    number=${step#*:}
    case $step in
    lines:*)
        line=0
        while [ "$line" -lt "$number" ]; do
            line=$((line + 1))
            echo "$token $line"
        done
        ;;
    flood:*) yes "$token" | head -c "$number" ;;
    blob:*) head -c "$number" "$CHAOS_BLOB" ;;
    sleep:*)
        say begun "$number"
        sleep "$number"
        ;;
    deaf) trap '' TERM ;;
    mute) exec >/dev/null 2>&1 ;;
    stdin) read -r word && { say input "$word"; } ;;
    # Children that outlive their parent: with its pipe, in sessions of their own, or without our marks.
    tree) sh -c 'sleep 301 & sleep 301' & ;;
    session) setsid sh -c 'sleep 302 & sleep 302' >/dev/null 2>&1 & ;;
    clean) env -i setsid sh -c 'sleep 303; sleep 303' >/dev/null 2>&1 & ;;
    exit:*)
        say end "$number"
        exit "$number"
        ;;
    signal:*)
        say end "-$number"
        kill "-$number" $$
        ;;
    esac
done
