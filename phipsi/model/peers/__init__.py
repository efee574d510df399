"""Models of other packages: taken over, and their numbers turned into ours and back."""
