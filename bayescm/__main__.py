"""``python -m bayescm``: the command line."""

from bayescm.cli import main

if __name__ == "__main__":
    main()
