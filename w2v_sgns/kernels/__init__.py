"""The same mathematics as :mod:`w2v_sgns.objectives`, fast: arrays and scalars in, counts out.

A reader's path: :mod:`.simd` (vectors in LLVM IR) → :mod:`.score` (dot products, sigmoid,
loss) → :mod:`.update` (both matrices) → :mod:`.windows` (subsampling, windows, negatives) →
:mod:`.hogwild` (one step, one chunk, all threads). No paths, no printing, no settings objects.
"""
