#!/bin/sh
# A session of opencode on a hub, with bd's plugin. Run it in a clone; a stand-in plays opencode unless AGENT_COMMAND names another command.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
export BD_AGENT="${BD_AGENT:-codemonkey}"
bd setup opencode --quiet
${AGENT_COMMAND:-node "$here/stand_in.mjs" opencode}
