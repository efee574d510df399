"""From an expression to the cheapest one that means the same; every step checked."""
