"""WAVs, arrays, Zarr and pictures, as scipy, NumPy, zarr-python, xarray and Pillow read them, for what farread makes of them.

realarrays.py list FOLDER     copies all inputs there, and lists them as JSON
realarrays.py check FOLDER    compares what farread gave back (INPUT.N.npy, INPUT.back.zarr, INPUT.back.png or the like); lists what differs

WAVs, .npy and .npz are test data of scipy, NumPy and matplotlib, found without importing
them. Zarr is made by zarr-python of arrays that others made, or is test data of zarr-python 2
and anndata, as older versions of these have written it (scripts/venv.sh fetches the sources), or what xarray makes
of the NetCDF among the test data of xarray and scipy. Pictures are those of scikit-learn and matplotlib.
"""
import glob, json, os, shutil, sys, warnings

import numpy as np
import xarray
import zarr
from PIL import Image
from scipy.io import wavfile

import realcsv

warnings.simplefilter('ignore')
ZARR = [
    ('dem.v3.zarr', 'matplotlib/mpl-data/sample_data/jacksboro_fault_dem.npz', 'elevation', {'zarr_format': 3, 'chunks': (100, 90)}),
    ('dem.v2.zarr', 'matplotlib/mpl-data/sample_data/jacksboro_fault_dem.npz', 'elevation', {'zarr_format': 2, 'chunks': (64, 403), 'order': 'F'}),
    ('topo.sharded.zarr', 'matplotlib/mpl-data/sample_data/topobathy.npz', 'topo', {'zarr_format': 3, 'chunks': (15, 20), 'shards': (30, 60)}),
    ('bivariate.v2.zarr', 'matplotlib/mpl-data/sample_data/axes_grid/bivariate_normal.npy', None, {'zarr_format': 2, 'chunks': (7, 7)}),
    ('sobol.v3.zarr', 'scipy/stats/_sobol_direction_numbers.npz', 'vinit', {'zarr_format': 3, 'chunks': (1000, 18), 'fill_value': 1}),
]
NETCDF = [
    ('xarray/tests/data/bears.nc', (2, 3), {}), ('xarray/tests/data/example_1.nc', (2, 3), {}), ('scipy/io/tests/data/example_2.nc', (2, 3), {}),
    # Two values for what is missing, which xarray writes only as they are, and characters with one, which it does not read in version 3.
    ('scipy/io/tests/data/example_3_maskedvals.nc', (2, 3), {'mask_and_scale': False, 'drop_variables': ['var6_char']}),
]
PICTURES = ['sklearn/datasets/images/china.jpg', 'sklearn/datasets/images/flower.jpg', 'matplotlib/mpl-data/sample_data/grace_hopper.jpg',
            'matplotlib/mpl-data/sample_data/logo2.png', 'matplotlib/mpl-data/sample_data/Minduka_Present_Blue_Pack.png']


def found():
    for pattern in ('scipy/io/tests/data/*.wav', 'scipy/**/*.np[yz]', 'numpy/lib/tests/data/*.np[yz]', 'matplotlib/mpl-data/**/*.np[yz]'):
        for folder in sys.path:
            names = sorted(glob.glob(os.path.join(folder, pattern), recursive=True))
            for path in names:
                yield os.path.relpath(path, folder), path
            if names:
                break
        else:
            sys.exit(f'no {pattern} is installed: make venv')


SOURCES = os.environ.get('FARREAD_SOURCES') or os.path.join(sys.prefix, 'sources')


def stores():
    """Zarr that others wrote: folders and zips, groups and arrays."""
    fixture = os.path.join(SOURCES, 'zarr-2.18.7', 'fixture')
    if not os.path.isdir(fixture):
        sys.exit(f'no {fixture}: make venv')
    for name in sorted(os.listdir(fixture), key=lambda n: (not n.isdigit(), n.zfill(3))):
        path = os.path.join(fixture, name)
        if name != 'utf8attrs' and os.path.isdir(path):  # that one has no array
            kind = 'group' if os.path.exists(os.path.join(path, '.zgroup')) else 'array'
            yield f'fixture-{name}.{kind}.zarr', path
    for path in sorted(glob.glob(os.path.join(SOURCES, 'anndata-0.12.19', 'tests', 'data', 'archives', '*', '*.zarr.zip'))):
        yield f'anndata-{os.path.basename(os.path.dirname(path))}.group.zarr.zip', path


def list_(folder):
    out = []
    for name, path in found():
        shutil.copyfile(path, os.path.join(folder, realcsv.base(name)))
        out.append({'File': realcsv.base(name), 'From': name})
    for name, src, member, options in ZARR:
        a = np.load(realcsv.source(src))
        a = a if member is None else a[member]
        if 'fill_value' in options:
            a = np.where(np.arange(a.shape[0])[:, None] // 1000 % 2, a, 1).astype(a.dtype)
        assert a.size > 100, (name, a.shape)
        zarr.create_array(os.path.join(folder, name), shape=a.shape, dtype=a.dtype, **options)[:] = a
        out.append({'File': name, 'From': f'{src}, by zarr-python as {name}'})
    for src, versions, options in NETCDF:
        for version in versions:
            name = f'{realcsv.base(src)[:-3]}.v{version}.group.zarr'
            with xarray.open_dataset(realcsv.source(src), engine='scipy', **options) as d:
                d.to_zarr(os.path.join(folder, name), zarr_format=version)
            out.append({'File': name, 'From': f'{src}, by xarray as Zarr of version {version}'})
    for src in PICTURES:
        shutil.copyfile(realcsv.source(src), os.path.join(folder, realcsv.base(src)))
        out.append({'File': realcsv.base(src), 'From': src})
    for name, path in stores():
        copy = shutil.copyfile if name.endswith('.zip') else shutil.copytree
        copy(path, os.path.join(folder, name))
        out.append({'File': name, 'From': os.path.relpath(path, SOURCES)})
    return out


def opened(path):
    """An array as zarr-python reads it. Version 3 refuses the fill value 0 of texts, which version 2 has written."""
    try:
        return zarr.open_array(path, mode='r')
    except TypeError:
        file = os.path.join(path, '.zarray')
        with open(file) as f:
            meta = json.load(f)
        assert meta['fill_value'] == 0 and meta['dtype'][1] in 'SU'
        meta['fill_value'] = ''
        with open(file, 'w') as f:
            json.dump(meta, f)
        return zarr.open_array(path, mode='r')


def members(path):
    """The arrays of a group by their paths, but those of which farread says that it leaves them out."""
    if path.endswith('.zip'):
        found = zarr.open_group(zarr.storage.ZipStore(path, mode='r'), mode='r').members(max_depth=None)
        found = [(name, a) for name, a in found if isinstance(a, zarr.Array)]
    else:
        found = [(os.path.relpath(f, path), opened(f)) for f, _, files in os.walk(path) if '.zarray' in files]
    return {name: np.asarray(a[...]) for name, a in found if a.dtype.kind in 'biufcSUmMV'}


def groups(name, src):
    """What differs in a group that came back."""
    if glob.glob(os.path.join(src, 'zarr.json')) or name.endswith('.v2.group.zarr'):
        yield from datasets(name, src)
        return
    want = members(src)
    back = zarr.open_group(src + '.back.zarr', mode='r')
    got = {n: np.asarray(a[...]) for n, a in back.members(max_depth=None) if isinstance(a, zarr.Array)}
    if want.keys() != got.keys():
        yield f'{name}: {sorted(want.keys() ^ got.keys())} are not in both'
    for n, w in want.items():
        g = got.get(n, w)
        if not same(w.astype(w.dtype.newbyteorder('=')), g.astype(g.dtype.newbyteorder('='))):
            yield f'{name}: {n}: {g.dtype} {g.shape} {g.ravel()[:3]}, want {w.dtype} {w.shape} {w.ravel()[:3]}'


def datasets(name, src):
    """What differs in a dataset of xarray that came back; text of any length is left out."""
    with xarray.open_zarr(src) as want, xarray.open_zarr(src + '.back.zarr') as got:
        want = want.load().drop_vars([n for n, v in want.variables.items() if v.dtype.kind == 'T' or v.dtype == object])
        try:
            xarray.testing.assert_identical(want, got.load())
        except AssertionError as e:
            yield f'{name}: {e}'


def picture(name, src):
    """What differs in a picture that came back."""
    with open(src, 'rb') as f, open(src + '.back' + os.path.splitext(src)[1], 'rb') as g, Image.open(src) as want, Image.open(g) as got:
        if not np.array_equal(np.asarray(want.convert('RGBA')), np.asarray(got.convert('RGBA'))):
            yield f'{name}: other pixels'
        g.seek(0)
        if f.read() != g.read():
            yield f'{name}: other bytes'


def wav(path):
    """The channels as farread stores them: scipy puts the bits of 3, 5, 6 and 7 bytes to the upper ones of 4 and 8."""
    rate, d = wavfile.read(path)
    with open(path, 'rb') as f:
        head = f.read(4096)
    at = head.index(b'fmt ') + 8
    order = 'big' if head[:4] == b'RIFX' else 'little'
    channels, align = (int.from_bytes(head[at + i:at + i + 2], order) for i in (2, 12))
    d = d.reshape(len(d), -1)
    down = {3: 8, 5: 24, 6: 16, 7: 8}.get(align // channels, 0)
    return rate, [d[:, i] >> down if down else d[:, i] for i in range(channels)]


def same(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and (a.tobytes() == b.tobytes() or np.array_equal(a, b, equal_nan=a.dtype.kind in 'fc'))


def check(folder):
    wrong = []
    for path in sorted(glob.glob(os.path.join(folder, '*.info.json'))):
        with open(path) as f:
            info = json.load(f)
        name, src = info['file'], os.path.join(folder, info['file'])
        if '.group.' in name:
            wrong += groups(name, src)
            continue
        if name.endswith(('.jpg', '.png')):
            wrong += picture(name, src)
            continue
        if name.endswith('.wav'):
            rate, want = wav(src)
            if [rate, 1] != info['rate'] and rate != info['rate'][0] / info['rate'][1]:
                wrong.append(f'{name}: rate {info["rate"]}, scipy has {rate}')
        elif name.endswith('.zarr'):
            want = [zarr.open_array(src, mode='r')[:]]
        elif name.endswith('.npz'):
            z = np.load(src)
            want = [z[m] for m in info['members']]
        else:
            want = [np.load(src)]
        back = [zarr.open_array(src + '.back.zarr', mode='r')[:]] if name.endswith('.zarr') else [np.load(f'{src}.{i + 1}.npy') for i in range(len(want))]
        for i, (w, g) in enumerate(zip(want, back)):
            if name.endswith('.wav') and g.dtype.names:
                g = g[g.dtype.names[-1]]
            if name.endswith('.wav') and not np.array_equal(w, g) or not name.endswith('.wav') and not same(w, g):
                wrong.append(f'{name}: {i}: {g.dtype} {g.shape} {g.ravel()[:3]}, want {w.dtype} {w.shape} {w.ravel()[:3]}')
    return wrong


if __name__ == '__main__':
    print(json.dumps({'list': list_, 'check': check}[sys.argv[1]](sys.argv[2])))
