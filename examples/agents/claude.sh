#!/bin/sh
# A session of claude on a hub, with its hooks. Run it in a clone; a stand-in plays claude unless AGENT_COMMAND names another command.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
export BD_AGENT="${BD_AGENT:-codemonkey}"
bd setup claude --quiet
${AGENT_COMMAND:-python3 "$here/stand_in.py" claude "$@"}
