"""Effects that are HTTP requests, with a key by which the other side recognises a repeat.

Needs the extra ``http``. Nothing is inferred from a status code: the caller says what a response
means. The one thing known without him is that nothing was sent where no connection came about.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import httpx

from fencepost.records import Lease

from .errors import InvalidArgument
from .records import Failed, Operation, Outcome, Resolution, Unknown
from .runner import Context, EffectRunner, RecoverResult, RunResult, run_http_effect

HEADER: Final = "Idempotency-Key"

_PRINTABLE: Final = re.compile(r"[!-~]([ -~]*[!-~])?")

OnResponse = Callable[[httpx.Response, Context], Outcome]
OnStatus = Callable[[httpx.Response, Operation], Resolution]
Target = str | Callable[[str], str]
"""An address, or what makes one of the operation's key."""

_Made = tuple[httpx.Request, Any]
"""A request, and how it proves whose it is."""

_LIKE_THE_KERNELS: Final = f"fencepost:{'0' * 64}"
_NOT_SENT: Final = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.UnsupportedProtocol,
)


class HttpEffects:
    """Sends a request once for each operation, and asks how it went where nobody knows.

    :param runner: keeps the operations.
    :param client: the application's, with its own time limits and credentials. Redirects are not
        followed: the second request would be one that no operation stands for.
    :param header: carries the operation's key.
    """

    def __init__(self, runner: EffectRunner, client: httpx.Client, *, header: str = HEADER) -> None:
        self._runner = runner
        self._client = client
        self._header = header

    def run(
        self,
        key: str,
        fingerprint: str,
        *,
        method: str,
        url: Target,
        on_response: OnResponse,
        request: dict[str, Any] | None = None,
        **options: Any,
    ) -> RunResult:
        """Send it if the key is free, and record what *on_response* says of the response.

        The request is made before anything is claimed, so that one that cannot be made costs
        nothing.

        :param key: goes into the header, so it is printable ASCII.
        :param request: what ``httpx.Client.request`` takes beside method and address: ``json``,
            ``content``, ``headers``, ``auth``.
        :param options: those of :meth:`EffectRunner.run`.
        """
        prepare = self._prepared(method, url, request)
        made = prepare(key)
        options.setdefault("on_error", classified)
        return run_http_effect(
            self._runner,
            key,
            fingerprint,
            request=lambda _: self._send(made),
            on_response=on_response,
            **options,
        )

    def run_under(
        self,
        lease: Lease,
        fingerprint: str,
        *,
        method: str,
        url: Target,
        on_response: OnResponse,
        request: dict[str, Any] | None = None,
        **options: Any,
    ) -> RunResult:
        """Send it as an operation of a campaign's attempt; see :meth:`run`.

        The kernel makes the key, which the header carries. That the request can be made is tried
        with a key of that form before anything is begun.

        :param on_response: says ``Completed`` only with what it read back.
        :param options: those of :meth:`EffectRunner.run_under`.
        """
        prepare = self._prepared(method, url, request)
        prepare(_LIKE_THE_KERNELS)

        def execute(context: Context) -> Outcome:
            try:
                made = prepare(context.key)
            except Exception as error:  # noqa: BLE001 - whatever it is, it was before the request
                return Failed(reason=f"nothing was sent: {type(error).__name__}: {error}")
            return on_response(self._send(made), context)

        options.setdefault("on_error", classified)
        return self._runner.run_under(lease, fingerprint, execute, **options)

    def recover(
        self, key: str, *, url: Target, on_status: OnStatus, **options: Any
    ) -> RecoverResult:
        """Ask the other side about an unknown operation, with a GET that carries its key.

        :param on_status: says what the answer means. Where the other side cannot be asked, the
            error is the caller's, and the operation stays unknown.
        :param options: those of :meth:`EffectRunner.recover`; for a campaign's operation with the
            ``lease`` of its present holder.
        """

        def ask(operation: Operation) -> Resolution:
            answer = self._client.get(
                _address(url, operation.key),
                headers={self._header: _printable(operation.key)},
                follow_redirects=False,
            )
            return on_status(answer, operation)

        return self._runner.recover(key, ask, **options)

    def _prepared(
        self, method: str, url: Target, request: dict[str, Any] | None
    ) -> Callable[[str], _Made]:
        """Return what makes the request that carries a key."""
        given = dict(request or {})
        headers = httpx.Headers(given.pop("headers", None))
        if self._header in headers:
            message = f"the header {self._header} carries the operation's key"
            raise InvalidArgument(message)
        auth = given.pop("auth", httpx.USE_CLIENT_DEFAULT)

        def prepare(key: str) -> _Made:
            carrying = httpx.Headers(headers)
            carrying[self._header] = _printable(key)
            address = _address(url, key)
            return self._client.build_request(method, address, headers=carrying, **given), auth

        return prepare

    def _send(self, made: _Made) -> httpx.Response:
        request, auth = made
        return self._client.send(request, auth=auth, follow_redirects=False)


def classified(error: BaseException, _: Context) -> Outcome:
    """Say how a request ended that raised: not sent, or nobody knows."""
    what = f"{type(error).__name__}: {error}"
    if isinstance(error, _NOT_SENT):
        return Failed(reason=f"nothing was sent: {what}")
    return Unknown(reason=what)


def _printable(key: str) -> str:
    if not _PRINTABLE.fullmatch(key):
        message = f"{key!r} is no printable ASCII, and a header takes nothing else"
        raise InvalidArgument(message)
    return key


def _address(url: Target, key: str) -> str:
    return url if isinstance(url, str) else url(key)
