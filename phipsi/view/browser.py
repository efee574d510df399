"""The user's browser."""

from __future__ import annotations

import os
import sys


def open_page(url: str) -> bool:
    """Show a page in the user's browser; False if there is none to show it.

    Without a display only a browser of the terminal could be found, which
    shows nothing of a scene and takes the terminal.
    """
    needs_display = sys.platform not in ("darwin", "win32")
    if needs_display and not any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))):
        return False
    import webbrowser  # and with it much that `import phipsi` does not need

    try:
        return webbrowser.open(url)
    except webbrowser.Error:
        return False
