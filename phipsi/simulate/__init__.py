"""Motion over time: integrators, controls, trajectories."""
