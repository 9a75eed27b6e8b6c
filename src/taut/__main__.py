"""``python -m taut``: the command line."""

import sys

from taut.cli import main

sys.exit(main())
