"""Trees of real images as people have them, and what Pillow sees in them, for what farread makes of them.

realpictures.py list FOLDER     makes all trees there (INPUT, and INPUT.want.json), and lists them with their flags as JSON
realpictures.py check FOLDER    compares what farread gave back (INPUT.back/, INPUT.get and INPUT.ls.json); lists what differs

The images are those of scikit-learn, matplotlib and scipy, found without importing them, as they are; clips, and the small
ones, are cut out of them by Pillow. The tar of samples is written by webdataset.
"""
import gzip, hashlib, io, json, os, sys, tarfile, zipfile

import numpy as np
import webdataset
from PIL import Image

import realcsv

IMAGES = 'sklearn/datasets/images'
PHOTOS = ['sklearn/datasets/images/china.jpg', 'sklearn/datasets/images/flower.jpg', 'matplotlib/mpl-data/sample_data/grace_hopper.jpg']
DRAWN = ['matplotlib/mpl-data/sample_data/Minduka_Present_Blue_Pack.png', 'matplotlib/mpl-data/sample_data/logo2.png', 'scipy/ndimage/tests/dots.png']
ICONS = ['matplotlib/mpl-data/images/%s.png' % n for n in ('back', 'filesave', 'forward', 'hand', 'help', 'home', 'move', 'subplots')]


def loaded(name):
    with open(realcsv.source(name), 'rb') as f:
        return f.read()


def seen(payload):
    with Image.open(io.BytesIO(payload)) as im:
        return [im.format, list(im.size), hashlib.sha256(np.asarray(im.convert('RGBA')).tobytes()).hexdigest()[:16]]


def encoded(im, kind, **options):
    b = io.BytesIO()
    im.save(b, kind, **options)
    return b.getvalue()


class Tree:
    """Files, and the ids, labels and frames that they should become."""

    def __init__(self, name, source, *flags):
        self.name, self.source, self.flags = name, source, list(flags)
        self.files, self.want = {}, {}

    def add(self, name, payload, id, **meta):
        self.files[name] = payload
        one = self.want.setdefault(id, {'meta': {}, 'frames': []})
        one['frames'].append(seen(payload))
        kind = Image.MIME[one['frames'][-1][0]]
        one['meta'].update(meta, **({} if kind == 'image/jpeg' else {'media_type': kind}))

    def write(self, folder):
        path = os.path.join(folder, self.name)
        if self.name.endswith('.tar.gz'):
            with tarfile.open(path, 'w:gz') as t:
                for name, p in self.files.items():
                    info = tarfile.TarInfo(name)
                    info.size = len(p)
                    t.addfile(info, io.BytesIO(p))
        elif self.name.endswith('.zip'):
            with zipfile.ZipFile(path, 'w') as z:
                for name, p in self.files.items():
                    z.writestr(name, p)
        elif not self.name.endswith('.tar'):
            for name, p in self.files.items():
                os.makedirs(os.path.dirname(os.path.join(path, name)), exist_ok=True)
                with open(os.path.join(path, name), 'wb') as f:
                    f.write(p)
        with open(path + '.want.json', 'w') as f:
            json.dump(self.want, f)
        return {'File': self.name, 'From': self.source, 'Flags': self.flags}


def base(name):
    return os.path.splitext(os.path.basename(name))[0]


def classes(name, *flags):
    """A tree as torchvision's ImageFolder reads it."""
    t = Tree(name, f'{IMAGES}, an ImageFolder with images of matplotlib and scipy, as {name}', *flags)
    for label, names in (('drawn', DRAWN), ('icons', ICONS), ('photos', PHOTOS)):
        for n in names:
            t.add(f'{label}/{os.path.basename(n)}', loaded(n), f'{label}/{base(n)}', label=label)
    return t


def flat(name):
    """Images in one folder with a table of labels, quoted where it has to be."""
    t = Tree(name, f'{IMAGES}, with these in one folder and labels.csv, as {name}')
    rows = ['"file","caption","sample, in order"']
    for i, n in enumerate(PHOTOS + DRAWN + ICONS):
        caption = f'{base(n)}, a "{"photo" if n in PHOTOS else "drawing"}"'
        t.add(os.path.basename(n), loaded(n), base(n), caption=caption, **{'sample, in order': i})
        rows.append('%s,"%s",%d' % (os.path.basename(n), caption.replace('"', '""'), i))
    t.files['labels.csv'] = '\r\n'.join(rows).encode()
    return t


def clips():
    """Frames as ffmpeg numbers them: windows that move over a photograph."""
    t = Tree('clips', f'{IMAGES}, cut into frames of clips, as clips')
    for n in PHOTOS:
        im = Image.open(io.BytesIO(loaded(n))).convert('RGB')
        for i in range(12):
            t.add(f'pan/{base(n)}/frame_{i + 1:04d}.jpg', encoded(im.crop((8 * i, 4 * i, 8 * i + 320, 4 * i + 240)), 'JPEG', quality=90), f'pan/{base(n)}', label='pan')
    return t


def small():
    """PNGs of 32 x 32, as CIFAR-10 is unpacked: only a layout tells these classes from clips."""
    t = Tree('cifar', f'{IMAGES}, in pieces as CIFAR-10 is unpacked, as cifar', '--layout', 'imagefolder')
    for n in PHOTOS:
        im = Image.open(io.BytesIO(loaded(n))).convert('RGB').resize((256, 256))
        for i in range(16):
            x, y = 32 * (i % 4), 32 * (i // 4)
            t.add(f'train/{base(n)}/{i:04d}.png', encoded(im.crop((x, y, x + 32, y + 32)), 'PNG'), f'train/{base(n)}/{i:04d}', label=base(n))
    return t


def digits():
    """The handwritten digits of scikit-learn as grey PNGs, called as MNIST's are."""
    source = 'sklearn/datasets/data/digits.csv.gz'
    t = Tree('digits', f'{source}, as PNGs in digits', '--layout', 'imagefolder')
    with gzip.open(realcsv.source(source), 'rt') as f:
        rows = np.loadtxt(f, delimiter=',', dtype=int)[:150]
    for i, row in enumerate(rows):
        pixels = (row[:64].reshape(8, 8) * 255 // 16).astype('u1')
        t.add(f'{row[64]}/{i:05d}.png', encoded(Image.fromarray(pixels), 'PNG'), f'{row[64]}/{i:05d}', label=str(row[64]))
    return t


def samples(folder):
    """A shard as webdataset writes it."""
    t = Tree('shard-000000.tar', f'{IMAGES}, with these as samples, by webdataset as shard-000000.tar')
    with webdataset.TarWriter(os.path.join(folder, t.name)) as w:
        for i, n in enumerate(PHOTOS + DRAWN + ICONS):
            p, ext, about = loaded(n), n.rsplit('.', 1)[1], {'source': n, 'tags': ['a', None]}
            w.write({'__key__': f'{i:06d}', ext: p, 'cls': i % 3, 'json': about, 'txt': f'{base(n)}, número {i}'})
            t.add(f'{i:06d}.{ext}', p, f'{i:06d}', label=i % 3, text=f'{base(n)}, número {i}', **about)
    return t


def list_(folder):
    trees = [classes('photos'), classes('photos.tar.gz'), flat('flat'), flat('flat.zip'), clips(), small(), digits(), samples(folder)]
    return [t.write(folder) for t in trees]


def differs(folder, name):
    path = os.path.join(folder, name)
    with open(path + '.want.json') as f:
        want = json.load(f)
    with open(path + '.ls.json') as f:
        got = {x['id']: x for x in map(json.loads, f)}
    if set(got) != set(want):
        return [f'{name}: ids {sorted(set(got) ^ set(want))[:5]}']
    out = []
    for id, one in want.items():
        if got[id]['meta_data'] != [one['meta']]:
            out.append(f'{name}: {id}: {got[id]["meta_data"]}, want {one["meta"]}')
        back = os.path.join(path + '.back', id)
        frames = []
        for file in sorted(os.listdir(back)):
            with open(os.path.join(back, file), 'rb') as f:
                frames.append(seen(f.read()))
        if frames != one['frames']:
            out.append(f'{name}: {id}: {frames[:2]}, Pillow has {one["frames"][:2]}')
    with open(path + '.get', 'rb') as f:
        if seen(f.read()) != want[min(want)]['frames'][0]:
            out.append(f'{name}: other pixels by get')
    return out


def check(folder):
    names = sorted(n[:-len('.want.json')] for n in os.listdir(folder) if n.endswith('.want.json'))
    return [text for n in names for text in differs(folder, n)] or ([] if names else ['nothing to check'])


if __name__ == '__main__':
    json.dump({'list': list_, 'check': check}[sys.argv[1]](sys.argv[2]), sys.stdout)
