"""Question files are told apart by content; odd lines are named and never stop the reading."""

from __future__ import annotations

from pathlib import Path

import pytest

from w2v_sgns.errors import FormatError
from w2v_sgns.evaluation.files import read_questions
from w2v_sgns.evaluation.questions import Analogies, Pairs, Relations


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_google_questions(tmp_path: Path) -> None:
    text = "\ufeffa b c d\r\n: gram1-x\r\n a  b\tc d \r\na b c\n\n: other\n# a note\n1 2 3 4 5\n"
    text += "e f g h"
    questions = read_questions(write(tmp_path / "q", text))
    assert isinstance(questions, Analogies)
    assert [(q.section, q[1:4], q.answers) for q in questions.questions] == [
        ("(no section)", ("a", "b", "c"), ("d",)),
        ("gram1-x", ("a", "b", "c"), ("d",)),
        ("other", ("e", "f", "g"), ("h",)),
    ]
    assert [(bad.line, bad.message) for bad in questions.malformed] == [
        (4, "3 words, needed: 4"),
        (8, "5 words, needed: 4"),
    ]
    assert questions.groups == {"semantic": ["(no section)", "other"], "syntactic": ["gram1-x"]}


def test_sections_without_grammar_have_no_groups(tmp_path: Path) -> None:
    assert not read_questions(write(tmp_path / "q", ": x\na b c d\n: y\na b c d\n")).groups


def test_four_words_a_line_need_no_section(tmp_path: Path) -> None:
    questions = read_questions(write(tmp_path / "q", "a b c d\n" * 3))
    assert isinstance(questions, Analogies)
    assert len(questions.questions) == 3


@pytest.mark.parametrize(
    ("line", "pair"),
    [
        ("new york\tboston\t7.5", ("new york", "boston", 7.5)),
        ("a,b,1", ("a", "b", 1)),
        ("a ; b ; -1e-1", ("a", "b", -0.1)),
        ("a   b 3", ("a", "b", 3)),
        ("a\tb\t3\tmore\t1", ("a", "b", 3)),
    ],
)
def test_pairs_with_any_separator(tmp_path: Path, line: str, pair: tuple) -> None:
    questions = read_questions(write(tmp_path / "p", f"{line}\n{line}"))
    assert isinstance(questions, Pairs)
    assert [tuple(one) for one in questions.pairs] == [pair, pair]
    assert questions.header is None


def test_odd_pairs_are_named(tmp_path: Path) -> None:
    text = "one,two,mean\na,b,1\na,b\na,b,nan\na,b,?\n,b,1\n# c\nc,d,2\n"
    path = write(tmp_path / "p", text)
    questions = read_questions(path)
    assert [pair.first for pair in questions.pairs] == ["a", "c"]
    assert questions.header == f"{path}:1"
    assert [bad.line for bad in questions.malformed] == [3, 4, 5, 6]
    assert "no number" in questions.malformed[1].message
    assert "2 fields, needed: two words and a score" in questions.malformed[0].message


def test_bytes_that_are_no_utf8_survive(tmp_path: Path) -> None:
    questions = read_questions(write(tmp_path / "p", b"caf\xe9\tb\t1\n"))
    assert questions.pairs[0].first == "caf\udce9"


def test_a_list_of_alternatives_asks_every_line_of_every_other(tmp_path: Path) -> None:
    questions = read_questions(write(tmp_path / "E01.txt", "a\tb/bb\nc\td\nodd\n/\t/\ne\tf\n"))
    assert [(q.section, *q[1:4], q.answers) for q in questions.questions][:3] == [
        ("E01", "a", "b", "c", ("d",)),
        ("E01", "a", "b", "e", ("f",)),
        ("E01", "c", "d", "a", ("b", "bb")),
    ]
    assert len(questions.questions) == 6
    assert [bad.line for bad in questions.malformed] == [3, 4]


def test_a_bats_folder(tmp_path: Path) -> None:
    write(tmp_path / "1_Inflectional" / "I01 [x].txt", "a\tb\nc\td\n")
    write(tmp_path / "1_Inflectional" / "I02.txt", "a\tb\nc\td\n")
    write(tmp_path / "2_Other" / "E01.txt", "a\tb\nc\td\n")
    write(tmp_path / "metadata.txt", "only words\n")
    questions = read_questions(tmp_path)
    assert questions.groups == {"1_Inflectional": ["I01 [x]", "I02"], "2_Other": ["E01"]}
    assert len(questions.questions) == 6


def test_a_semeval_folder(tmp_path: Path) -> None:
    gold = '# a comment\n50.0 "flower:tulip"\n-12.5 "tree:a b"\nbroken\n'
    write(tmp_path / "Testing" / "GoldRatings-1a.txt", gold)
    typical = "Rate the pairs.\n\nconsider:\nweapon:knife\nvehicle:car\n"
    write(tmp_path / "Testing" / "Phase1Questions-1a.txt", typical)
    write(tmp_path / "Testing" / "GoldRatings-2b.txt", gold)
    questions = read_questions(tmp_path)
    assert isinstance(questions, Relations)
    (relation,) = questions.relations
    assert relation.name == "1a"
    assert relation.typical == [("weapon", "knife"), ("vehicle", "car")]
    assert [tuple(p) for p in relation.pairs] == [("flower", "tulip", 50), ("tree", "a b", -12.5)]
    assert [bad.line for bad in questions.malformed] == [4, 1]
    assert "Phase1Questions-2b.txt is missing" in questions.malformed[1].message


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        (b"", "looks like an empty file"),
        (b"<html><body>404</body></html>", "looks like an HTML page"),
        (b"\x1f\x8b\x08\x00abc", "looks like gzip data"),
        (b"some prose that asks nothing\n", "its first line is 'some prose"),
        (b"a b c\n", "its first line is 'a b c'"),
        (b": only\n: sections\n", "its first line is ': only'"),
        (b"\x00\x01\x02\x03" * 200, "looks like"),
    ],
)
def test_what_cannot_be_asked_is_said_to_be_what_it_is(
    tmp_path: Path, content: bytes, seen: str
) -> None:
    path = write(tmp_path / "q.txt", content)
    with pytest.raises(FormatError) as caught:
        read_questions(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: no usable questions, no usable pairs; {seen}")
    assert "\n" not in message


def test_a_missing_file_and_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="No such file"):
        read_questions(tmp_path / "none")
    with pytest.raises(FormatError, match="no folder of questions"):
        read_questions(tmp_path)
    write(tmp_path / "GoldRatings-1a.txt", '1 "a:b"\n')
    with pytest.raises(FormatError, match="no rated pairs"):
        read_questions(tmp_path)
