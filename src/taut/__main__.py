"""``python -m taut``: the command line."""

import sys

from taut.cli import main

if __name__ == "__main__":
    sys.exit(main())
