"""What is there to train on, and what is missing: a sentence each, never a traceback."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from w2v_sgns.cli.app import app
from w2v_sgns.config import RunOptions, TrainConfig
from w2v_sgns.errors import ConfigError, ResourceError
from w2v_sgns.training import devices, placement
from w2v_sgns.training.devices import Device, compiling, cuda_device, device_errors
from w2v_sgns.training.placement import Placement

GPU = Device(name="Some GPU", capability=(9, 0), multiprocessors=132, free=1e11, total=1e11)


class CudaSupportError(ImportError):
    """As numba.cuda's."""


class CudaAPIError(Exception):
    """As numba.cuda's."""


class DynamicLibNotFoundError(RuntimeError):
    """As cuda.pathfinder's."""


class LinkerError(RuntimeError):
    """As numba.cuda's."""


ERRORS: list[tuple[Exception, str]] = [
    (CudaSupportError("CUDA driver library cannot be found"), "no NVIDIA driver is installed"),
    (
        CudaSupportError("Call to cuInit results in CUDA_ERROR_NO_DEVICE"),
        "there is an NVIDIA driver, but no GPU is visible",
    ),
    (CudaSupportError("driver too old"), "the NVIDIA driver does not start: driver too old"),
    (DynamicLibNotFoundError("libnvrtc.so"), "no CUDA compiler library was found (libnvrtc.so)"),
    (LinkerError("sm_999"), "the kernel could not be compiled for this GPU: sm_999"),
    (CudaAPIError("cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY"), "the GPU's memory does not suffice"),
    (CudaAPIError("an illegal\naddress"), "the GPU failed (an illegal address)"),
]


@pytest.mark.parametrize(("error", "sentence"), ERRORS, ids=lambda value: str(value)[:20])
def test_an_error_becomes_a_sentence(error: Exception, sentence: str) -> None:
    with pytest.raises(ResourceError) as told, device_errors():
        raise error
    assert str(told.value).startswith(f"--device cuda: {sentence}")
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("error", [ValueError("ours"), ConfigError("ours")])
def test_other_errors_pass(error: Exception) -> None:
    with pytest.raises(type(error), match="ours") as told, device_errors():
        raise error
    assert told.value is error


def test_the_hidden_gpus_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    with pytest.raises(ResourceError, match="CUDA_VISIBLE_DEVICES is '7'"), device_errors():
        raise CudaSupportError("CUDA_ERROR_NO_DEVICE")


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A driver that answers."""
    from numba import cuda

    found = SimpleNamespace(name=b"Old GPU", compute_capability=(9, 0), MULTIPROCESSOR_COUNT=20)
    context = SimpleNamespace(get_memory_info=lambda: (4_000_000_000, 8_000_000_000))
    monkeypatch.setattr(devices, "is_simulated", lambda: False)
    monkeypatch.setattr(devices, "needs_numba_cuda", lambda: None)
    monkeypatch.setattr(cuda, "current_context", lambda: context)
    monkeypatch.setattr(cuda, "get_current_device", lambda: found)
    return found


def test_a_gpu_is_described(gpu: SimpleNamespace) -> None:
    assert cuda_device() == Device(
        name="Old GPU", capability=(9, 0), multiprocessors=20, free=4e9, total=8e9
    )
    shown = CliRunner().invoke(app, ["info", "--devices"]).stdout
    assert "cuda        Old GPU, compute capability 9.0, 20 multiprocessors" in shown
    assert "4 GB of 8" in " ".join(shown.split())


def test_an_old_gpu_is_refused(gpu: SimpleNamespace) -> None:
    gpu.compute_capability = (6, 1)
    with pytest.raises(ResourceError, match=r"Old GPU has compute capability 6\.1, needed: 7\.0"):
        cuda_device()


def test_numba_alone_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "is_simulated", lambda: False)
    monkeypatch.setattr(devices.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ResourceError, match=r"numba-cuda is not installed; pip install 'w2v-sgns"):
        cuda_device()


def test_numpy_is_lent_a_name_while_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(vars(np), "row_stack", raising=False)
    with pytest.raises(KeyError), compiling():
        assert vars(np)["row_stack"] is np.vstack
        raise KeyError
    assert "row_stack" not in vars(np)
    monkeypatch.setitem(vars(np), "row_stack", "numpy's own")
    with compiling():
        pass
    assert vars(np)["row_stack"] == "numpy's own"


def test_no_gpu_is_one_line_and_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def none() -> Device:
        raise ResourceError("--device cuda: no NVIDIA driver is installed")

    monkeypatch.setattr(placement, "cuda_device", none)
    text, model = tmp_path / "corpus.txt", tmp_path / "m.safetensors"
    text.write_text("a b c d e f g\n")
    command = ["train", str(text), "-o", str(model), "--device", "cuda", "--min-count", "1"]
    done = CliRunner().invoke(app, command)
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
    assert "no NVIDIA driver is installed" in done.stderr
    assert not model.exists()


@pytest.mark.parametrize("objective", ["softmax", "inbatch"])
def test_what_only_the_cpu_trains_is_refused(objective: str) -> None:
    config = TrainConfig(objective=objective)
    with pytest.raises(ConfigError, match="trains on the CPU alone: give --device cpu"):
        placement.asked_device(RunOptions(device="cuda"), config)
    assert placement.asked_device(RunOptions(device="auto"), config) is None


def test_too_many_dimensions_are_refused() -> None:
    config = TrainConfig(dim=2049)
    with pytest.raises(ConfigError, match="at most 2,048 dimensions, not 2049"):
        placement.asked_device(RunOptions(device="cuda"), config)
    assert placement.asked_device(RunOptions(device="auto"), config) is None


def corpus_of(tokens: int) -> Any:
    """A counted text of 10,000 words that are equally frequent."""
    counts = np.full(10_000, max(1, tokens // 10_000))
    store = SimpleNamespace(tokens=range(tokens))
    return SimpleNamespace(vocabulary=SimpleNamespace(counts=counts), store=store)


def test_auto_takes_the_gpu_where_it_is_expected_to_be_faster() -> None:
    options = RunOptions(device="auto")
    small, large = corpus_of(100_000), corpus_of(100_000_000)
    here = placement.placed(GPU, options, small, TrainConfig(), 2)
    assert here.device is None
    assert "the CPU, faster here than Some GPU" in here.note
    there = placement.placed(GPU, options, large, TrainConfig(), 2)
    assert (there.device, there.streams) == (GPU, 528)
    assert there.note == "on Some GPU, 528 streams of windows at once; compiles first"
    simulator = replace(GPU, simulated=True)
    assert placement.placed(simulator, options, large, TrainConfig(), 2).device is None
    batches = TrainConfig(shared_noise="batch")
    there = placement.placed(GPU, options, large, batches, 2)
    assert there.note == "on Some GPU, 132 streams of batches at once; compiles first"
    nowhere = placement.placed(None, options, large, TrainConfig(), 2)
    assert nowhere.device is None
    assert "no GPU can train this" in nowhere.note


def test_streams_are_of_no_use_on_the_cpu() -> None:
    """Said, but where a checkpoint of a GPU's run, which has some, goes on there."""

    def note(**given: Any) -> str:
        options = RunOptions(device="cpu", **given)
        return placement.placed(None, options, corpus_of(100_000), TrainConfig(), 2).note

    assert note(streams=7) == "--streams 7 is of no use on the CPU; it is for --device cuda"
    assert note(streams=7, resume="m.checkpoint.safetensors") == note() == ""


def test_auto_takes_no_gpu_that_is_too_small() -> None:
    """10,000 words of 112 floats take 9 MB, and the rest 650; --device cuda is refused later."""
    options, text = RunOptions(device="auto"), corpus_of(100_000_000)
    small = replace(GPU, free=500e6)
    here = placement.placed(small, options, text, TrainConfig(), 2)
    assert here.device is None
    assert here.note == "--device auto: the CPU, this does not fit into the memory of Some GPU"
    assert placement.placed(replace(GPU, free=700e6), options, text, TrainConfig(), 2).device
    asked = RunOptions(device="cuda")
    assert placement.placed(small, asked, text, TrainConfig(), 2).device == small


def test_auto_without_a_gpu_is_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Device:
        raise ResourceError("none")

    monkeypatch.setattr(placement, "cuda_device", none)
    assert placement.asked_device(RunOptions(device="auto"), TrainConfig()) is None
    with pytest.raises(ResourceError):
        placement.asked_device(RunOptions(device="cuda"), TrainConfig())
    assert placement.asked_device(RunOptions(), TrainConfig()) is None


def test_streams_given_are_streams_used() -> None:
    options = RunOptions(device="cuda", streams=7)
    placed = placement.placed(GPU, options, corpus_of(1000), TrainConfig(), 2)
    assert placed.streams == 7
    told = placed.added_to({"deterministic": True})
    assert told == {"device": "cuda", "streams": 7, "deterministic": False}


def test_a_run_on_both_remembers_both() -> None:
    cpu, gpu = Placement(threads=1), Placement(threads=1, device=GPU, streams=1)
    begun = cpu.added_to({"deterministic": True})
    both = gpu.added_to(begun)
    assert both == {"device": "cpu, cuda", "streams": 1, "deterministic": True}
    assert cpu.added_to(both) == both
    assert not gpu.added_to(begun | {"deterministic": False})["deterministic"]
    assert gpu.added_to({"deterministic": False})["deterministic"]  # one stream, any threads


@pytest.mark.parametrize("options", [{"device": "gpu"}, {"streams": -1}, {"streams": 1.5}], ids=str)
def test_ranges(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"--(device|streams)"):
        RunOptions(**options)
