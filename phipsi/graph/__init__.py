"""One number at a time: a scalar that records what is done to it."""
