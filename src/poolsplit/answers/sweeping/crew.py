"""Executors: this process, processes on this machine, or a Dask cluster."""

from __future__ import annotations

import contextlib
import os
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Any

from poolsplit.errors import EngineUnreachableError, MissingExtraError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    Make = Callable[[], AbstractContextManager[Executor]]


class HereExecutor(Executor):
    """Does the work at once, in this process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """The result of a call, already there."""
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  a future carries whatever went wrong
            future.set_exception(error)
        return future


def executor_of(workers: int | None, dask: str | None) -> tuple[Make, tuple[type[BaseException], ...]]:
    """What makes an executor, and the errors that mean a lost worker.

    Raises:
        UsageError: Both kinds at once, or no workers.
        MissingExtraError: Dask is not installed.
    """
    if dask is not None and workers is not None:
        raise UsageError("--workers and --dask are two ways to do the work", hint="give one of them")
    if dask is not None:
        return _dask(dask)
    if workers is None:
        return HereExecutor, (BrokenProcessPool,)
    if workers < 1:
        raise UsageError(f"{workers} workers do nothing", where="--workers", hint="1 or more")

    def make() -> ProcessPoolExecutor:
        import multiprocessing

        return ProcessPoolExecutor(
            workers, mp_context=multiprocessing.get_context("spawn"), initializer=end_with_parent
        )

    return make, (BrokenProcessPool,)


def end_with_parent() -> None:
    """Lets this worker end when the process that started it is gone, whatever ended it and whatever runs here."""
    import threading
    from multiprocessing import parent_process
    from multiprocessing.connection import wait

    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="parent").start()


def _dask(address: str) -> tuple[Make, tuple[type[BaseException], ...]]:
    try:
        from distributed import Client, KilledWorker
    except ImportError:
        raise MissingExtraError("Dask is not installed", hint="pip install 'poolsplit[dask]'") from None

    @contextlib.contextmanager
    def make() -> Iterator[Executor]:
        try:
            client = Client(address, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise EngineUnreachableError(
                f"no Dask scheduler answers: {error}", where=address, hint="start one with `dask scheduler`"
            ) from None
        with client:
            executor = client.get_executor(pure=False)
            try:
                yield executor
            finally:
                executor.shutdown(wait=False)

    return make, (KilledWorker,)
