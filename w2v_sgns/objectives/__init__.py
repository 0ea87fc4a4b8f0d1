"""What each objective means: loss and gradients in float64 NumPy, slow and plain.

:mod:`.sgns`, :mod:`.nce` and :mod:`.softmax` say what a score costs; :mod:`.window` and
:mod:`.shared` what one step does with it. The kernels compute the same; the tests hold them
against these functions.
"""
