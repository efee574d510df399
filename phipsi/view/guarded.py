"""A server of viser behind a door."""

from __future__ import annotations

import asyncio
from concurrent.futures import TimeoutError
from contextlib import suppress

import viser

from phipsi.errors import BackendError
from phipsi.view.door import Door

PATIENCE = 5.0  # s, for what is being done when the server stops


class GuardedServer(viser.ViserServer):
    """A server of viser that hears only what its pages say, and is never made public.

    Args:
        host: to listen at.
        port: to listen on.
        label: of the panel.
        is_open: whether anybody is let in.

    Raises:
        BackendError: this viser cannot be guarded.
    """

    def __init__(self, host: str, port: int, label: str, is_open: bool):
        self._door = Door()
        with self._door.hung():
            super().__init__(host=host, port=port, label=label, verbose=False)
        if not self._door.is_passed:
            super().stop()
            raise BackendError(
                f"the viewer cannot guard its page with viser {viser.__version__}; "
                "pip install 'viser==1.1.*'"
            )
        if is_open:
            self._door.open(self.gui._gui_input_handle_from_uuid, self._thread_executor)

    def request_share_url(self, verbose: bool = True) -> None:
        """Nothing: viser would open a way from the internet."""

    def stop(self) -> None:
        """Hear nobody any more, have done what was heard, and end."""
        self._door.shut()
        loop = self.get_event_loop()
        if loop.is_running():
            with suppress(TimeoutError):
                asyncio.run_coroutine_threadsafe(asyncio.sleep(0.0), loop).result(PATIENCE)
        self._thread_executor.shutdown()
        super().stop()
