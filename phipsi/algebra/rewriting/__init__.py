"""Rewriting: normal forms, common factors, rules, where they apply, and the search.

normal      what an expression is, whatever way it was typed
collect     common factors taken out of sums
share       names for parts that occur twice
inertia     articulated letters of another inertia, normal enough to be compared
price       what an expression costs as it reads
rules       equations read in one direction
opening     the normal form, where every search begins
others      lemmas of other inertias, points and joints
match       where a rule applies
search      the cheapest expression, under a cost passed in
"""
