"""Parquet files, as pandas and pyarrow read them, for what farread makes of them.

realparquet.py copy FOLDER     writes the small files with MANIFEST and expect.json (testdata of functions/zoom)
realparquet.py list FOLDER     writes all files there, and lists them with their flags as JSON
realparquet.py check FOLDER    compares what farread got back (FILE.N.csv of each track, FILE.json of info); lists what differs

They are the files of pyarrow's own tests, written by it years ago, and tables that other
people wrote (realcsv.py), written by pyarrow with the codecs, encodings, types of times
and sizes that it has.
"""
import decimal, hashlib, json, os, shutil, sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import realcsv
from realcsv import at, digest, quarters, source, years

SM, PA = realcsv.SM, 'pyarrow/tests/data/parquet/'


def ready(column):
    """A column that has times already."""
    def f(d):
        t = pd.to_datetime(d[column])
        return t.dt.tz_convert(None) if t.dt.tz is not None else t
    return f


def stamped(format, unit='ns', zone=None):
    """Turns texts of the first column into timestamps."""
    def f(d):
        c = d.columns[0]
        t = pd.to_datetime(d[c].astype(str), format=format).dt.tz_localize(zone)
        return d.assign(**{c: t.dt.as_unit(unit)})
    return f


def days(format):
    return lambda d: d.assign(**{d.columns[0]: pd.to_datetime(d[d.columns[0]].astype(str), format=format).dt.date})


def as_is(d):
    return d


def narrow(d):
    return d.assign(**{c: d[c].astype('f4') if d[c].dtype == 'f8' else d[c].astype('i4') for c in d.select_dtypes('number')})


def decimals(d):
    c = d.columns[-1]
    return stamped('%Y-%m-%d')(d).assign(**{c: [decimal.Decimal(str(x)) for x in d[c].round(3)]})


def gaps(d):
    d = stamped('%Y/%m/%d')(d)
    d.iloc[3:40, 1] = np.nan
    return d.assign(wind=d['wind'].round().astype('Int16').mask(d['wind'] > 5), wet=(d['precipitation'] > 0).astype('boolean').mask(d['wind'] > 6))


# name, source, change before writing, options of write_table, times as pandas has them, columns of the times, flags
FILES = [
    ('weather-snappy', 'vega_datasets/_data/seattle-weather.csv', stamped('%Y/%m/%d'), {}, ready('date'), ['date'], []),
    ('weather-nulls', 'vega_datasets/_data/seattle-weather.csv', gaps, {'row_group_size': 100}, ready('date'), ['date'], []),
    ('temps-v2-zstd', 'vega_datasets/_data/sf-temps.csv', lambda d: stamped('%Y/%m/%d %H:%M:%S')(d[['date', 'temp']]), {'compression': 'zstd', 'data_page_version': '2.0', 'row_group_size': 1000}, ready('date'), ['date'], []),
    ('temps-text', 'vega_datasets/_data/seattle-temps.csv', as_is, {'compression': 'gzip'}, at('%Y/%m/%d %H:%M', 'date'), ['date'], []),
    ('temps-text-delta', 'vega_datasets/_data/seattle-temps.csv', as_is, {'use_dictionary': False, 'column_encoding': {'date': 'DELTA_BYTE_ARRAY', 'temp': 'PLAIN'}}, at('%Y/%m/%d %H:%M', 'date'), ['date'], []),
    ('stocks-words', 'vega_datasets/_data/stocks.csv', as_is, {'compression': 'brotli', 'use_dictionary': False}, at('%b %d %Y', 'date'), ['date'], []),
    ('stocks-index', 'vega_datasets/_data/stocks.csv', lambda d: d.assign(date=pd.to_datetime(d['date'], format='%b %d %Y')).set_index('date'), {}, ready('date'), ['date'], []),
    ('stocks-lengths', 'vega_datasets/_data/stocks.csv', as_is, {'use_dictionary': False, 'column_encoding': {'date': 'DELTA_LENGTH_BYTE_ARRAY'}}, at('%b %d %Y', 'date'), ['date'], []),
    ('employment-days', 'vega_datasets/_data/us-employment.csv', days('%Y-%m-%d'), {'compression': 'lz4'}, ready('month'), ['month'], []),
    ('iowa-utc-ms', 'vega_datasets/_data/iowa-electricity.csv', stamped('%Y-%m-%d', 'ms', 'UTC'), {'compression': 'none'}, ready('year'), ['year'], []),
    ('iowa-berlin-us', 'vega_datasets/_data/iowa-electricity.csv', stamped('%Y-%m-%d', 'us', 'Europe/Berlin'), {'version': '2.4'}, ready('year'), ['year'], []),
    ('co2-digits', SM + 'co2/co2.csv', as_is, {'compression': 'none', 'use_dictionary': False}, at('%Y%m%d', 'date'), ['date'], []),
    ('copper-years', SM + 'copper/copper.csv', as_is, {}, years('YEAR'), ['YEAR'], []),
    ('macrodata-quarters', SM + 'macrodata/macrodata.csv', as_is, {'compression': 'zstd'}, quarters, ['year', 'quarter'], []),
    ('sunspots-delta', SM + 'sunspots/sunspots.csv', lambda d: d.assign(YEAR=d['YEAR'].astype('i4')), {'use_dictionary': False, 'column_encoding': {'YEAR': 'DELTA_BINARY_PACKED', 'SUNACTIVITY': 'BYTE_STREAM_SPLIT'}}, years('YEAR'), ['YEAR'], []),
    ('elnino-split', SM + 'elnino/elnino.csv', narrow, {'compression': 'zstd', 'use_dictionary': False, 'use_byte_stream_split': ['JAN', 'FEB', 'DEC']}, years('YEAR'), ['YEAR'], []),
    ('msft-int96', 'matplotlib/mpl-data/sample_data/msft.csv', stamped('%d-%b-%y'), {'use_deprecated_int96_timestamps': True}, ready('Date'), ['Date'], []),
    ('huron-v1', 'plotnine/data/huron.csv', lambda d: d.assign(year=d['year'].astype('u2')), {'version': '1.0'}, years('year'), ['year'], []),
    ('economics-decimal', 'plotnine/data/economics.csv', decimals, {}, ready('date'), ['date'], []),
    ('meat-pages', 'plotnine/data/meat.csv', stamped('%Y-%m-%d', 'us'), {'data_page_size': 512, 'write_page_checksum': True, 'write_page_index': True}, ready('date'), ['date'], []),
    ('pyarrow-0.7.1', PA + 'v0.7.1.parquet', None, {}, lambda d: d['carat'].astype(float), ['carat'], ['--time', 'carat', '--times', 's']),
    ('pyarrow-0.7.1-metadata', PA + 'v0.7.1.column-metadata-handling.parquet', None, {}, lambda d: pd.to_datetime(d.reset_index()['c']), ['c'], ['--time', 'c']),
]
SMALL = 12 << 10


def base(entry):
    return entry[0] + '.parquet'


def write(entry, folder):
    name, src, change, options = entry[:4]
    path = os.path.join(folder, base(entry))
    if change is None:
        shutil.copyfile(source(src), path)
        return path
    read = next((e[4] for e in realcsv.FILES if e[0] == src), {})
    d = change(pd.read_csv(source(src), **read))
    index = d.index.name is not None
    pq.write_table(pa.Table.from_pandas(d, preserve_index=index), path, **options)
    return path


def rows(entry, path):
    d = pq.read_table(path).to_pandas()
    if d.index.name is not None or isinstance(d.index, pd.MultiIndex):
        d = d.reset_index()
    t = entry[4](d)
    if getattr(t.dtype, 'tz', None) is not None:
        t = t.dt.tz_convert(None)
    return d, realcsv.nanoseconds(t)


def flags(entry, path):
    return realcsv.order(entry[6], rows(entry, path)[1])[0]


def wanted(entry, path):
    used = entry[5]
    d, ns = rows(entry, path)
    _, at = realcsv.order([], ns)
    ns, d = ns[at], d.iloc[at]
    for c in d.columns:
        if c in used:
            continue
        v = d[c]
        if len(v) and isinstance(v.iloc[0], decimal.Decimal):
            v = v.astype(float)
        if not (pd.api.types.is_numeric_dtype(v) or pd.api.types.is_bool_dtype(v)):
            continue
        there = v.notna().to_numpy()
        yield c, ns[there], v[there].to_numpy().astype('f8')


def copy(folder):
    lines, expect = [], []
    for entry in FILES:
        path = write(entry, folder)
        if os.path.getsize(path) > SMALL or entry[2] is None or realcsv.package(entry[1]) not in realcsv.COPIED:
            os.remove(path)
            continue
        with open(path, 'rb') as f:
            p = f.read()
        lines.append(f'{hashlib.sha256(p).hexdigest()}  {len(p)}  {base(entry)}  {entry[1]}, {realcsv.COPIED[realcsv.package(entry[1])]}\n')
        expect.append({'file': base(entry), 'flags': flags(entry, path), 'tracks': [
            {'name': c, 'n': len(v), 'first': int(ns[0]) if len(ns) else 0, 'last': int(ns[-1]) if len(ns) else 0, 'digest': digest(ns, v)} for c, ns, v in wanted(entry, path)]})
    with open(os.path.join(folder, 'MANIFEST'), 'w') as f:
        f.write(f'# sha256  size  file  origin\n# Written by e2e/peers/realparquet.py with pyarrow {pa.__version__}; expect.json holds what pandas {pd.__version__} reads in them.\n')
        f.writelines(lines)
    with open(os.path.join(folder, 'expect.json'), 'w') as f:
        f.write('[\n' + ',\n'.join(json.dumps(e) for e in expect) + '\n]\n')
    return f'{len(expect)} files'


def list_(folder):
    return [{'File': base(e), 'From': e[1] if e[2] is None else f'{e[1]}, by pyarrow as {base(e)}', 'Flags': flags(e, write(e, folder))} for e in FILES]


def check(folder):
    return realcsv.compare(folder, [(base(e), lambda path, e=e: wanted(e, path)) for e in FILES])


if __name__ == '__main__':
    print(json.dumps({'copy': copy, 'list': list_, 'check': check}[sys.argv[1]](sys.argv[2])))
