"""bd on the Runtime of tests: `python tests/entry.py --stop-at=pushed --clock-offset=3600 -- claim ...`.

Each option sets a variable of tests/runtime.py, which processes that are started from here inherit.
"""

import os
import sys

OPTIONS = {
    "--stop-at": "BD_TEST_STOP_AT",
    "--clock-offset": "BD_TEST_CLOCK_OFFSET_S",
    "--uptime-offset": "BD_TEST_UPTIME_OFFSET_S",
    "--ahead": "BD_TEST_AHEAD",
}


def main() -> None:
    # A script finds what lies beside it first: here, modules of tests where those of the standard library belong. bd is that
    # of PYTHONPATH, where a test has put another version, else the one beside these tests.
    del sys.path[0]
    named = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path.insert(len(named), os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    from bd.cli import run
    from tests.runtime import HookedRuntime

    border = sys.argv.index("--")
    for option in sys.argv[1:border]:
        name, _, value = option.partition("=")
        os.environ[OPTIONS[name]] = value
    sys.argv[1:] = sys.argv[border + 1 :]
    run(HookedRuntime())


if __name__ == "__main__":
    main()
