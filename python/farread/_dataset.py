"""xarray: the arrays of a folder, or one array, as a Dataset that is read when it is used."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Union

from . import _errors

if TYPE_CHECKING:
    import xarray as xr


def open_dataset(uri: Union[str, os.PathLike[str]], **kwargs: Any) -> xr.Dataset:
    """Opens the arrays of a folder, or one array, as an xarray Dataset. It needs ``farread[xarray]``.

    It is ``xarray.open_dataset(uri, engine="farread", **kwargs)``, and tasks of dask are called after the
    versions of the arrays, so that those of another version are others. An array alone is called ``data``.
    Nothing but indexes and coordinates is read before it is used; with ``chunks={}`` dask reads a
    stored chunk a task.
    """
    try:
        import xarray

        from ._xarray import Backend, Versions
    except ImportError:
        raise _errors.Invalid("open_dataset needs xarray: pip install 'farread[xarray]'") from None
    return xarray.open_dataset(os.fspath(uri), engine=Backend, versions=Versions(), **kwargs)
