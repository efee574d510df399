"""`python -m phipsi` is the command `phipsi`."""

import sys

from phipsi.cli import main

sys.exit(main())
