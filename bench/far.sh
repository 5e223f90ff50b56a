#!/bin/sh
# Stands in for ssh to a hub some way off: waits, then runs the server's command here.
for command in "$@"; do :; done
[ -z "${BENCH_FAR_LOG-}" ] || echo "$command" >> "$BENCH_FAR_LOG"
sleep "${BENCH_FAR_S:-0.05}"
exec sh -c "$command"
