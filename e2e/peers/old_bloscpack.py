"""The real bloscpack 0.16 on a Python of today.

It asks the collections module for names that Python 3.10 took away; nothing else of it needs help. Importing this module
puts them back, so that `import bloscpack` works after it. Run as a program it is bloscpack's own command line, blpk.
"""
import collections
import collections.abc
import sys

for _name in ("Mapping", "MutableMapping"):
    if not hasattr(collections, _name):
        setattr(collections, _name, getattr(collections.abc, _name))

import bloscpack  # noqa: E402,F401

if __name__ == "__main__":
    from bloscpack.cli import main
    sys.exit(main())
