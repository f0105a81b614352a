"""Parallel computation in processes or on a Dask cluster, with a progress bar."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager


def parallel(function: Callable, tasks: Iterable[tuple], jobs: int | str) -> Iterator:
    """Apply a function to every task and yield the results in order of completion."""
    if jobs == 1:
        for task in tasks:
            yield function(*task)
        return
    import joblib

    calls = (joblib.delayed(function)(*task) for task in tasks)
    if isinstance(jobs, str):
        from distributed import Client

        with Client(jobs) as client, joblib.parallel_config("dask", client=client):
            yield from joblib.Parallel(return_as="generator_unordered")(calls)
    else:
        yield from joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")(calls)


@contextmanager
def progress_bar(total: int, title: str, show: bool = True) -> Iterator[Callable[[], None]]:
    """Show a progress bar with the remaining time, and yield a function that advances it."""
    if not show:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = "{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)
