"""Measurements that are not part of the tests: one command each, see the Makefile."""
