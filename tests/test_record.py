"""docs/record.py: what a terminal said becomes a cast and a picture, and the committed ones are of the demo."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

pytest.importorskip("pyte", reason="the extra docs is not installed")
DOCS = Path(__file__).resolve().parents[1] / "docs"
SVG = "{http://www.w3.org/2000/svg}"


def _recorder() -> Any:
    spec = importlib.util.spec_from_file_location("record", DOCS / "record.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["record"] = module
    spec.loader.exec_module(module)
    return module


recorder = _recorder()


def record(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, DOCS / "record.py", "--to", folder, *command], capture_output=True, text=True)


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_command_is_recorded_in_a_terminal(tmp_path: Path) -> None:
    ended = record(tmp_path, "sh", "-c", "test -t 1 && stty size && printf '\\033[1;32mgreen\\033[0m & <plain>\\n'")
    assert ended.returncode == 0, ended.stderr
    head, *said = [json.loads(line) for line in (tmp_path / "demo.cast").read_text(encoding="utf-8").splitlines()]
    assert (head["version"], head["width"], head["height"]) == (2, recorder.COLUMNS, recorder.ROWS)
    assert [kind for _, kind, _ in said] == ["o"] * len(said)
    assert [at for at, _, _ in said] == sorted(at for at, _, _ in said)
    assert "\x1b[1;32mgreen" in "".join(text for _, _, text in said)
    shown = texts((tmp_path / "demo.svg").read_text(encoding="utf-8"))
    assert {f"{recorder.ROWS} {recorder.COLUMNS}", "green", "& <plain>"} <= set(shown)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_command_that_fails_leaves_no_recording(tmp_path: Path) -> None:
    ended = record(tmp_path, "sh", "-c", "echo no such luck; exit 3")
    assert ended.returncode == 1
    assert "no such luck" in ended.stderr
    assert list(tmp_path.glob("demo.*")) == []


def test_the_picture_shows_the_terminal_as_it_was() -> None:
    said = [recorder.Said(0.0, "one\r\ntwo"), recorder.Said(1.0, "\r\x1b[2Kthree"), recorder.Said(1.1, "\x1b[1mfour")]
    shown = recorder.frames(said)
    assert [[" ".join(run.text for run in row) for row in frame.rows if row] for frame in shown] == [
        ["one", "two"],
        ["one", "three"],
        ["one", "three four"],
    ]
    drawn = ElementTree.fromstring(recorder.picture(shown))
    assert len(drawn.findall(f".//{SVG}g[@class='strip']/{SVG}g")) == 3
    assert texts(recorder.picture(shown)).count("one") == 1  # a row that comes again is drawn once


def test_the_committed_recording_is_of_the_demo_and_small() -> None:
    cast, svg = ((DOCS / name).read_text(encoding="utf-8") for name in ("demo.cast", "demo.svg"))
    assert recorder.picture(recorder.frames(recorder.said_in(cast))) == svg, "docs/demo.svg is of another cast: make recording"
    assert any("no bead had two owners" in text for text in texts(svg))
    assert len(cast.encode()) + len(svg.encode()) < 300_000
