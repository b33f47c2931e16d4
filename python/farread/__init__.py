"""Chunked datasets, read from object storage with few ranged requests.

>>> import farread
>>> a = farread.open(sample)      # or s3://bucket/key.b2nd, https://host/key.b2nd
>>> a[0, 1:3]
array([1, 2], dtype=int32)
"""

from . import bloscpack, gulp, zoom
from ._array import Array, open
from ._dataset import open_dataset
from ._errors import Changed, Corrupt, Denied, Error, Exists, Invalid, NoEntry, NotFound, TooLarge, Unavailable, Unsupported
from ._gateway import configure
from ._pack import pack
from ._program import program
from ._version import version as __version__

__all__ = [
    "Array",
    "Changed",
    "Corrupt",
    "Denied",
    "Error",
    "Exists",
    "Invalid",
    "NoEntry",
    "NotFound",
    "TooLarge",
    "Unavailable",
    "Unsupported",
    "__version__",
    "bloscpack",
    "configure",
    "gulp",
    "open",
    "open_dataset",
    "pack",
    "program",
    "zoom",
]
