"""What each objective means: loss and gradients in float64 NumPy, slow and plain.

The kernels compute the same; the tests hold them against these functions.
"""
