"""MJCF files: checked, handed to MuJoCo, and taken over from it."""
