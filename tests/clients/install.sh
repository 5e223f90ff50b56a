#!/usr/bin/env bash
# Install the clients that tests/clients runs, each where the tests look for it: .clients/ in the repository.
# usage: tests/clients/install.sh [PYTHON], a Python that has pip
set -euo pipefail

cd "$(dirname "$0")/../.."
python=${1:-python3}

# Without a pip of its own, and without compiling what no test imports.
"$python" -m venv --without-pip .clients/mcp
"$python" -m pip --python .clients/mcp/bin/python install --quiet --disable-pip-version-check --no-compile beads-mcp==1.3.2

if ! command -v npm > /dev/null; then
    echo "npm is not here: going on without the browser interface" >&2
    exit 0
fi
mkdir -p .clients/ui
cd .clients/ui
[ -f package.json ] || echo '{"private": true}' > package.json
npm install --silent --no-audit --no-fund --no-save beads-ui@0.12.0 ws@8
