"""What messages are made of."""

from phipsi.errors import LONGEST_NAME, name_choices


def test_long_names_are_compared_and_shown_by_their_beginnings():
    """A file can have names of any length, and comparing takes their length squared."""
    long, other = "ab" * 100_000, "ba" * 100_000
    text = name_choices(other, [long, "elbow"])
    assert len(text) < 3 * LONGEST_NAME
    assert text.startswith("did you mean 'abab") and text.endswith("'elbow'")
