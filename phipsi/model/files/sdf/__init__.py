"""SDF files: models, worlds, frames, joints, loops."""
