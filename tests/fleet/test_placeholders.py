"""Places in a pool's commands: a real shell reads them in every kind of quotes, and no value is ever read as a command."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.core.errors import WrongState
from bd.pool.placeholders import PLACES, WORDS, environment, filled

pytestmark = pytest.mark.one_in(5)

VALUES = {
    "name": "worker-1",
    "n": "1",
    "pool": "worker",
    "hub": "my.hub",
    "session": "bd-my.hub-worker-1",
    "clone": '/x/it\'s "a" $(b) `c` *',
}


def said(text: str, values: dict[str, str] = VALUES) -> list[str]:
    """What a shell prints for a command with places."""
    ran = subprocess.run(
        ["/bin/sh", "-c", filled(text)], env={"PATH": "/usr/bin:/bin", **environment(values)}, capture_output=True
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.decode().splitlines()


@pytest.mark.parametrize("place", VALUES)
@pytest.mark.parametrize(
    ("text", "around"),
    [
        ("printf '%s\\n' {}", "{}"),
        ("printf '%s\\n' a{}b", "a{}b"),
        ("printf '%s\\n' 'a {} b'", "a {} b"),
        ('printf "%s\\n" "a {} b"', "a {} b"),
        ('printf "%s\\n" "$(printf %s \'{}\')"', "{}"),
        ('printf "%s\\n" "$(printf %s "a {}")"', "a {}"),
        ("# don't {}\nprintf '%s\\n' {}", "{}"),
        ("x={}; printf '%s\\n' \"$x\"", "{}"),
        ("printf '%s\\n' it\\'s{}", "it's{}"),
    ],
)
def test_a_place_is_its_value_in_all_quotes(text: str, around: str, place: str) -> None:
    assert said(text.replace("{}", f"{{{place}}}")) == [around.replace("{}", VALUES[place])]


def test_what_is_no_place_stays() -> None:
    for text in ("awk '{print}'", "${name} ${n:-1}", "{nope} {} { name }", "\\{name}", "x # {name}"):
        assert filled(text) == text
    assert said('sh -c \'printf %s {hub}; printf " %s" "$BD_PLACE_CLONE"\'') == [f"{VALUES['hub']} {VALUES['clone']}"]
    assert said("cat <<END\n{name} of {hub}\nEND") == ["worker-1 of my.hub"]


@given(st.text(st.sampled_from("ab '\"\\$(){}#;\n|&`"), max_size=40), st.sampled_from(PLACES))
def test_the_text_that_a_shell_reads_is_of_places_and_quotes_alone(text: str, place: str) -> None:
    written = filled(f"{text}{{{place}}}")
    assert written.startswith(text)
    assert written[len(text) :] in {
        f"{{{place}}}",
        *(quote.replace("X", f"${{BD_PLACE_{place.upper()}}}") for quote in ("X", '"X"', "'\"X\"'")),
    }


@given(st.sampled_from(WORDS), st.text(max_size=20))
def test_a_word_is_a_word(place: str, value: str) -> None:
    """Also in the text of a shell inside of the shell, such as `sh -c 'echo {hub}'`, where quotes are undone."""
    try:
        variables = environment({place: value})
    except WrongState:
        return
    assert value.isascii()
    assert set(value) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")
    assert value[0] not in ".-"
    assert variables == {f"BD_PLACE_{place.upper()}": value}
