"""Training on an NVIDIA GPU. Importing a module of it but streams and needs loads numba.cuda."""
