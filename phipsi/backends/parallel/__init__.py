"""Several threads on one batch, or on one large machine."""
