"""Whole fits against other k-means."""
