"""`python -m vostok doctor`, `python -m vostok tune ...`: the tool's commands."""

import sys

from ._tool import main

if __name__ == "__main__":
    sys.exit(main())
