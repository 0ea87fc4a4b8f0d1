"""A model's parts fit each other, and only finite numbers are saved."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from small_models import small_model

from w2v_sgns.config import TrainConfig
from w2v_sgns.errors import ConfigError, DivergenceError, OutputError
from w2v_sgns.model import Model


def test_repr_says_what_it_is() -> None:
    assert repr(small_model()) == "<Model of 8 words × 5, 2 of 2 epochs, loss 2.2500>"


def test_vectors_share_memory() -> None:
    model = small_model()
    assert np.shares_memory(model.vectors.matrix, model.E)


@pytest.mark.parametrize(
    ("E", "dim"),
    [
        (np.zeros((8, 4), "f4"), 5),
        (np.zeros((7, 5), "f4"), 5),
        (np.zeros((8, 5), "f8"), 5),
        (np.zeros((8, 5), "f4"), 4),
    ],
)
def test_parts_that_do_not_fit_are_refused(E: np.ndarray, dim: int) -> None:
    with pytest.raises(ConfigError, match=r"E is float.* need float32"):
        Model(E, E, vocabulary=small_model().vocabulary, config=TrainConfig(dim=dim))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("matrix", ["E", "Ep"])
def test_a_row_that_is_not_finite_is_named_and_not_saved(
    tmp_path: Path, value: float, matrix: str
) -> None:
    model = small_model()
    getattr(model, matrix)[2, 4] = value
    which = {"E": "input", "Ep": "output"}[matrix]
    with pytest.raises(DivergenceError, match=rf"the {which} vector of 'new york' \(row 2\).*--lr"):
        model.save(tmp_path / "m.safetensors")
    assert list(tmp_path.iterdir()) == []


def test_the_first_bad_row_is_found_in_a_later_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("w2v_sgns.model.BLOCK_ROWS", 3)
    model = small_model()
    model.E[[5, 7]] = np.nan
    with pytest.raises(DivergenceError, match="row 5"):
        model.check_finite()


def test_a_history_that_is_not_finite_is_not_saved(tmp_path: Path) -> None:
    model = small_model()
    model.history.append({"loss": float("nan")})
    with pytest.raises(DivergenceError, match="history"):
        model.save(tmp_path / "m.safetensors")
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_needs_force(tmp_path: Path) -> None:
    file = tmp_path / "m.safetensors"
    small_model().save(file)
    with pytest.raises(OutputError, match="exists; use --force"):
        small_model().save(file)
    small_model(seed=2).save(file, force=True)
    np.testing.assert_array_equal(Model.load(file).E, small_model(seed=2).E)


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    one, two = tmp_path / "1.safetensors", tmp_path / "2.safetensors"
    small_model().save(one)
    small_model().save(two)
    assert one.read_bytes() == two.read_bytes()
