"""Tuning on pairs: steps against a loop in float64, batches, mining, optimisers, options."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from naive_texts import loss_of_words

from w2v_sgns import (
    ConfigError,
    CorpusError,
    DivergenceError,
    FormatError,
    Model,
    OutputError,
    PairConfig,
    TrainConfig,
    Vectors,
    Vocabulary,
)
from w2v_sgns.formats import FormatWarning
from w2v_sgns.formats.native import write_model
from w2v_sgns.kernels.pooling import UNKNOWN
from w2v_sgns.text import Encoder
from w2v_sgns.text.batches import orders, read_examples, without_some
from w2v_sgns.text.mining import mine
from w2v_sgns.text.optimizers import Adagrad, Adam, learning_rate
from w2v_sgns.text.pairing import tune_pairs
from w2v_sgns.text.pairs import PairTexts
from w2v_sgns.text.tokens import Tokenizer, Tokens
from w2v_sgns.text.tuning import Tables, tune

WORDS = list("abcdefgh")
VOCABULARY = Vocabulary.from_words(WORDS, range(80, 0, -10))
TEXTS = PairTexts(
    [b"a b", b"b b c", b"a d ?", b"e"],
    [b"c c d", b"a", b"e f f", b"c c d"],
    [b"h", b"", b"g g", b"a"],
)
PLAIN = PairTexts(TEXTS.queries, TEXTS.documents, [b""] * 4)


def table(seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((8, 4)).astype(np.float32)


def tables(config: PairConfig, *, weights: bool = False) -> Tables:
    rows = [table(seed) for seed in range(1, config.towers + 1)]
    start = np.linspace(0.5, 2, 8, dtype=np.float32) if weights else np.ones(8, np.float32)
    t = np.array([-math.log(config.first_temperature)], np.float32)
    return Tables(rows, start, t)


def examples(texts: PairTexts = TEXTS) -> Any:
    return read_examples(texts, Tokenizer(VOCABULARY, PairConfig()))


class Recorder:
    """Stands for an optimiser: keeps what it is given, changes nothing."""

    def __init__(self, array: np.ndarray) -> None:
        self.gradient = np.zeros_like(array)

    def step(self, rows: np.ndarray, gradient: np.ndarray, lr: float) -> None:
        assert len(np.unique(rows)) == len(rows)
        self.gradient[rows] += gradient


@pytest.mark.parametrize(
    "settings, texts",
    [
        ({"loss": "clip", "duplicates": "keep"}, PLAIN),
        ({"loss": "clip"}, PLAIN),
        ({"loss": "dpr"}, PLAIN),
        ({"loss": "dpr", "similarity": "dot"}, PLAIN),
        ({"loss": "simcse", "temperature": 0.5}, TEXTS),
        ({"loss": "dpr", "logq": True, "duplicates": "keep"}, PLAIN),
    ],
    ids=str,
)
def test_a_step_sends_the_gradient_of_the_loss_to_the_words(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], texts: PairTexts
) -> None:
    """Finite differences by every row and every log-weight, repeated words included."""
    config = PairConfig(epochs=1, weights=True, warmup=0, **settings)
    made: list[Recorder] = []
    monkeypatch.setattr(
        "w2v_sgns.text.tuning.optimizer",
        lambda name, array: made.append(Recorder(array)) or made[-1],
    )
    state, some = tables(config, weights=True), examples(texts)
    log_weights = np.log(state.weights.astype(float))
    (loss,) = tune(state, some, config)
    rows, of_weights, of_scale = (one.gradient for one in made)
    queries = [[WORDS.index(w) for w in "ab"], [1, 1, 2], [0, 3], [4]]
    documents = [[2, 2, 3], [0], [4, 5, 5], [2, 2, 3]]
    hard = [[7], [6, 6]] if texts is TEXTS else []  # "a" is a document of the batch already
    t = -math.log(config.first_temperature)
    options: dict[str, Any] = {
        "cosine": config.similarity == "cosine",
        "columns": config.loss == "clip",
        "ids": [0, 1, 2, 0, 4, 5][: 4 + len(hard)] if config.duplicates == "mask" else None,
        "log_q": np.log([0.5, 0.25, 0.25, 0.5]) if config.logq else None,
    }

    def value(E: np.ndarray, logs: np.ndarray, t: float) -> float:
        return loss_of_words(E, logs, queries, documents + hard, log_scale=t, **options)

    E = state.rows[0].astype(float)
    assert loss == pytest.approx(value(E, log_weights, t), abs=1e-5)
    step = 1e-5
    for array, gradient in ((E, rows), (log_weights, of_weights)):
        for place in np.ndindex(array.shape):
            before = array[place]
            array[place] = before + step
            up = value(E, log_weights, t)
            array[place] = before - step
            down = value(E, log_weights, t)
            array[place] = before
            assert (up - down) / (2 * step) == pytest.approx(gradient[place], abs=2e-4)
    if config.loss == "clip":
        slope = (value(E, log_weights, t + step) - value(E, log_weights, t - step)) / (2 * step)
        assert of_scale[0] == pytest.approx(slope, abs=2e-4)


@pytest.mark.parametrize("loss", ["clip", "dpr", "simcse"])
@pytest.mark.parametrize("towers", [1, 2])
@pytest.mark.parametrize("optimizer", ["adagrad", "adam"])
def test_the_loss_falls_and_untouched_rows_stay(loss: str, towers: int, optimizer: str) -> None:
    config = PairConfig(loss=loss, towers=towers, epochs=30, optimizer=optimizer, weights=True)
    state = tables(config)
    before = [rows.copy() for rows in state.rows]
    losses = tune(state, examples(PLAIN), config)
    assert losses[-1] < 0.5 * losses[0]
    for rows, old in zip(state.rows, before, strict=True):
        assert np.array_equal(rows[6:], old[6:])  # g and h stand in no text
    assert not np.array_equal(state.rows[0][:3], before[0][:3])
    assert (state.weights > 0).all() and np.isfinite(state.weights).all()
    assert (state.log_scale[0] == -np.float32(math.log(config.first_temperature))) == (
        loss != "clip"
    )


@pytest.mark.parametrize("loss", ["dpr", "clip"])
def test_both_documents_of_a_query_are_right(loss: str) -> None:
    """Masked, the loss may go below log 2; kept, one document is the other's wrong answer."""
    words = [f"{kind}{number}" for kind in "qabc" for number in range(12)]
    texts = PairTexts(
        [f"q{number}".encode() for number in range(12)] * 2,
        [f"{kind}{number}".encode() for kind in "ab" for number in range(12)],
        [b""] * 24,
    )
    pairs = read_examples(texts, Tokenizer(Vocabulary.from_words(words), PairConfig()))

    def last(duplicates: str) -> float:
        config = PairConfig(loss=loss, epochs=60, lr=0.3, duplicates=duplicates)
        rows = np.random.default_rng(1).standard_normal((48, 8)).astype(np.float32)
        t = np.array([-math.log(config.first_temperature)], np.float32)
        return tune(Tables([rows], np.ones(48, np.float32), t), pairs, config)[-1]

    assert last("mask") < 0.1
    assert last("keep") >= (math.log(2) if loss == "dpr" else math.log(2) / 2)


def test_one_query_alone_has_no_wrong_answer(files: Path) -> None:
    (files / "p.tsv").write_text("a\tb\na\tc\na\td\n")
    asked = {"model": files / "m.safetensors", "epochs": 1}
    with pytest.raises(CorpusError, match="all 3 pairs have the same query"):
        tune_pairs(files / "p.tsv", **asked)
    tune_pairs(files / "p.tsv", duplicates="keep", **asked)


@pytest.mark.parametrize("form", ["official", "ntxent"])
def test_two_views_of_single_texts(form: str) -> None:
    texts = PairTexts([b"a b c d", b"e f g h", b"a c e g", b"b", b"b"])
    config = PairConfig(loss="simcse-unsup", form=form, epochs=40, dropout=0.3, lr=0.02)
    state = tables(config)
    losses = tune(state, examples(texts), config)
    assert np.isfinite(losses).all() and not np.array_equal(state.rows[0], table())
    still = PairConfig(loss="simcse-unsup", form=form, epochs=20, dropout=0, lr=0.02)
    losses = tune(tables(still), examples(texts), still)
    assert losses[-1] < losses[0]  # equal views: the texts move apart


def test_both_forms_are_their_losses(monkeypatch: pytest.MonkeyPatch) -> None:
    from w2v_sgns.objectives.inbatch import in_batch, nt_xent

    texts = PairTexts([b"a b", b"c d", b"e"])
    E = table().astype(float)
    means = np.array([E[[0, 1]].mean(0), E[[2, 3]].mean(0), E[4]])
    t = -math.log(0.05)
    expected = {
        "official": in_batch(means, means, cosine=True, log_scale=t).loss,
        "ntxent": nt_xent(np.repeat(means, 2, axis=0), log_scale=t)[0],
    }
    for form, value in expected.items():
        config = PairConfig(loss="simcse-unsup", form=form, epochs=1, dropout=0)
        (loss,) = tune(tables(config), examples(texts), config)
        assert loss == pytest.approx(value, abs=1e-5)


def test_the_scale_stays_within_clips_bound() -> None:
    config = PairConfig(epochs=200, lr=1.0)
    state = tables(config)
    tune(state, examples(PLAIN), config)
    assert math.exp(state.log_scale[0]) <= 100.001


@pytest.mark.parametrize("batch", [1, 2, 3, 4, 100])
def test_every_pair_comes_once_an_epoch_in_batches_of_one_size(batch: int) -> None:
    parts = list(orders(7, batch, np.random.default_rng(1)))
    assert sorted(np.concatenate(parts).tolist()) == list(range(7))
    sizes = {len(part) for part in parts}
    assert max(sizes) <= batch and max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("batch", [1, 3, 1000])
def test_any_batch_size_trains(batch: int) -> None:
    config = PairConfig(batch=batch, epochs=2, mine=2)
    losses = tune(tables(config), examples(TEXTS), config)
    assert np.isfinite(losses).all()


@pytest.mark.parametrize(
    "texts, message",
    [
        (PairTexts([b"a"], [b"b"], [b""]), "there is one pair"),
        (PairTexts([b"a", b"?"], [b"b", b"c"], [b"", b"d"]), "there is one pair"),
        (PairTexts([b"a", b"b"], [b"c", b"c"], [b"", b"?"]), "all 2 pairs are alike"),
        (PairTexts([b"a", b"a"]), "all 2 pairs are alike"),
    ],
)
def test_nothing_to_tell_apart(texts: PairTexts, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        examples(texts)


def test_one_pair_with_a_hard_negative_is_enough() -> None:
    config = PairConfig(loss="simcse", epochs=3)
    losses = tune(tables(config), examples(PairTexts([b"a"], [b"b"], [b"c"])), config)
    assert losses[-1] < losses[0]


def test_a_batch_without_negatives_changes_nothing() -> None:
    config = PairConfig(epochs=2, batch=1)
    state = tables(config)
    assert tune(state, examples(PLAIN), config) == pytest.approx([0, 0], abs=1e-6)
    assert np.array_equal(state.rows[0], table())


@pytest.mark.parametrize("loss", ["clip", "dpr"])
def test_rounding_of_a_loss_of_nothing_is_not_blown_up_to_full_steps(loss: str) -> None:
    """Alone in its batch a pair has no wrong answer, yet float32's gradient is not quite zero."""
    words = [f"w{number}" for number in range(80)]
    texts = PairTexts(
        [f"{words[n]} {words[n + 1]}".encode() for n in range(78)],
        [f"{words[n + 2]} {words[n]}".encode() for n in range(78)],
        [b""] * 78,
    )
    pairs = read_examples(texts, Tokenizer(Vocabulary.from_words(words), PairConfig()))
    rows = np.random.default_rng(1).standard_normal((80, 16)).astype(np.float32)
    before = rows.copy()
    state = Tables([rows], np.ones(80, np.float32), np.array([3.0], np.float32))
    tune(state, pairs, PairConfig(loss=loss, batch=1, epochs=1))
    assert np.array_equal(rows, before)


def test_the_same_seed_gives_the_same_rows() -> None:
    config = PairConfig(epochs=3, batch=2, dropout=0.2)
    first, second = tables(config), tables(config)
    tune(first, examples(), config)
    tune(second, examples(), config)
    assert np.array_equal(first.rows[0], second.rows[0])


def test_a_huge_rate_is_told_in_one_line() -> None:
    config = PairConfig(loss="dpr", similarity="dot", lr=1e6, epochs=50)
    with pytest.raises(DivergenceError, match="smaller --lr than 1e"):
        state = tables(config)
        state.rows[0][:] *= 1e25
        tune(state, examples(PLAIN), config)


def test_pairs_without_a_known_word_are_left_out() -> None:
    found = examples(
        PairTexts([b"a", b"?", b"b", b"b"], [b"?", b"a", b"c", b"d"], [b"", b"", b"?", b""])
    )
    assert (len(found), found.left_out) == (2, 2)
    assert found.wrong.shape == (2, 0)
    with pytest.raises(CorpusError, match="no pair has a known word on each side"):
        examples(PairTexts([b"?"], [b"a"], [b""]))


def test_dropout_leaves_every_text_a_known_word() -> None:
    tokens = Tokens(np.array([0, 1, 2, UNKNOWN, 3, UNKNOWN], np.uint32), np.array([0, 3, 3, 5, 6]))
    rng = np.random.default_rng(1)
    for _ in range(50):
        found = without_some(tokens, 0.9, rng)
        known = found.known()
        assert known[0] >= 1 and known[2] == 1 and len(found) == 4
    assert without_some(tokens, 0.0, rng) is tokens


def naive_mine(queries: Any, documents: Any, asked: Any, right: Any, count: int) -> list[list[int]]:
    answers = []
    for number, query in enumerate(queries):
        known = {right[i] for i in range(len(right)) if asked[i] == asked[number]}
        free = [j for j in range(len(documents)) if j not in known and documents[j].any()]
        scored = sorted(free, key=lambda j: (-float(query @ documents[j]), j))
        some = scored[:count] if query.any() else []
        answers.append(some + [-1] * (count - len(some)))
    return answers


@pytest.mark.parametrize("block", [1, 100, 1 << 26])
def test_mining_equals_a_loop(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr("w2v_sgns.text.mining.BLOCK_BYTES", block)
    rng = np.random.default_rng(2)
    queries = rng.standard_normal((9, 4)).astype(np.float32)
    documents = rng.standard_normal((6, 4)).astype(np.float32)
    queries[3], documents[2] = 0, 0
    asked, right = rng.integers(0, 5, 9), rng.integers(0, 6, 9)
    for count in (1, 3, 6, 8):
        found = mine(queries, documents, asked, right, count=count)
        assert found.tolist() == naive_mine(queries, documents, asked, right, count)


def test_mined_documents_join_the_hard_negatives() -> None:
    some = examples(TEXTS)
    wider = some.with_wrong(np.array([[2, 3], [2, -1], [1, 2], [3, 2]]))
    chosen = wider.candidates(np.array([0, 3]))
    assert chosen[:2].tolist() == some.right[[0, 3]].tolist()
    assert len(set(chosen[2:].tolist())) == len(chosen[2:])
    assert not set(chosen[2:].tolist()) & set(chosen[:2].tolist())
    assert (chosen >= 0).all()


@pytest.fixture(params=[1, 2048])
def block_rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("w2v_sgns.text.optimizers.BLOCK_ROWS", request.param)


@pytest.mark.usefixtures("block_rows")
def test_adagrad_by_hand() -> None:
    x = np.array([1.0, 2.0, 3.0], np.float32)
    h = np.zeros(3)
    expected = x.astype(float)
    optimizer = Adagrad(x)
    for rows, g in (([0, 2], [0.5, -1.0]), ([2], [2.0])):
        h[rows] += np.square(g)
        expected[rows] -= 0.1 * np.array(g) / np.sqrt(h[rows])
        optimizer.step(np.array(rows), np.array(g, np.float32), 0.1)
    assert x == pytest.approx(expected, abs=1e-6)


@pytest.mark.usefixtures("block_rows")
def test_adam_by_hand() -> None:
    x = np.array([[1.0, 1.0], [2.0, 2.0]], np.float32)
    m, v, n = np.zeros((2, 2)), np.zeros((2, 2)), np.zeros(2)
    expected = x.astype(float)
    optimizer = Adam(x)
    for rows, g in (([0], [[0.5, -1.0]]), ([0, 1], [[1.0, 0.0], [3.0, 4.0]])):
        for row, one in zip(rows, np.array(g), strict=True):
            n[row] += 1
            m[row] = 0.9 * m[row] + 0.1 * one
            v[row] = 0.999 * v[row] + 0.001 * one**2
            first, second = m[row] / (1 - 0.9 ** n[row]), v[row] / (1 - 0.999 ** n[row])
            expected[row] -= 0.1 * first / (np.sqrt(second) + 1e-8)
        optimizer.step(np.array(rows), np.array(g, np.float32), 0.1)
    assert x == pytest.approx(expected, abs=1e-5)


def test_the_rate_rises_and_falls() -> None:
    rates = [learning_rate(step, 10, 1.0, 0.4) for step in range(10)]
    assert rates == pytest.approx([0.25, 0.5, 0.75, 1, 1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6])
    assert learning_rate(0, 1, 0.5, 0.0) == learning_rate(0, 1, 0.5, 1.0) == 0.5


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"temperature": 0}, "--temperature needs a finite number of at least 0.01"),
        ({"temperature": -1.0}, "--temperature"),
        ({"temperature": math.nan}, "--temperature"),
        ({"loss": "triplet"}, "--loss must be one of dpr, clip, simcse, simcse-unsup"),
        ({"batch": 0}, "--batch must be from 1"),
        ({"lr": 0}, "--lr"),
        ({"towers": 3}, "--towers must be from 1 to 2"),
        ({"dropout": 1.0}, "--dropout"),
        ({"similarity": "dot"}, "--similarity dot belongs to --loss dpr; clip"),
        ({"form": "ntxent"}, "--form ntxent belongs to --loss simcse-unsup"),
        ({"dim": 50}, "--dim belongs to --from-scratch"),
        ({"min_count": 9}, "--min-count belongs to --from-scratch"),
        ({"loss": "simcse-unsup", "mine": 3}, "--mine needs pairs"),
        ({"loss": "simcse-unsup", "logq": True}, "--logq needs pairs"),
        ({"loss": "simcse-unsup", "towers": 2}, "--towers 2 needs pairs"),
    ],
    ids=str,
)
def test_settings_that_make_no_sense(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        PairConfig(**settings)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "p.tsv").write_text("a b\tc d\nb c\ta e\ne\tf f\nx\ty\n")
    Model(
        table(),
        table(2),
        vocabulary=VOCABULARY,
        config=TrainConfig(dim=4),
        history=[{"epoch": 1, "loss": 2.0}],
        provenance={"program": "test"},
        extras={"note": "kept"},
    ).save(tmp_path / "m.safetensors")
    return tmp_path


def test_a_tuned_model_keeps_all_it_had(files: Path) -> None:
    heard: list[Any] = []
    out = files / "t.safetensors"
    tune_pairs(
        files / "p.tsv",
        model=files / "m.safetensors",
        output=out,
        epochs=2,
        weights=True,
        loaded=heard.append,
    )
    model = Model.load(out)
    assert np.array_equal(model.Ep, table(2))
    assert not np.array_equal(model.E, table())
    assert model.vocabulary == VOCABULARY
    assert (model.history, model.extras["note"]) == ([{"epoch": 1, "loss": 2.0}], "kept")
    story = model.provenance["pairs"]
    assert (story["pairs"], story["left_out"], story["loss"]) == (3, 1, "clip")
    assert (len(story["losses"]), model.provenance["program"]) == (2, "test")
    assert (heard[0].words, heard[0].dim, heard[0].examples.left_out) == (8, 4, 1)
    encoder = Encoder.load(out)
    assert np.array_equal(encoder.weights, model.extras["word_weights"])
    assert encoder.log_scale == pytest.approx(float(model.extras["log_scale"]))
    assert str(files) not in out.read_bytes().decode("latin-1")


def test_two_towers_are_query_and_document(files: Path) -> None:
    out = files / "t.safetensors"
    model = tune_pairs(files / "p.tsv", model=files / "m.safetensors", output=out, towers=2)
    encoder = Encoder.load(out)
    assert encoder.towers == 2
    assert np.array_equal(encoder.document, model.Ep)
    assert model.Ep[7] == pytest.approx(table()[7])  # both begin with the input rows
    assert Vectors.load(out).most_similar("a", topn=1)  # the queries' rows answer
    with pytest.raises(FormatError, match="has two towers; give --towers 2"):
        tune_pairs(files / "p.tsv", model=out)
    again = tune_pairs(files / "p.tsv", model=out, towers=2, epochs=1)
    assert not np.array_equal(again.Ep, model.Ep)


def test_going_on_begins_with_the_weights_and_the_scale_of_before(files: Path) -> None:
    first = tune_pairs(
        files / "p.tsv",
        model=files / "m.safetensors",
        output=files / "t.safetensors",
        weights=True,
        lr=0.3,
    )
    again = tune_pairs(files / "p.tsv", model=files / "t.safetensors", lr=1e-9, epochs=1)
    assert pytest.approx(first.E, abs=1e-6) == again.E
    for name in ("word_weights", "log_scale"):
        assert again.extras[name] == pytest.approx(first.extras[name], abs=1e-6)


def test_other_formats_to_begin_with(files: Path) -> None:
    (files / "v.txt").write_text("3 2\na 1 0\nb 0 1\nc 1 1\n")
    model = tune_pairs(files / "p.tsv", model=files / "v.txt", weights=True, lowercase=True)
    assert model.config.lowercase and not model.Ep.any()
    assert model.E.shape == (3, 2)


@pytest.mark.parametrize("side, towers", [("E", 1), ("Ep", 1), ("Ep", 2)])
def test_a_row_that_is_not_finite_is_refused_before_the_work(
    files: Path, side: str, towers: int
) -> None:
    tables = {"E": table(), "Ep": table()}
    tables[side][6, 2] = np.nan  # of "g", which stands in no pair
    story = {"pairs": {"towers": towers}}
    config = TrainConfig(dim=4)
    model = Model(**tables, vocabulary=VOCABULARY, config=config, provenance=story)
    with (files / "nan.safetensors").open("wb") as stream:
        write_model(stream, model)
    heard: list[Any] = []
    with pytest.raises(FormatError, match="row 7, of the word 'g', is not finite"):
        tune_pairs(
            files / "p.tsv", model=files / "nan.safetensors", towers=towers, loaded=heard.append
        )
    assert not heard
    (files / "nan.txt").write_text("2 2\na 1 0\nb nan 1\n")
    refused = pytest.raises(FormatError, match=r"nan\.txt: row 2, of the word 'b'")
    with pytest.warns(FormatWarning), refused:
        tune_pairs(files / "p.tsv", model=files / "nan.txt")


def test_from_scratch(files: Path) -> None:
    model = tune_pairs(files / "p.tsv", from_scratch=True, dim=6, epochs=20, lr=0.2)
    assert sorted(model.vocabulary) == sorted("abcdefxy")
    assert model.E.shape == (8, 6)
    losses = model.provenance["pairs"]["losses"]
    assert losses[-1] < losses[0]


def test_what_stands_in_the_way_is_told_first(files: Path) -> None:
    with pytest.raises(FormatError, match="--from-scratch"):
        tune_pairs(files / "p.tsv")
    with pytest.raises(FormatError, match="--from-scratch"):
        tune_pairs(files / "p.tsv", model=files / "m.safetensors", from_scratch=True)
    with pytest.raises(OutputError, match=r"must end in \.safetensors"):
        tune_pairs(files / "p.tsv", model=files / "m.safetensors", output=files / "o.bin")
    with pytest.raises(OutputError, match="would replace an input"):
        tune_pairs(files / "p.tsv", model=files / "m.safetensors", output=files / "m.safetensors")
    with pytest.raises(CorpusError, match=r"none\.tsv"):
        tune_pairs(files / "none.tsv", model=files / "m.safetensors")


def test_simcse_on_two_columns_says_what_it_is(files: Path) -> None:
    heard: list[Any] = []
    tune_pairs(
        files / "p.tsv", model=files / "m.safetensors", loss="simcse", loaded=heard.append, epochs=1
    )
    assert "dpr by cosine" in heard[0].notes[0]
