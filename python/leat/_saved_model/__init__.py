"""SavedModels: a folder with graphs, their signatures, variables and files."""
