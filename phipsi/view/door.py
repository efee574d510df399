"""The door of the server: who may come in, how many, and how much they may bring.

A page of another site in the same browser can call any server of this machine, and so can a site
whose name leads here. A browser says for whom it calls, by `Origin`, and whom it calls, by `Host`;
both have to be this server. A program of this machine may say what it likes: it is let in, and can
do what a page can do, see `hearing`.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import re
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import Any

import viser
import websockets.asyncio.server as websocket_server
from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers
from websockets.frames import Frame, Opcode
from websockets.http11 import Request, Response
from websockets.protocol import SEND_EOF

from phipsi.view.hearing import LONGEST_MESSAGE, heard

MOST_CLIENTS = 16
MOST_CONNECTIONS = 64  # requests for files among them
MOST_UNSENT = 2**16  # bytes for a caller who asks for more and reads nothing
FAREWELL = 1.0  # s, for a caller to say that it has heard that all is over
THIS_MACHINE = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?", re.IGNORECASE)
FRAMES = "http://localhost:* http://127.0.0.1:*"  # pages of this machine may hold ours
HEADERS = {
    "Content-Security-Policy": f"frame-ancestors 'self' {FRAMES}",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}

logger = logging.getLogger(__name__)
logger.addHandler(logging.NullHandler())  # callers cannot fill a terminal

_hanging = threading.Lock()


class Door:
    """Stands in front of one server of viser; shut until it is opened.

    Attributes:
        clients: how many are in.
        is_passed: whether viser serves through it.
    """

    def __init__(self) -> None:
        self.clients, self.is_passed = 0, False
        self._inputs: Mapping[str, Any] | None = None
        self._pool: Executor | None = None
        self._spoken = f"viser-v{viser.__version__}"

    @contextmanager
    def hung(self) -> Iterator[None]:
        """What viser serves from while this lasts, it serves through this door."""
        with _hanging:
            before = websocket_server.serve
            websocket_server.serve = functools.partial(self._serve, before)  # type: ignore
            try:
                yield
            finally:
                websocket_server.serve = before  # type: ignore

    def open(self, inputs: Mapping[str, Any], pool: Executor) -> None:
        """Let callers in.

        Args:
            inputs: sliders, boxes and buttons of the page, as viser names them.
            pool: in which viser does what they say.
        """
        self._pool, self._inputs = pool, inputs

    def shut(self) -> None:
        """Let nobody in, and hear nobody who is in."""
        self._inputs = None

    def refusal(self, headers: Headers) -> str | None:
        """Why a caller is not let in; None if it is.

        >>> door = Door()
        >>> door.open({}, None)
        >>> door.refusal(Headers(Host="evil.com:8080"))
        'this page is for 127.0.0.1 and localhost alone'
        >>> door.refusal(Headers(Host="localhost:8080", Origin="https://evil.com"))
        'pages of other sites cannot look at this one'
        >>> door.refusal(Headers(Host="localhost:8080", Origin="http://localhost:8080"))
        """
        if self._inputs is None:
            return "nobody is let in"
        hosts, origins = headers.get_all("Host"), headers.get_all("Origin")
        if len(hosts) != 1 or not THIS_MACHINE.fullmatch(hosts[0]):
            return "this page is for 127.0.0.1 and localhost alone"
        if [origin.lower() for origin in origins] not in ([], [f"http://{hosts[0].lower()}"]):
            return "pages of other sites cannot look at this one"
        return None

    async def next_turn(self) -> None:
        """Wait until what was said before is taken up, so that it cannot pile up."""
        await asyncio.sleep(0)  # tasks of the message before begin
        await asyncio.get_running_loop().run_in_executor(self._pool, int)  # so do its callbacks

    def heard(self, raw: bytes | str) -> bytes | None:
        """A message as viser is to have it; None if no page would say it."""
        return None if self._inputs is None else heard(raw, self._inputs)

    # -- what viser calls

    def _serve(self, serve: Callable[..., Any], handler: Any, *place: Any, **options: Any) -> Any:
        """As `serve` of websockets, with this door before the handler if it is viser's."""
        if not handler.__module__.startswith("viser."):
            return serve(handler, *place, **options)
        self.is_passed = True
        answer = options["process_request"]

        def ask(caller: ServerConnection, request: Request) -> Response | None:
            reason = self.refusal(request.headers)
            if reason is not None:
                return caller.respond(HTTPStatus.FORBIDDEN, f"{reason}\n")
            answered: Response | None = answer(caller, request)
            return answered

        options |= {
            "process_request": ask,
            "process_response": _add_headers,
            "max_size": LONGEST_MESSAGE,
            "close_timeout": FAREWELL,
            "create_connection": functools.partial(Caller, self),
            "logger": logger,
        }
        return serve(functools.partial(self._welcome, handler), *place, **options)

    async def _welcome(
        self, handler: Callable[[ServerConnection], Awaitable[None]], caller: ServerConnection
    ) -> None:
        """Have a caller seen to, unless it speaks another language or there are too many."""
        if caller.subprotocol != self._spoken:
            await caller.close(1002, f"this server speaks {self._spoken}; load the page again")
        elif self.clients >= MOST_CLIENTS:
            await caller.close(1013, f"{MOST_CLIENTS} pages look at this already")
        else:
            self.clients += 1
            try:
                await handler(caller)
            finally:
                self.clients -= 1


class Caller(ServerConnection):
    """Somebody who calls: only what a page would say is heard, one after the other.

    Args:
        door: that it stands before.
        arguments: of the connection, as websockets has them.
        options: of it.
    """

    def __init__(self, door: Door, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self._door = door

    def connection_made(self, transport: Any) -> None:
        """Take the call, unless there are too many."""
        super().connection_made(transport)
        if len(self.server.handlers) > MOST_CONNECTIONS:
            transport.abort()

    def process_event(self, event: Any) -> None:
        """Take a frame; a message in parts, or a call for answers that nobody reads, ends it all.

        Pages send neither; both could fill the memory, each part being small.
        """
        if isinstance(event, Frame):
            is_greedy = (
                event.opcode is Opcode.PING and self.transport.get_write_buffer_size() > MOST_UNSENT
            )
            if is_greedy or not event.fin:
                self.transport.abort()
                return
        super().process_event(event)

    def send_data(self) -> None:
        """Write what there is to send at once, and nothing on a line that is cut.

        asyncio would complain of every further write.
        """
        parts = self.protocol.data_to_send()
        if self.transport.is_closing():
            return
        data = b"".join(parts)
        if data:
            self.transport.write(data)
        if SEND_EOF in parts:
            with suppress(OSError, RuntimeError):
                self.transport.write_eof()

    async def recv(self, decode: bool | None = None) -> Any:
        """The next message that a page would say."""
        while True:
            await self._door.next_turn()
            message = self._door.heard(await super().recv(decode))
            if message is not None:
                return message


def _add_headers(caller: ServerConnection, request: Request, response: Response) -> None:
    for name, value in HEADERS.items():
        response.headers[name] = value
