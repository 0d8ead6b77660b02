"""The functions of the API that add operations."""
