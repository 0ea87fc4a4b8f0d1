"""How much of the device's memory a training takes, known before a byte is copied."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from w2v_sgns.errors import ResourceError
from w2v_sgns.machine import human_bytes

if TYPE_CHECKING:
    from w2v_sgns.training.devices import Device

__all__ = ["Needs", "needs_of"]

LISTED = 5 * 4  # bytes of a kept word: word, line, reach, and both edges of its window
TOKEN = 4
SLOTS = 2  # places for a view's tokens where the text does not fit
SPARE = 256 << 20  # bytes left to the driver, the kernels' code and the allocator's gaps


@dataclass(frozen=True, kw_only=True)
class Needs:
    """Bytes of device memory."""

    words: int
    dim: int  # padded
    matrices: int  # E and Ep
    tables: int  # noise, subsampling, the objective's shifts
    lists: int  # the windows of a view
    scratch: int  # of all streams
    text: int  # all token ids
    slots: int  # of two views' token ids, where the text does not fit
    frozen: int = 0  # values of rows that are put back

    @property
    def least(self) -> int:
        """What is needed at least."""
        ours = self.matrices + self.tables + self.lists + self.scratch + self.frozen
        return ours + self.slots + SPARE

    @property
    def with_text(self) -> int:
        """What is needed where the whole text stays on the device."""
        return self.least - self.slots + self.text

    def with_frozen(self, rows: int, *, outputs: bool) -> Needs:
        """Return the needs with so many rows of E frozen, and of Ep where `outputs`."""
        return replace(self, frozen=rows * (8 + (1 + outputs) * 4 * self.dim))

    def check(self, device: Device) -> bool:
        """Tell whether the whole text fits beside the rest.

        Raises:
            ResourceError: the rest does not fit either; with the figures.
        """
        if self.least > device.free:
            raise ResourceError(
                f"--device cuda: E and Ep for {self.words:,} words of {self.dim} padded dimensions "
                f"need {human_bytes(self.matrices)} and {human_bytes(self.least - self.matrices)} "
                f"for the rest, but {human_bytes(device.free)} of {device.name}'s memory are free; "
                "try a smaller --dim, --max-vocab or a larger --min-count, fewer --streams, or "
                "--device cpu"
            )
        return self.with_text <= device.free


def needs_of(
    *, words: int, floats: int, tokens: int, view: int, scratch: int, shifted: bool
) -> Needs:
    """Return what so many words, padded dimensions and tokens take.

    view: most tokens seen at a time; scratch: bytes of all streams.
    """
    view = min(view, tokens)
    return Needs(
        words=words,
        dim=floats,
        matrices=2 * 4 * words * floats,
        tables=words * (8 + 4 + (4 if shifted else 0)),
        lists=LISTED * view,
        scratch=scratch,
        text=TOKEN * tokens,
        slots=SLOTS * TOKEN * view,
    )
