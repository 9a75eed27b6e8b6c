"""Files as trees: what is no TOML, and where everything is."""

import pytest

from taut.errors import FileError
from taut.files.lines import DEEPEST, LineError
from taut.files.source import LARGEST, Source, read

TEXT = """\
title = "a # b"   # [c]
[bodies.arm]
mass = 1
at = [0, 0,   # x, y
  1,

  [2]]
look = { size = 1, text = "{]}",
}
"""


def lines_of(text):
    source = Source(text, "m.toml")
    return {path: source.ruler.line(offset) for path, offset in source.places.items()}


def test_lines_of_keys_and_elements():
    text = TEXT.replace(",\n}", " }")
    found = lines_of(text)
    assert found[("title",)] == 1
    assert found[("bodies",)] == found[("bodies", "arm")] == 2
    assert found[("bodies", "arm", "mass")] == 3
    assert found[("bodies", "arm", "at")] == 4
    assert found[("bodies", "arm", "at", 2)] == 5
    assert found[("bodies", "arm", "at", 3)] == 7
    assert found[("bodies", "arm", "look", "text")] == 8


def test_lines_of_dotted_and_quoted_keys_and_of_arrays_of_tables():
    found = lines_of('a.b."c d".\'e\' = 1\n[x."y\\u0041"]\nz=1\n[[t]]\nk=1\n[[t]]\nk=2\n[t.u]\nv=3')
    assert found[("a", "b", "c d", "e")] == 1
    assert found[("x", "yA", "z")] == 3
    assert (found[("t", 0, "k")], found[("t", 1, "k")], found[("t", 1, "u", "v")]) == (5, 7, 9)


def test_texts_of_many_lines_hide_what_looks_like_keys():
    text = 'a = """\nb = 1 ""\n[c]\n\\"""\n"""\nd = \'\'\'\n[e]\n\'\'\'\nf = """x"""""\ng = 1\n'
    assert lines_of(text) == {("a",): 1, ("d",): 6, ("f",): 9, ("g",): 10}


def test_a_value_without_a_place_is_where_its_list_is():
    source = Source("a = [1, 2, [3]]\nb = 1", "m.toml")
    assert source["a"][2][0].line == 1
    assert source["b"].line == 2


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("a = 1\nb = ", 2, "not TOML"),
        ("a = 1\n\na = 2", 3, "not TOML: cannot overwrite a value"),
        ("[a]\nb = 1\n[a]\n", 3, "not TOML"),
        ("a = 1\n[b\n", 2, "not TOML"),
        ("a = 'x\n", 1, "not TOML"),
        ('a = 1\nb = """x\n\n', 2, "not TOML"),
        ("a = 1\n\x00", 2, "not TOML"),
        ("a = 1\rb = 2", 1, "not TOML"),
        ("a = 1 b = 2", 1, "not TOML"),
        ("a = 2021-99-99", 1, "not TOML"),
        ("a = 1\nb = " + "[" * 5000, 2, "inside each other"),
        ("a = 1\nb = " + "{a=" * 5000, 2, "inside each other"),
        ("a = 1\n" + "[a." * 1 + "a." * 5000 + "a]", 2, "keys of at most"),
        ("a = 1\nb." + "a." * 5000 + "a = 1", 2, "keys of at most"),
        ("a = 1\nb = " + "9" * 5000, 2, "numbers of at most"),
        ("a = [\n1,\n" + "9" * 5000 + "]", 3, "numbers of at most"),
        ("a = 1\n" + "x" * 100_000, 2, "not TOML"),
    ],
    ids=lambda x: str(x)[:20],
)
def test_what_cannot_be_read_says_where(text, line, said):
    with pytest.raises(LineError, match=said) as caught:
        Source(text, "m.toml")
    assert caught.value.line == line
    assert str(caught.value).startswith(f"m.toml:{line}: ")


def test_what_is_as_deep_as_said_is_read():
    assert Source("a = " + "[" * (DEEPEST - 1) + "]" * (DEEPEST - 1), "m.toml").data["a"]


def test_files_that_are_not_there_or_no_texts(tmp_path):
    with pytest.raises(FileError, match="there is no file"):
        read(tmp_path / "none.toml")
    with pytest.raises(FileError, match="is a directory"):
        read(tmp_path)
    with pytest.raises(FileError, match="no path of a file"):
        read("a\x00b.toml")
    path = tmp_path / "m.toml"
    path.write_bytes(b"a = 1\nb = 'caf\xe9'\n")
    with pytest.raises(LineError, match=r"m\.toml:2: the file is not UTF-8") as caught:
        read(path)
    assert "0xe9" in str(caught.value)
    path.write_bytes(b"#" * (LARGEST + 1))
    with pytest.raises(LineError, match="too large"):
        read(path)


def test_marks_of_byte_order_and_ends_of_lines_of_windows_are_read(tmp_path):
    path = tmp_path / "m.toml"
    path.write_bytes("a = 1\r\nb = [\r\n1,\r\n2]\r\n".encode("utf-8-sig"))
    found = read(path)
    assert found.data == {"a": 1, "b": [1, 2]}
    assert [x.line for x in found["b"].elements()] == [3, 4]
