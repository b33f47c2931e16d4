"""Times in every unit, with zones and without, dates, times of day, decimals and large numbers, as pyarrow writes them.

oddparquet.py FOLDER    writes odd.parquet there, with what pandas reads in it and a MANIFEST (functions/zoom/testdata/oddparquet)
"""
import datetime, decimal, hashlib, json, os, sys

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

TIMES = ['1901-03-04T05:06:07', '1969-12-31T23:59:59.999', '2024-02-29T12:00:00.5', '2100-01-01']
COLUMNS = {f'{unit}{mark}': pa.timestamp(unit, tz) for unit in ('s', 'ms', 'us', 'ns') for mark, tz in (('', None), ('_utc', 'UTC'), ('_berlin', 'Europe/Berlin'))}


def main(folder):
    os.makedirs(folder, exist_ok=True)
    where = lambda name: os.path.join(folder, name)
    at = pd.to_datetime(TIMES, format='ISO8601')
    cut = lambda unit: at.floor({'s': 's', 'ms': 'ms', 'us': 'us', 'ns': 'ns'}[unit])
    arrays = {name: pa.array(cut(t.unit).tz_localize(t.tz) if t.tz else cut(t.unit), t) for name, t in COLUMNS.items()}
    arrays['date'] = pa.array([datetime.date(1901, 3, 4), datetime.date(1969, 12, 31), datetime.date(2024, 2, 29), datetime.date(2100, 1, 1)], pa.date32())
    arrays['clock_ms'] = pa.array([0, 1, 43_200_500, 86_399_999], pa.time32('ms'))
    arrays['clock_us'] = pa.array([0, 1, 43_200_500_000, 86_399_999_999], pa.time64('us'))
    arrays['price'] = pa.array([decimal.Decimal(x) for x in ('1.25', '-0.01', '99999.99', '0.10')], pa.decimal128(7, 2))
    arrays['long'] = pa.array([decimal.Decimal(x) for x in ('12345678901234567.8901', '-0.0001', '1.5', '2.0000')], pa.decimal128(21, 4))
    arrays['whole'] = pa.array([decimal.Decimal(x) for x in ('12345678901234567890123456789012345678', '-1', '2', '3')], pa.decimal128(38, 0))
    arrays['big'] = pa.array([2**53 + 1, -2**63, 2**63 - 1, 0], pa.int64())
    arrays['ubig'] = pa.array([2**53 + 1, 2**64 - 1, 1, 0], pa.uint64())
    pq.write_table(pa.table(arrays), where('odd.parquet'), version='2.6', compression='none', use_dictionary=False, write_statistics=False, store_schema=False)
    d = pq.read_table(where('odd.parquet')).to_pandas(date_as_object=True)
    expect = {'times': {}, 'values': {}}
    for c in list(COLUMNS) + ['date']:
        t = pd.to_datetime(d[c])
        expect['times'][c] = [int(x) for x in (t.dt.tz_convert('UTC').dt.tz_localize(None) if t.dt.tz else t).astype('datetime64[ns]').astype('int64')]
    for c in 'price', 'long', 'whole', 'big', 'ubig':
        expect['values'][c] = [repr(float(x)) if c in ('price', 'long', 'whole') else str(x) for x in d[c]]
    with open(where('expect.json'), 'w') as f:
        f.write('{"times": {\n' + ',\n'.join(f'{json.dumps(c)}: {json.dumps(v)}' for c, v in expect['times'].items())
                + '},\n"values": {\n' + ',\n'.join(f'{json.dumps(c)}: {json.dumps(v)}' for c, v in expect['values'].items()) + '}}\n')
    with open(where('MANIFEST'), 'w') as f:
        print('# sha256  size  file', file=f)
        print(f'# Written by e2e/peers/oddparquet.py with pyarrow {pa.__version__}; expect.json holds what pandas {pd.__version__} reads.', file=f)
        p = open(where('odd.parquet'), 'rb').read()
        print(f'{hashlib.sha256(p).hexdigest()}  {len(p)}  odd.parquet', file=f)


main(sys.argv[1])
