"""Question files are told apart by content; odd lines are named and never stop the reading."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Thread

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
    write(tmp_path / "README.txt", "About this test set:\n\n  it is about words.\n")
    write(tmp_path / "2_Other" / "._E01.txt", "a\tb\nc\td\n")
    write(tmp_path / ".git" / "a.txt", "a\tb\nc\td\n")
    write(tmp_path / "pairs.csv", "a,b,1\n")
    questions = read_questions(tmp_path)
    assert questions.unread == [str(tmp_path / "README.txt"), str(tmp_path / "metadata.txt")]
    assert questions.malformed == []
    assert questions.groups == {"1_Inflectional": ["I01 [x]", "I02"], "2_Other": ["E01"]}
    assert len(questions.questions) == 6


def test_files_of_one_name_stay_apart(tmp_path: Path) -> None:
    for group in ("x", "y"):
        write(tmp_path / group / "E01.txt", "a\tb\nc\td\n")
    questions = read_questions(tmp_path)
    assert questions.groups == {"x": ["x/E01"], "y": ["y/E01"]}
    assert [question.section for question in questions.questions] == ["x/E01"] * 2 + ["y/E01"] * 2


BATS_AS_FOUND = {
    "as published": b"a\tb/bb\nc\td\n",
    "Windows": b"a\tb/bb\r\nc\td\r\n",
    "old Macintosh": b"a\tb/bb\rc\td",
    "a mark, blank lines": b"\xef\xbb\xbfa\tb/bb\n\n  \n\nc\td\n\n",
    "blanks for tabs": b"a b/bb\nc  d\n",
    "loose": b" a\t b / bb/\n# a note\nc \t\td \n",
    "UTF-16": "a\tb/bb\r\nc\td\r\n".encode("utf-16"),
}


@pytest.mark.parametrize("content", BATS_AS_FOUND.values(), ids=BATS_AS_FOUND)
def test_bats_files_as_they_are_found(tmp_path: Path, content: bytes) -> None:
    write(tmp_path / "1_I" / "I01 [noun - plural].txt", content)
    questions = read_questions(tmp_path)
    assert [(q.section, *q[1:4], q.answers) for q in questions.questions] == [
        ("I01 [noun - plural]", "a", "b", "c", ("d",)),
        ("I01 [noun - plural]", "c", "d", "a", ("b", "bb")),
    ]
    assert (questions.malformed, questions.unread) == ([], [])


def test_a_word_is_no_example_for_itself(tmp_path: Path) -> None:
    questions = read_questions(write(tmp_path / "E01.txt", "a\tb\na\tc\nd\te\n"))
    assert [q[1:4] for q in questions.questions] == [
        ("a", "b", "d"),
        ("a", "c", "d"),
        ("d", "e", "a"),
        ("d", "e", "a"),
    ]
    with pytest.raises(FormatError, match="no usable questions"):
        read_questions(write(tmp_path / "E02.txt", "a\tb\na\tc\n"))


def test_bats_words_in_another_encoding_are_kept_as_bytes(tmp_path: Path) -> None:
    questions = read_questions(write(tmp_path / "E.txt", "café\tthé\nC\tD\n".encode("cp1252")))
    assert questions.questions[0][1:4] == ("caf\udce9", "th\udce9", "C")


def test_semeval_as_it_is_published(tmp_path: Path) -> None:
    """Two packages in one folder, each with Testing and Training."""
    questions, gold = tmp_path / "Complete-Data-Package", tmp_path / "Gold-Ratings"
    header = "#\n#   Generated by:               a script\n#   Score  = Most - Least\n#\n"
    instructions = (
        "Question 1: Consider the following word pairs: flower:tulip, emotion:rage.\r\n"
        'What relation do they share?\r\n(1) "Y is a kind of X"\r\n\r\n'
    )
    for part, name in (("Testing", "10a"), ("Testing", "2b"), ("Training", "1a")):
        rated = header + ' 50.0 "weapon:spear"\n  4.0 "bush:azalea"\n-55.1 "wheat:bread"\n'
        write(gold / part / f"GoldRatings-{name}.txt", rated)
        text = instructions + "flower:tulip\r\nemotion:rage\r\n"
        write(questions / part / "Phase1Questions" / f"Phase1Questions-{name}.txt", text)
        write(questions / part / "Phase1Answers" / f"Phase1Answers-{name}.txt", '"a:b"\n')
        write(questions / part / "Phase2Answers" / f"Phase2Answers-{name}.txt", "pair1\tpair2\n")
    write(gold / "copy" / "GoldRatings-1a.txt", '1 "x:y"\n')
    write(gold / "README.txt", "About the data.\n")
    found = read_questions(tmp_path)
    assert isinstance(found, Relations)
    assert [relation.name for relation in found.relations] == ["1a", "2b", "10a"]
    for relation in found.relations:
        assert relation.typical == [("flower", "tulip"), ("emotion", "rage")]
        assert [pair.score for pair in relation.pairs] == [50.0, 4.0, -55.1]
    assert [bad.message for bad in found.malformed] == [
        "left out: another GoldRatings-1a.txt was read"
    ]


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
        (b"a b\x00\nc d\x00\n" * 9, "looks like unknown binary data"),
        (b"a\tb\nc d e f g\nh i j k l\n", "its first line is 'a\\tb'"),
        (b"two words\n", "its first line is 'two words'"),
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


def test_a_mark_that_lies_and_a_pipe(tmp_path: Path) -> None:
    path = write(tmp_path / "q", b"\xff\xfe\x00")
    with pytest.raises(FormatError, match="byte order mark of UTF-16 or UTF-32, but is no such"):
        read_questions(path)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=pipe.write_bytes, args=(b"nothing to ask\n",))
    writer.start()
    with pytest.raises(FormatError, match="its first line is 'nothing to ask'"):
        read_questions(pipe)  # and does not wait for a second writer
    writer.join()


def test_a_missing_file_and_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="No such file"):
        read_questions(tmp_path / "none")
    with pytest.raises(FormatError, match="no folder of questions"):
        read_questions(tmp_path)
    write(tmp_path / "GoldRatings-1a.txt", '1 "a:b"\n')
    with pytest.raises(FormatError, match="no rated pairs"):
        read_questions(tmp_path)
