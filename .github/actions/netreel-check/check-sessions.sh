#!/usr/bin/env bash
# check-sessions.sh SESSIONS [OUT] [ARGUMENTS...]: checks every session below SESSIONS, a folder of reels each,
# for a job of CI.
#
# OUT (netreel-report) gets junit.xml and netreel.sarif for other tools, summary.md for people, and in kept
# a copy of each session that is not clean, with what went wrong in explained.txt. ARGUMENTS go to `netreel
# check`: --fail-on warning, --partial, --wire FILE. NETREEL names the command where it is not on PATH.
#
# Exits as `netreel check` does: 0 clean, 1 wrong, 2 unknown, or nothing to check.
set -uo pipefail

netreel=${NETREEL:-netreel}
[ $# -ge 1 ] || {
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
    exit 2
}
sessions=$1
out=${2:-netreel-report}
shift $(($# > 1 ? 2 : 1))

command -v "$netreel" >/dev/null || {
    echo "check-sessions: there is no $netreel: put it on PATH, or name it in NETREEL" >&2
    exit 2
}
# What an earlier run left is made anew; a folder of anything else is not touched.
if [ -e "$out/summary.txt" ]; then
    rm -rf "$out/kept"
elif [ -n "$(ls -A "$out" 2>/dev/null)" ]; then
    echo "check-sessions: $out has something else in it: name a folder of its own for the reports" >&2
    exit 2
fi
# Compared before anything is made: the folder above the reports that is there already.
above=$out
until [ -d "$above" ]; do above=$(dirname "$above"); done
case $(cd "$above" && pwd)/ in
"$(cd "$sessions" 2>/dev/null && pwd)"/*)
    echo "check-sessions: $out is inside $sessions: what is kept there would be sessions of the next run" >&2
    exit 2
    ;;
esac
mkdir -p "$out/kept"

checked() { "$netreel" check --each "$sessions" "${@}"; }

checked "$@" >"$out/summary.txt" 2>"$out/said.txt"
code=$?
# Without one line there was nothing to check, and the reason is an error of the command.
if [ ! -s "$out/summary.txt" ]; then
    cat "$out/said.txt" >&2
    exit "$((code == 0 ? 2 : code))"
fi
checked "$@" --format junit >"$out/junit.xml" 2>/dev/null
checked "$@" --format sarif >"$out/netreel.sarif" 2>/dev/null
{
    echo "## netreel"
    echo
    echo '```text'
    cat "$out/summary.txt" "$out/said.txt"
    echo '```'
} >"$out/summary.md"

# explain SESSION NAME ARGUMENTS: keeps a session, with its findings and the causes of the first one.
explain() {
    local session=$1 kept=$out/kept/$2 first
    shift 2
    mkdir -p "$kept"
    cp -R "$session"/. "$kept/"
    "$netreel" check "$session" "$@" >"$kept/explained.txt" 2>&1
    first=$(sed -n 's/^\(error\|warning\) .* finding \([0-9][0-9]*\)$/\2/p' "$kept/explained.txt" | head -n 1)
    if [ -n "$first" ]; then
        {
            printf '\nwhy, back from finding %s:\n' "$first"
            "$netreel" why "$session" --finding "$first"
        } >>"$kept/explained.txt" 2>&1
    fi
    {
        printf '\n### %s\n\n```text\n' "$session"
        cat "$kept/explained.txt"
        printf '```\n'
    } >>"$out/summary.md"
}

# One line a session, `{"verdict":"wrong",...,"session":"nightly/7"}` (docs/json.md).
number=0
while IFS=$'\t' read -r verdict session; do
    [ "$verdict" = clean ] && continue
    number=$((number + 1))
    explain "$session" "$number-$(basename "$session")" "$@"
done < <(checked "$@" --json 2>/dev/null |
    sed -n 's/^{"verdict":"\([a-z]*\)".*"session":"\(.*\)"}$/\1\t\2/p' | sed 's/\\\(["\\]\)/\1/g')

cat "$out/summary.md"
# GitHub shows no summary of more than 1 MiB.
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    head -c 1000000 "$out/summary.md" >>"$GITHUB_STEP_SUMMARY"
    [ "$(wc -c <"$out/summary.md")" -le 1000000 ] ||
        printf '\n```\n\nThe rest is in summary.md of the artifact.\n' >>"$GITHUB_STEP_SUMMARY"
fi
exit "$code"
