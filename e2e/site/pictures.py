"""pictures.py FOLDER: data to take pictures of, always the same: temperature.npy, hours of a
field of temperatures, and buoy.csv, a day of wind and sea level with a gust of one sample and
a pause."""

import sys
from pathlib import Path

import numpy as np

folder = Path(sys.argv[1])
random = np.random.default_rng(7)


def field(hours, height, width):
    """Air that turns around the globe: noise of many sizes, each drifting at its pace."""
    y, x = np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None, :]
    size = np.hypot(y, 1.8 * x) + 0.006  # wider than high, none as large as the globe
    waves = (random.normal(size=size.shape) + 1j * random.normal(size=size.shape)) * size**-2.1
    change = (random.normal(size=size.shape) + 1j * random.normal(size=size.shape)) * size**-2.1
    latitude = np.linspace(90, -90, height)[:, None]
    for hour in range(hours):
        turned = waves * np.cos(hour / 14) + change * np.sin(hour / 14)
        noise = np.fft.irfft2(turned * np.exp(-2j * np.pi * x * hour * 2.2), s=(height, width))
        day = 4 * np.cos(np.radians(np.linspace(0, 360, width)[None, :] + 15 * hour)) * np.cos(np.radians(latitude))
        yield (240 + 44 * np.cos(np.radians(latitude)) ** 2 + day + 6 * noise / noise.std()).astype("f4")


np.save(folder / "temperature.npy", np.stack(list(field(48, 360, 720))))

seconds = np.arange(0, 86400, 0.5)
hours = seconds / 3600
gusts = np.abs(np.interp(hours, np.arange(0, 24.01, 1 / 40), random.normal(size=961))) ** 3 * np.clip(np.sin((hours - 1) / 5.2), 0, 1)
wind = 5.5 + 3 * np.sin(hours / 3.8) + gusts + random.normal(size=len(hours)) * (0.5 + 1.2 * np.abs(np.sin(hours / 2)))
wind = np.clip(wind, 0, 22)
wind[int(13.72 * 7200)] = 41.7
level = 1.8 * np.sin(2 * np.pi * hours / 12.42) + 0.12 * np.sin(2 * np.pi * seconds / 9) + 0.05 * random.normal(size=len(hours))
kept = (hours < 8.6) | (hours > 10.35)
with open(folder / "buoy.csv", "w", encoding="ascii") as f:
    f.write("time,wind m/s,level m\n")
    for t, a, b in zip((np.datetime64("2026-05-01", "ms") + (seconds * 1000).astype("m8[ms]"))[kept], wind[kept], level[kept]):
        f.write(f"{t}Z,{a:.2f},{b:.3f}\n")
