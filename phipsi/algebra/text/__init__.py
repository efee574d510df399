"""Expressions as text: how names are spelled, how expressions look, how typed ones are read."""
