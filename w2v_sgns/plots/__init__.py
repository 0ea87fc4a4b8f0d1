"""Pictures: a map of the words, training curves. What is drawn is worked out elsewhere."""
