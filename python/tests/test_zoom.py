"""Series."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pytest
from conftest import run

import farread
from farread import zoom


def test_view(series: str) -> None:
    v = farread.zoom.view(series, 10, 20.0, width=5)
    assert len(v["min"]) == 5 and v["min"][0] <= 100 and v["max"][-1] >= 198 and (v["count"] > 0).all() and v["t0"][0] <= 10
    assert farread.zoom.tracks(series)[0]["samples"] == 1000
    with pytest.raises(farread.NoEntry):
        farread.zoom.view(series, track=9)
    with pytest.raises(farread.Invalid):
        farread.zoom.view(series, "yesterday")
    with pytest.raises(farread.Unsupported, match="no array: use farread.zoom.view"):
        farread.open(series)


@pytest.fixture
def dated(tmp_path: Path) -> str:
    """A series of 300 samples, one a minute."""
    first = np.datetime64("2026-05-01T06:00:00")
    rows = "".join(f"{first + np.timedelta64(i, 'm')}Z,{i}\n" for i in range(300))
    (tmp_path / "dated.csv").write_text("time,level\n" + rows)
    run("pack", tmp_path / "dated.csv", tmp_path / "dated.zoom")
    return str(tmp_path / "dated.zoom")


HOUR = datetime.datetime(2026, 5, 1, 7)
EAST = datetime.timezone(datetime.timedelta(hours=2))
MOMENTS = [
    3600, 3600.0, np.float32(3600), "1h", "2026-05-01T07:00:00Z", HOUR, HOUR.replace(tzinfo=datetime.timezone.utc), HOUR.replace(hour=9, tzinfo=EAST),
    datetime.timedelta(hours=1), np.timedelta64(1, "h"), np.timedelta64(3_600_000_000_000, "ns"), np.datetime64(HOUR), np.datetime64("2026-05-01T07"),
    np.datetime64("2026-05-01T07:00", "30m"), np.datetime64("2026-05-01T07:00", "ns"), np.array("2026-05-01T07:00", "M8[s]"),
]  # fmt: skip


@pytest.mark.parametrize("moment", MOMENTS, ids=repr)
def test_moments(dated: str, moment: zoom.Moment) -> None:
    v = zoom.view(dated, moment, None, width=240)
    assert v["t0"][0] == 3600 == v["entry"][0] and v["min"][0] == 60 and v.times[0] == np.datetime64(HOUR)


def test_pandas(dated: str) -> None:
    pd = pytest.importorskip("pandas")
    xr = pytest.importorskip("xarray")
    for moment in pd.Timestamp(HOUR), pd.Timestamp(HOUR, tz="UTC"), pd.Timestamp(HOUR.replace(hour=9), tz=EAST), pd.Timedelta("1h"), xr.DataArray(np.datetime64(HOUR, "ns")):
        assert zoom.view(dated, moment, width=240)["t0"][0] == 3600
    with pytest.raises(farread.Invalid, match="no moment"):
        zoom.view(dated, pd.NaT)


@pytest.mark.parametrize("moment", [np.datetime64("NaT"), np.timedelta64("NaT", "s"), np.timedelta64(1, "M"), b"x", [1, 2], {}, object(), np.zeros(2)], ids=repr)
def test_no_moment(series: str, moment: object) -> None:
    with pytest.raises(farread.Invalid, match="moment"):
        zoom.view(series, moment)  # type: ignore[arg-type]


def test_origin(dated: str, series: str) -> None:
    """The time from which seconds count is that of the file."""
    assert zoom.tracks(dated)[0]["origin"] == np.datetime64("2026-05-01T06:00") and zoom.tracks(series)[0]["origin"] is None
    v = zoom.view(dated, width=300)
    assert np.array_equal(v.times, np.datetime64("2026-05-01T06:00", "ns") + np.arange(300) * np.timedelta64(1, "m")) and v.times.dtype == "M8[ns]"
    plain = zoom.view(series, width=5)
    assert plain.origin is None and np.allclose(plain["entry"], plain["t0"] * 10)
    with pytest.raises(farread.Unsupported, match="from which time"):
        plain.times
