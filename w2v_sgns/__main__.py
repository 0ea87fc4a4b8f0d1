"""`python -m w2v_sgns` is the command `w2v`.

Until the libraries are loaded, Ctrl-C ends the process without a traceback.
"""

from __future__ import annotations

import os
import signal


def main() -> None:
    """Load the command line, then run it."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(128 + signal.SIGINT))
    from w2v_sgns.cli.app import main as run

    run()


if __name__ == "__main__":
    main()
