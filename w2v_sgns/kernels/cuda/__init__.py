"""The kernels for NVIDIA GPUs, by Numba: a warp trains a stream of consecutive windows.

Where noise words are shared by a batch, a block trains a stream of batches by dense products.

Random numbers, windows and noise words are those of the CPU's kernels (the same functions), so
a stream alone trains exactly the windows that one CPU thread does. The steps themselves are
defined in :mod:`w2v_sgns.objectives.window` and :mod:`w2v_sgns.objectives.shared`. Importing one
of these modules loads numba.cuda.
"""
