#!/bin/sh
# A session of gemini on a hub, with its hooks. Run it in a clone; a stand-in plays gemini unless AGENT_COMMAND names another command.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
export BD_AGENT="${BD_AGENT:-codemonkey}"
bd setup gemini --quiet
${AGENT_COMMAND:-python3 "$here/stand_in.py" gemini "$@"}
