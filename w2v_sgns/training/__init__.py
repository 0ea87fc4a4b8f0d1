"""Training: settings and a corpus in, a model out.

Importing this does not import Numba; :func:`train` does, on its first call.
"""

from w2v_sgns.training.trainer import train

__all__ = ["train"]
