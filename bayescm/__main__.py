"""``bayescm`` and ``python -m bayescm``: the command line in a process of its own."""

import sys


def main() -> None:
    """Run the command line without Dask, which only `bayescm paper` may use."""
    # Where it is installed xarray loads all of it with the first array, which takes half a second.
    if sys.argv[1:2] not in (["paper"], ["study"]):
        sys.modules.setdefault("dask", None)  # type: ignore[arg-type]
    from bayescm.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
