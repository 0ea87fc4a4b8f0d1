"""The same mathematics as :mod:`w2v_sgns.objectives`, fast: arrays and scalars in, counts out.

A reader's path: :mod:`.simd` (vectors in LLVM IR) → :mod:`.score` (dot products, sigmoid,
loss) → :mod:`.update` (both matrices) → :mod:`.step` (one window step) → :mod:`.windows`
(subsampling, windows, negatives; its random numbers are in :mod:`.rng`) → :mod:`.hogwild` (one
chunk). Beside them: :mod:`.workspace` and :mod:`.matrices` (memory), :mod:`.compile` (the cache).
No paths, no printing, no settings objects.
"""
