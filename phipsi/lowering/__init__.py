"""How an expression becomes numbers: densely here, in O(N) by the programs to come."""
