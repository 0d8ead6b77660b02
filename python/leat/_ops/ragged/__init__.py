"""Ragged tensors: rows of different lengths, as flat values and the places where rows end."""
