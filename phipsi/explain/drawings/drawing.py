"""A drawing: SVG text that notebooks show and that is saved whole."""

from __future__ import annotations

import os
from dataclasses import dataclass

from phipsi.whole_file import checked_suffix, replacing


@dataclass(frozen=True)
class Drawing:
    """A picture as SVG, made by `draw_blocks` or `draw_dataflow`; a notebook shows it.

    Args:
        svg: its text: one element, no file beside it needed.
        title: what it shows, in a line.

    >>> Drawing('<svg xmlns="http://www.w3.org/2000/svg"/>', "nothing")
    <Drawing 'nothing', 1 kB of SVG>
    """

    svg: str
    title: str

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, whole or not at all.

        Args:
            path: of the file, a .svg.

        Raises:
            InputError: another suffix, or a file that cannot be written.

        >>> import pathlib, tempfile
        >>> drawing = Drawing('<svg xmlns="http://www.w3.org/2000/svg"/>', "nothing")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     drawing.save(f"{folder}/nothing.svg")
        ...     print(pathlib.Path(folder, "nothing.svg").read_text())
        <svg xmlns="http://www.w3.org/2000/svg"/>
        """
        checked_suffix(path, [".svg"])
        with replacing(path) as stream:
            stream.write(self.svg.encode())

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Drawing {self.title!r}, {-(-len(self.svg) // 1000)} kB of SVG>"
