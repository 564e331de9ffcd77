"""One pass over the data, timed against what others would run in its place: make bench-pass."""
