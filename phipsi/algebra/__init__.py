"""What the user writes: typed operator expressions, independent of any machine."""
