"""How a program runs: each backend in its own file, imported on first use."""
