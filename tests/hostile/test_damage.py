"""Any bytes in what a clone keeps and in what a hub holds beside the branch: a value or damage, and never the end of a command."""

from __future__ import annotations

import random
from itertools import islice

import pytest

from tests.hostile.damage import COMMANDS, SHAPES, Case, Scene, cases, fault_of

pytestmark = pytest.mark.one_in(2)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """Each case gets a copy of it."""
    return Scene(tmp_path_factory.mktemp("scene"))


@pytest.mark.slow
def test_no_damage_ends_a_command_as_a_bug(scene: Scene) -> None:
    for case in islice(cases(scene, random.Random(17)), 24):
        fault = fault_of(scene.run(case))
        assert not fault, f"{case.words}\n{fault}"


@pytest.mark.slow
@pytest.mark.parametrize("data", [shape for shape in SHAPES if len(shape) < 30], ids=repr)
def test_a_damaged_record_of_an_agent_is_passed_over(data: bytes, scene: Scene) -> None:
    for command in (["ready", "--agent", "ada"], ["attention"]):
        done = scene.run(Case("refs/bd/agents/bob", data, tuple(command)))
        assert not fault_of(done), fault_of(done)
        assert done.returncode == 0


def test_the_damage_reaches_what_is_read(scene: Scene) -> None:
    """The list of what is damaged is that of a clone in use, or it would prove nothing."""
    names = {name.partition("/")[0].partition("-")[0] for name in scene.files}
    assert {"place", "tokens", "looks.json"} <= names
    assert any(ref.startswith("refs/bd/agents/") for ref in scene.refs)
    assert {command[0] for command in COMMANDS} >= {"create", "claim", "sync", "doctor", "list"}
