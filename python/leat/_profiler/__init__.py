"""Counts of a graph: parameters and floating-point operations."""
