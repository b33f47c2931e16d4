// The lines of "Read it elsewhere". Each is whole: it runs as it stands, as far as its
// program or library is there.

import { members } from "./npy.js";

const py = (s) => JSON.stringify(s); // JSON's strings are Python's and Go's
const sh = (s) => (/^[\w@%+=:,./-]+$/.test(s) ? s : `'${s.replaceAll("'", "'\\''")}'`);
const quote = (url) => `'${url.replaceAll("'", "%27")}'`;
const stem = (key) => (key.split("/").filter(Boolean).pop() ?? "data").replace(/\.(b2nd|b2frame|zoom|gulp|gmeta|blp|npy)$/, "").replace(/[^\w.-]+/g, "_");

const goTypes = { f4: "float32", f8: "float64", i1: "int8", i2: "int16", i4: "int32", i8: "int64", u1: "uint8", u2: "uint16", u4: "uint32", u8: "uint64" };

// linesOf lists {id, group, title, text, note} for what is shown of a dataset.
export function linesOf({ root, key, info, api }, shown) {
  const at = { root, key, info, token: api.hasToken(), url: (verb, params = {}, k = key) => api.plainUrl(verb, root, k, params), name: stem(key || root) };
  const list = shown.kind === "series" ? series(at, shown) : shown.kind === "frame" ? frame(at, shown) : shown.kind === "item" ? item(at, shown)
    : shown.kind === "items" ? items(at, shown) : shown.slice !== undefined ? array(at, shown) : other(at);
  return list.filter(Boolean);
}

const header = (at) => (at.token ? ` -H "Authorization: Bearer $FARREAD_TOKEN"` : "");
const curl = (at, url, out) => `curl -fsS --compressed${header(at)} ${quote(url)} -o ${sh(out)}`;

// fetch is how Python gets an answer: imports, and an expression.
function fetching(at, ...more) {
  const imports = ["import urllib.request", ...more, ...(at.token ? ["import os"] : [])].sort((a, b) => (a.startsWith("from") - b.startsWith("from")) || (a < b ? -1 : 1));
  const get = (url) => (at.token ? `urllib.request.urlopen(urllib.request.Request(${url}, headers={"Authorization": "Bearer " + os.environ["FARREAD_TOKEN"]}))` : `urllib.request.urlopen(${url})`);
  return { imports: `${imports.join("\n")}\n`, get };
}

const noToken = (at) => (at.token ? "This program sends no token: give it a link of farread share, or the dataset's own URI." : "It reads through this server. With the dataset's own URI (s3://…) it reads without it.");

const goProgram = (imports, body) => `package main\n\nimport (\n${["context", "fmt", "log", ...imports].map((i) => (i === "" ? "" : `\t${py(i)}`)).join("\n")}\n)\n\nfunc main() {\n\tctx := context.Background()\n${body.map((l) => (l ? `\t${l}` : "")).join("\n")}\n}\n`;
const check = ["if err != nil {", "\tlog.Fatal(err)", "}"];

// ---- arrays

// inZarr reports whether Zarr has items of a type: its structured items have no members
// that are arrays, or big-endian.
const inZarr = (descr) => members(descr)?.every((m) => m.shape.length === 0 && !/^>([iu](?!1$)|[fcmMU])/.test(m.descr) && inZarr(m.descr)) ?? true;

function array(at, { slice, field }) {
  const { info, name } = at, parts = slice.split(",").map((s) => s.trim()).filter(Boolean), text = parts.join(","), index = parts.length ? parts.join(", ") : (info.shape?.length ? "..." : "()");
  const npy = info.format === "npy", zarr = !npy && info.format !== "bloscpack" && !info.refused && inZarr(info.dtype), params = { s: text || (info.shape?.length ? ":" : ""), field }, of = field ? `[${py(field)}]` : "";
  const np = fetching(at, "import io"), opts = at.token ? `, storage_options={"client_kwargs": {"headers": {"Authorization": "Bearer " + os.environ["FARREAD_TOKEN"]}}}` : "", os = at.token ? "import os\n\n" : "";
  const go = !field && !npy && goTypes[/^[<>|=]?([a-z]\d)$/.exec(info.dtype ?? "")?.[1]];
  const raw = at.url("raw");
  return [
    { id: "numpy", group: "Python", title: "NumPy", text: `${np.imports}\nimport numpy as np\n\nurl = ${py(at.url("slice", params))}\npart = np.load(io.BytesIO(${np.get("url")}.read()))` },
    zarr && { id: "zarr", group: "Python", title: "zarr", text: `${os}import zarr\n\na = zarr.open_array(${py(at.url("zarr"))}, mode="r"${opts})\npart = a[${index}]${of}`, note: "zarr 3 with fsspec and aiohttp. It reads whole chunks." },
    zarr && { id: "xarray", group: "Python", title: "xarray", text: `${os}import xarray\n\nds = xarray.open_zarr(${py(at.url("group"))}${opts})\npart = ds["data"][${index}].values${of}`, note: "Of a folder, /group/… has all of its arrays, with their coordinates." },
    /\.b2nd$/.test(at.key) && info.format === "b2nd" && !at.token && { id: "blosc2", group: "Python", title: "blosc2", text: `import blosc2\n\na = blosc2.open(${py(raw)})\npart = a[${index}]${of}`, note: "python-blosc2 4 with fsspec and aiohttp. It reads the stored blocks." },
    go && { id: "go", group: "Go", title: "Go", text: goProgram(["", "github.com/farread/farread"], [`part, shape, err := farread.OpenSlice[${go}](ctx, ${py(raw)}, ${py(text || "...")})`, ...check, "fmt.Println(shape, part)"]), note: noToken(at) },
    { id: "curl", group: "curl", title: "curl", text: curl(at, at.url("slice", params), `${name}.npy`) },
    !npy && { id: "cli", group: "farread", title: "farread slice", text: `farread slice ${quote(raw)} ${quote(text || "...")}${field ? ` --field ${sh(field)}` : ""} -o ${sh(`${name}.npy`)}`, note: noToken(at) },
    zarr && { id: "zarrurl", group: "Zarr", title: "Address for any client of Zarr v3", text: at.url("zarr") },
    zarr && { id: "neuroglancer", group: "Zarr", title: "Source of a layer in neuroglancer", text: `${at.url("zarr")}/|zarr3:`, note: "The server has to allow it: farread serve --cors with the address of your neuroglancer. float64 and int64 need /zarr~float32/… in place of /zarr/…" },
  ];
}

// ---- series

function series(at, { tracks, from, to, width }) {
  const { name } = at, raw = at.url("raw"), num = tracks.filter((t) => !t.events), params = (t, format) => ({ track: t, from, to, width, format });
  const np = fetching(at, "import io"), js = fetching(at, "import json"), within = `${from !== "" ? ` --from ${sh(from)}` : ""}${to !== "" ? ` --to ${sh(to)}` : ""}`;
  const template = (format) => py(at.url("view", params("TRACK", format))).replace("track=TRACK", "track={track}");
  const one = tracks[0];
  return [
    num.length > 0 && { id: "numpy", group: "Python", title: "NumPy", text: `${np.imports}\nimport numpy as np\n\n\ndef view(track):\n    url = f${template("npy")}\n    return np.load(io.BytesIO(${np.get("url")}.read()))\n\n\n# Columns: from, to (s), least, greatest, mean, rms, first and last offset, samples\nviews = {track: view(track) for track in [${num.map((t) => t.track).join(", ")}]}` },
    num.length < tracks.length && { id: "json", group: "Python", title: "Events", text: `${js.imports}\n\ndef events(track):\n    url = f${template("json")}\n    return json.load(${js.get("url")})["points"]\n\n\ncounts = {track: events(track) for track in [${tracks.filter((t) => t.events).map((t) => t.track).join(", ")}]}` },
    { id: "go", group: "Go", title: "Go", text: goSeries(raw, one, from, to, width), note: noToken(at) },
    { id: "curl", group: "curl", title: "curl", text: tracks.map((t) => curl(at, at.url("view", params(t.track, t.events ? "json" : "npy")), `${name}-${t.track}.${t.events ? "json" : "npy"}`)).join("\n") },
    { id: "cli", group: "farread", title: "farread view", text: tracks.map((t) => `farread view ${quote(raw)} --track ${t.track}${within} --width ${width} -o ${sh(`${name}-${t.track}.${t.events ? "json" : "npy"}`)}`).join("\n"), note: noToken(at) },
    { id: "samples", group: "farread", title: "All samples of this part", text: tracks.map((t) => `farread get ${quote(raw)} --track ${t.track}${within} -o ${sh(`${name}-${t.track}.csv`)}`).join("\n") },
    num.length > 0 && { id: "svg", group: "curl", title: "As a picture", text: num.map((t) => curl(at, at.url("view", params(t.track, "svg")), `${name}-${t.track}.svg`)).join("\n") },
  ];
}

function goSeries(raw, t, from, to, width) {
  const bounds = from === "" && to === "" ? ["first, last := zoomcache.FirstOffset, zoomcache.LastOffset"]
    : [`from, err := zoomcache.ParseMoment(${py(from)})`, ...check, `to, err := zoomcache.ParseMoment(${py(to)})`, ...check, `track, err := s.Track(${t.track})`, ...check, "first, last, err := s.Header().Offsets(track, &from, &to)", ...check];
  return goProgram(["", "github.com/farread/farread", "github.com/farread/farread/formats/zoomcache"], [`s, err := farread.OpenZoom(ctx, ${py(raw)})`, ...check, ...bounds,
    `view, err := s.View(ctx, ${t.track}, int64(first), int64(last), ${width})`, ...check, "for _, p := range view.Points {", "\tfmt.Println(p.Entry, p.Exit, p.Count, p.Channels[0].Min, p.Channels[0].Max, p.Channels[0].Mean)", "}"]);
}

// ---- images

function frame(at, { id, frame: n, object }) {
  const { key } = at, url = at.url("get", { id, frame: n }), p = fetching(at, "import io"), folder = key === "" || at.info.place?.key?.endsWith("/") || key.endsWith("/");
  const chunk = folder ? (object ? at.url("raw", {}, `${key.replace(/\/$/, "")}/${object}`.replace(/^\//, "")) : null) : at.url("raw"), out = `${id.split("/").pop().replace(/[^\w.-]+/g, "_")}-${n}.jpg`;
  return [
    { id: "pillow", group: "Python", title: "Pillow", text: `${p.imports}\nfrom PIL import Image\n\nurl = ${py(url)}\nframe = ${p.get("url")}.read()  # as it is stored\npicture = Image.open(io.BytesIO(frame))` },
    chunk && { id: "go", group: "Go", title: "Go", text: goProgram(["", "github.com/farread/farread"], [`g, err := farread.OpenGulp(ctx, ${py(chunk)})`, ...check, `p, err := g.AppendFrame(ctx, nil, ${py(id)}, ${n})`, ...check, "fmt.Println(len(p), farread.MediaType(p))"]), note: noToken(at) },
    { id: "curl", group: "curl", title: "curl", text: curl(at, url, out) },
    chunk && { id: "cli", group: "farread", title: "farread get", text: `farread get ${quote(chunk)} --id ${sh(id)} --frames ${n} -o ${sh(out)}`, note: noToken(at) },
  ];
}

// ---- items

function item(at, { item: n }) {
  const url = at.url("get", { item: n }), p = fetching(at), raw = at.url("raw"), out = `${at.name}-${n}`;
  return [
    { id: "python", group: "Python", title: "Python", text: `${p.imports}\nurl = ${py(url)}\nitem = ${p.get("url")}.read()` },
    { id: "go", group: "Go", title: "Go", text: goItems(raw, [`p, err := list.AppendItem(ctx, nil, ${n})`, ...check, "fmt.Printf(\"%s\\n\", p)"]), note: noToken(at) },
    { id: "curl", group: "curl", title: "curl", text: curl(at, url, out) },
    { id: "cli", group: "farread", title: "farread get", text: `farread get ${quote(raw)} --item ${n} -o ${sh(out)}`, note: noToken(at) },
  ];
}

function items(at, { from, to }) {
  const url = at.url("get", { items: `${from}:${to}` }), p = fetching(at, "import base64", "import json"), raw = at.url("raw");
  return [
    { id: "python", group: "Python", title: "Python", text: `${p.imports}\nurl = ${py(url)}\nitems = []\nfor line in ${p.get("url")}:\n    item = json.loads(line)\n    items.append(item["text"].encode() if "text" in item else base64.b64decode(item.get("base64", "")))` },
    { id: "go", group: "Go", title: "Go", text: goItems(raw, [`err = list.EachItem(ctx, ${from}, ${to}, func(i int64, p []byte) error {`, "\tfmt.Printf(\"%d %s\\n\", i, p)", "\treturn nil", "})", ...check]), note: noToken(at) },
    { id: "curl", group: "curl", title: "curl: JSON Lines", text: curl(at, url, `${at.name}.jsonl`) },
    { id: "cli", group: "farread", title: "farread get: item after item", text: `farread get ${quote(raw)} --chunks ${from}:${to} -o ${sh(`${at.name}.items`)}`, note: noToken(at) },
  ];
}

function goItems(raw, body) {
  return goProgram(["", "github.com/farread/farread"], [`d, err := farread.OpenAny(ctx, ${py(raw)})`, ...check, "list, ok := d.(farread.Itemer)", "if !ok {", "\tlog.Fatal(\"no list of items\")", "}", ...body]);
}

// ---- anything else

function other(at) {
  const p = fetching(at), raw = at.url("raw"), folder = at.key === "" || at.key.endsWith("/");
  if (folder) return [{ id: "curl", group: "curl", title: "curl", text: curl(at, at.url("info"), `${at.name}.json`) }];
  return [
    { id: "curl", group: "curl", title: "curl", text: curl(at, raw, at.key.split("/").pop()) },
    { id: "python", group: "Python", title: "Python", text: `${p.imports}\nurl = ${py(raw)}\nbody = ${p.get("url")}.read()` },
    { id: "cli", group: "farread", title: "farread info", text: `farread info ${quote(raw)}`, note: noToken(at) },
  ];
}
