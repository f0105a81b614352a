"""Entry point of the command line, for ``bayescm`` and ``python -m bayescm``."""

import sys


def main() -> None:
    """Run the command line without Dask, which only `bayescm paper` may use."""
    # If Dask is installed, xarray imports it with the first array, which takes half a second.
    if sys.argv[1:2] not in (["paper"], ["study"]):
        sys.modules.setdefault("dask", None)  # type: ignore[arg-type]
    from bayescm.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
