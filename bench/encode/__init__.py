"""A mixed table as vectors, timed against pandas and scikit-learn: make bench-encode."""
