"""Series as other programs write them, and what farread has made of them.

zoomsources.py make FOLDER    writes sources by the wave, csv and gzip modules of Python and
                              by NumPy, with what each track must hold; lists them as JSON
zoomsources.py check FOLDER   compares what farread got back; lists what differs as JSON
"""
import csv, datetime, gzip, json, os, sys, wave

import numpy as np


def main():
    command, folder = sys.argv[1:3]
    os.chdir(folder)
    print(json.dumps(make() if command == 'make' else check()))


def make():
    rng, jobs = np.random.default_rng(20260501), []

    def job(name, tracks, stamps=None, origin=None):
        for i, v in enumerate(tracks):
            np.save(f'{name}.{i + 1}.want.npy', v)
            if stamps is not None:
                np.save(f'{name}.{i + 1}.stamps.npy', stamps[i])
        jobs.append({'Name': name, 'Tracks': len(tracks), 'Stamps': stamps is not None, 'Origin': origin})

    for width, channels in ((1, 1), (1, 3), (2, 1), (2, 2), (3, 1), (3, 5), (4, 2)):
        raw = rng.integers(0, 256, (1501, channels, width), dtype='u1')
        name = f'pcm{8 * width}x{channels}.wav'
        with wave.open(name, 'wb') as w:
            w.setnchannels(channels)
            w.setsampwidth(width)
            w.setframerate(22050)
            w.writeframes(raw.tobytes())
        if width == 1:
            v = raw[:, :, 0]
        else:  # little-endian, with a sign
            v = sum(raw[:, :, k].astype('i8') << (8 * k) for k in range(width))
            v -= (v >> (8 * width - 1)) << (8 * width)
        job(name, [v[:, c] for c in range(channels)])

    for i, dtype in enumerate(('?', '|i1', '|u1', '<i2', '>i2', '<u2', '>u4', '<i4', '>i8', '<u8', '<f2', '>f2', '<f4', '>f4', '<f8', '>f8')):
        for shape in ((1037,), (1037, 3)):
            v = (rng.standard_normal(shape) * 100).astype(dtype)
            if v.ndim == 2 and i % 2:
                v = np.asfortranarray(v)
            name = f'{i}x{v.ndim}.npy'
            np.save(name, v)
            wide = v.astype('<f4') if v.dtype == np.float16 or v.dtype == np.dtype('>f2') else v
            job(name, [wide] if v.ndim == 1 else [wide[:, c] for c in range(shape[1])])

    v = rng.integers(-2000, 2000, (4000, 2)).astype('<i2')
    v.tofile('raw.bin')
    with open('raw.bin.json', 'w') as f:
        json.dump({'dtype': '<i2', 'shape': [4000, 2], 'rate': '30000/1001', 'names': ['x', 'y']}, f)
    job('raw.bin', [v[:, 0], v[:, 1]])

    # A table as the csv module writes it: quotes where they are needed, cells of
    # several lines, CRLF; with gaps; plain and packed.
    start = datetime.datetime(2026, 5, 1, 11, 59, 58, 250000, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    for n, (name, opener, o) in enumerate((('a.csv', open, {}), ('b.csv.gz', gzip.open, {'quoting': csv.QUOTE_ALL}), ('c.tsv', open, {'delimiter': '\t'}), ('d.csv', open, {'delimiter': ';'}))):
        values, stamps = [[], []], [[], []]
        with opener(name, 'wt', newline='', encoding='utf-8-sig') as f:
            w = csv.writer(f, **o)
            w.writerow(['at\nall', 'timestamp', 'level, "m"'])
            for i in range(2500):
                at = start + datetime.timedelta(milliseconds=250 * i + int(rng.integers(0, 4)) * 50)
                # time 0 is the whole second of the first stamp
                tick = (at - start.replace(microsecond=0)) // datetime.timedelta(milliseconds=10)
                row = ['', at.isoformat(), '']
                if rng.random() < 0.8:
                    x = int(rng.integers(-9, 9))
                    values[0].append(x)
                    stamps[0].append(tick)
                    row[0] = f'\n{x}\n' if i % 10 == 0 else x
                if rng.random() < 0.8:
                    y = float(rng.standard_normal()) + 1e-3
                    values[1].append(y)
                    stamps[1].append(tick)
                    row[2] = repr(y).replace('.', ',') if name == 'd.csv' else repr(y)
                w.writerow(row)
        job(name, [np.array(values[0], '<i8'), np.array(values[1], '<f8')], [np.array(s, '<i8') for s in stamps], '2026-05-01T09:59:58Z')
    return jobs


def check():
    wrong = []
    for name in sorted(os.listdir('.')):
        for kind in ('want', 'stamps'):
            if not name.endswith(f'.{kind}.npy'):
                continue
            want, got = np.load(name), np.load(name.replace(f'.{kind}.', f'.{kind}.got.'))
            if want.shape != got.shape or want.dtype.kind != got.dtype.kind and want.dtype.itemsize <= got.dtype.itemsize or not np.array_equal(want, got):
                wrong.append(f'{name}: {want.dtype} {want[:5]} is not {got.dtype} {got[:5]}')
    return wrong


main()
