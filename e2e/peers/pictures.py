"""Trees of real images, and what Pillow sees in them before and after they were packed. Prints JSON.

pictures.py make DIR GOROOT   trees of the photographs that come with Go, in all kinds, in each layout
pictures.py read GULP...      chunks, read by GulpIO's reader with Pillow in the place of its decoder
"""
import hashlib
import io
import json
import os
import sys
import warnings

import numpy as np
from gulpio2.fileio import GulpChunk
from gulpio2.utils import jpeg_bytes_to_img
from PIL import Image, ImageSequence

warnings.simplefilter("ignore")


def seen(payload):
    """Kind, size and pixels of all frames of an image."""
    with Image.open(io.BytesIO(payload)) as im:
        h = hashlib.sha256()
        for page in ImageSequence.Iterator(im):
            h.update(np.asarray(page.convert("RGBA")).tobytes())
        return [Image.MIME[im.format], list(im.size), getattr(im, "n_frames", 1), h.hexdigest()[:16]]


def photographs(root):
    """Images by name: those of Go as they are, some of them in the kinds that Go has none of."""
    src = os.path.join(root, "src", "image", "testdata")
    out = {}
    for name in sorted(os.listdir(src)):
        path = os.path.join(src, name)
        if name.endswith((".jpeg", ".png", ".gif")) and "truncated" not in name:
            with open(path, "rb") as f:
                out[name] = f.read()
    for name in ("video-001.png", "video-005.gray.png", "video-001.221212.png"):
        im = Image.open(os.path.join(src, name)).convert("RGB")
        alpha = im.copy()
        alpha.putalpha(99)
        for what, pic, args in (("lossy.webp", im, {"quality": 50}), ("lossless.webp", im, {"lossless": True}), ("alpha.webp", alpha, {}),
                                ("film.webp", im, {"save_all": True, "append_images": [im.rotate(180)]}), ("still.avif", im, {"quality": 50}),
                                ("alpha.avif", alpha, {}), ("grey.png", im.convert("L"), {}), ("deep.png", im.convert("I;16"), {}),
                                ("palette.png", im.quantize(9), {"transparency": 3}), ("adam.gif", im.quantize(5), {"interlace": 1}),
                                ("film.gif", im.quantize(20), {"save_all": True, "append_images": [im.rotate(180).quantize(20)]})):
            b = io.BytesIO()
            pic.save(b, what.rsplit(".", 1)[1].upper(), **args)
            out[name[:-4] + "." + what] = b.getvalue()
    return out


def make(dir, root):
    photos = photographs(root)
    trees = {}

    def put(tree, name, payload):
        path = os.path.join(dir, tree, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(payload if isinstance(payload, bytes) else payload.encode())

    def note(tree, id, payload, meta):
        item = trees.setdefault(tree, {}).setdefault(id, {"meta": {}, "frames": []})
        item["frames"].append(seen(payload))
        item["meta"].update(meta)

    for i, (name, p) in enumerate(photos.items()):
        ext = "." + name.rsplit(".", 1)[1]
        label, hashed = "grey" if "gray" in name else "colour", hashlib.md5(name.encode()).hexdigest()
        put("imagefolder", label + "/" + hashed + ext, p)
        note("imagefolder", label + "/" + hashed, p, {"label": label})
        put("flat", hashed + ext, p)
        note("flat", hashed, p, {"score": i / 4})
        put("webdataset", "%06d%s" % (i, ext), p)
        put("webdataset", "%06d.cls" % i, "%d\n" % (i % 2))
        put("webdataset", "%06d.txt" % i, name)
        put("webdataset", "%06d.json" % i, json.dumps({"bytes": len(p), "tags": ["Größe", None]}))
        note("webdataset", "%06d" % i, p, {"label": i % 2, "text": name, "bytes": len(p), "tags": ["Größe", None]})
        put("clips", "films/%s/frame_%d%s" % (label, i, ext), p)
        note("clips", "films/" + label, p, {"label": "films"})
    names = [hashlib.md5(n.encode()).hexdigest() for n in photos]
    put("flat", "labels.csv", "filename,score\n" + "".join("%s,%r\n" % (n, i / 4) for i, n in enumerate(names)))
    return trees


def read(path):
    chunk = GulpChunk(path, path[:-len(".gulp")] + ".gmeta", jpeg_decoder=lambda p: p)
    items, own = {}, {}
    with chunk.open("rb"):
        for id in chunk.meta_dict:
            frames, meta = chunk.read_frames(id)
            kinds = [seen(p) for p in frames]
            told = meta.pop("media_type", "image/jpeg")
            assert [k[0] for k in kinds] == (told if isinstance(told, list) else [told] * len(kinds)), (id, told)
            items[id] = {"meta": meta, "frames": kinds}
            for kind, p in zip(kinds, frames):
                try:
                    jpeg_bytes_to_img(p)
                    what = "decoded"
                except ValueError:
                    what = "ValueError"
                own.setdefault(kind[0], {}).setdefault(what, 0)
                own[kind[0]][what] += 1
    return {"items": items, "own": own}


if __name__ == "__main__":
    if sys.argv[1] == "make":
        out = make(*sys.argv[2:])
    else:
        out = [read(p) for p in sys.argv[2:]]
    json.dump(out, sys.stdout)
