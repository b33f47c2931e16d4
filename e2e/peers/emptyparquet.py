"""Parquet files without rows, without columns, and with row groups that have no rows, as pyarrow writes them.

emptyparquet.py FOLDER    writes them there, with a MANIFEST (functions/zoom/testdata/emptyparquet)
"""
import hashlib, os, sys

import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA = pa.schema([('time', pa.int64()), ('v', pa.float64())])


def table(*rows):
    return pa.table({'time': [t for t, _ in rows], 'v': [v for _, v in rows]}, schema=SCHEMA)


def main(folder):
    os.makedirs(folder, exist_ok=True)
    where = lambda name: os.path.join(folder, name)
    pq.write_table(table(), where('norows.parquet'))
    pq.write_table(pa.table({}), where('nocolumns.parquet'))
    with pq.ParquetWriter(where('emptygroups.parquet'), SCHEMA) as w:
        for t in table(), table((0, 1.5), (1, 2.5)), table(), table((2, 3.5)), table():
            w.write_table(t)
    with open(where('MANIFEST'), 'w') as f:
        print('# sha256  size  file', file=f)
        print(f'# Written by e2e/peers/emptyparquet.py with pyarrow {pa.__version__}.', file=f)
        for name in 'norows.parquet', 'nocolumns.parquet', 'emptygroups.parquet':
            p = open(where(name), 'rb').read()
            print(f'{hashlib.sha256(p).hexdigest()}  {len(p)}  {name}', file=f)


main(sys.argv[1])
