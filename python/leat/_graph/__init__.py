"""Graphs and what they consist of: handles of the C graph, and the rules for building it."""
