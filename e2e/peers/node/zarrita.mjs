// Reads arrays with zarrita.
//
// stdin: {"arrays": {name: address}, "statuses": {status: address}}. An array of "statuses" has int32 from 1 on, and that
// status for chunk 1. stdout: {"read": {name: {"shape", "sha256" of the items, little-endian} or {"error"}}, "statuses": {status: "fill",
// "raises", "zeros" (the half) or "wrong"}}.
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";

const zarr = await import(new URL("../../../.node/peers/node_modules/zarrita/dist/src/index.js", import.meta.url));
const job = JSON.parse(await new Response(process.stdin).text());

const arrays = { int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array, int32: Int32Array, uint32: Uint32Array,
  int64: BigInt64Array, uint64: BigUint64Array, float32: Float32Array, float64: Float64Array };

async function all(url) {
  const array = await zarr.open.v3(new zarr.FetchStore(url), { kind: "array" });
  return { array, got: await zarr.get(array) };
}

async function digest(url) {
  const { array, got } = await all(url);
  let items = array.shape.length ? got.data : [got];
  if (!ArrayBuffer.isView(items)) items = array.dtype === "bool" ? Uint8Array.from(items, Number) : arrays[array.dtype].from(items);
  return { shape: array.shape, sha256: createHash("sha256").update(new Uint8Array(items.buffer, items.byteOffset, items.byteLength)).digest("hex") };
}

async function outcome(url) {
  try {
    const { data } = (await all(url)).got, chunk = data.slice(1000, 2000);
    if (data.slice(0, 1000).some((v, i) => v !== i + 1)) return "wrong";
    if (chunk.every((v) => v === 0)) return "fill";
    return chunk.slice(500).every((v) => v === 0) ? "zeros" : "wrong";
  } catch {
    return "raises";
  }
}

async function each(of, fn) {
  return Object.fromEntries(await Promise.all(Object.entries(of).map(async ([name, url]) => [name, await fn(url)])));
}

const read = await each(job.arrays, (url) => digest(url).catch((e) => ({ error: String(e) })));
console.log(JSON.stringify({ read, statuses: await each(job.statuses, outcome) }));
