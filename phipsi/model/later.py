"""A tuple that is made when somebody looks at it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class Later(Sequence[T], Generic[T]):
    """Equal to the tuple of what a function makes, which is called once, at the first look.

    Args:
        make: a function without arguments.

    >>> shapes = Later(lambda: [print("made now"), 2, 3])
    >>> shapes[1:]
    made now
    (2, 3)
    >>> shapes == (None, 2, 3)
    True
    """

    def __init__(self, make: Callable[[], Iterable[T]]):
        self._make = make

    @cached_property
    def _items(self) -> tuple[T, ...]:
        return tuple(self._make())

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    @overload
    def __getitem__(self, k: int) -> T: ...
    @overload
    def __getitem__(self, k: slice) -> tuple[T, ...]: ...
    def __getitem__(self, k: int | slice) -> Any:
        return self._items[k]

    def __eq__(self, other: object) -> bool:
        return self._items == (other._items if isinstance(other, Later) else other)

    def __hash__(self) -> int:
        return hash(self._items)

    def __repr__(self) -> str:
        return repr(self._items)

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._items,)
