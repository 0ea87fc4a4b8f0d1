"""The kernels for NVIDIA GPUs, by Numba: one warp trains one stream of consecutive windows.

Random numbers, windows and noise words are those of the CPU's kernels (the same functions), so
a stream alone trains exactly the windows that one CPU thread does. The step itself is defined
in :mod:`w2v_sgns.objectives.window`. Importing one of these modules loads numba.cuda.
"""
