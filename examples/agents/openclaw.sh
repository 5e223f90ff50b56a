#!/bin/sh
# A session of openclaw on a hub, with bd's plugin. Run it in a clone; a stand-in plays openclaw unless AGENT_COMMAND names another command.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
export BD_AGENT="${BD_AGENT:-codemonkey}"
bd setup openclaw --quiet
${AGENT_COMMAND:-node "$here/stand_in.mjs" openclaw}
