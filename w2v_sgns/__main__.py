"""`python -m w2v_sgns` is the command `w2v`."""

from __future__ import annotations

from w2v_sgns.cli.app import main

if __name__ == "__main__":
    main()
