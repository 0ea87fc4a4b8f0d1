"""Training: settings and a corpus in, a model out. Importing this does not import Numba."""
