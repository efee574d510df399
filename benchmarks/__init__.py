"""How fast phipsi is and how it grows; `run.py` has the comparison with others."""
