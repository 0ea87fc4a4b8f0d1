"""Training on several machines: replicas that are merged every so often."""
