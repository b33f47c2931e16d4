// npy.js by itself, under node: every type against what NumPy prints.

import assert from "node:assert/strict";
import test from "node:test";
import { data } from "./ground.mjs";
import { kindOf, members, parse } from "../../internal/viewer/ui/npy.js";

const { value } = await data();
const bytes = (text) => { const b = Buffer.from(text, "base64"); return b.buffer.slice(b.byteOffset, b.byteOffset + b.length); };

const cases = [
  "np.array([0, 1, 255], 'u1')", "np.array([-128, 127], 'i1')", "np.array([True, False])", "np.array([0, 65535], '<u2')", "np.array([-2, 3], '>i2')", "np.array([7, 4294967295], '>u4')",
  "np.array([-2**63, 2**63 - 1, 2**53 + 1], 'i8')", "np.array([2**64 - 1, 2**53 + 1], '>u8')",
  "np.array([0, 0.1, -0.0, 65504, 6e-8, np.nan, np.inf, 1/3, 2049], 'f2')", "np.array([1/3, -1e-5, 5e-324], '>f2')",
  "np.array([0.1, 1/3, 1e16, 1e-5, 123456.79, 3.4028235e38, 1e-45, -np.inf, 16777217], 'f4')", "np.array([0.1, 2.5], '>f4')",
  "np.array([0.1, 1e16, 123456789012345680.0, 5e-324, 1e-4, 1e22, -0.0, 1e15, 1.7976931348623157e308])",
  "np.array(['2024-02-29T12:34:56', 'NaT', '1969-12-31T23:59:59'], 'M8[s]')", "np.array(['2024-02-29T12:34:56.789123456'], 'M8[ns]')", "np.array(['2024-02', '1905-11'], 'M8[M]')",
  "np.array(['0001', '2024'], 'M8[Y]')", "np.array(['2024-02-29', '1000-01-01'], '>M8[D]')", "np.array(['1969-12-31T23'], 'M8[h]')", "np.array(['1969-12-31T23:59'], 'M8[m]')",
  "np.array(['1969-12-31T23:59:59.999'], 'M8[ms]')", "np.array(['1969-12-31T23:59:59.999999'], 'M8[us]')", "np.array([3, -7], 'M8[25s]')", "np.zeros((0, 3), 'f4')",
];

test("numbers and moments", async () => {
  for (const c of cases) {
    const a = parse(bytes(await value(`npy(${c})`)));
    assert.deepEqual(a.shape, await value(`list((${c}).shape)`), c);
    const texts = Array.from({ length: a.size }, (_, i) => a.text(i));
    if (/f\d$/.test(a.dtype)) assert.deepEqual(await value(`differ(${JSON.stringify(texts)}, ${c})`), [], c);
    else assert.deepEqual(texts, await value(`[str(v) for v in (${c}).ravel()]`), c);
  }
});

test("complex numbers and durations", async () => {
  const c = parse(bytes(await value("npy(np.array([[1 + 2j, complex(0, -0.5)], [3, 1/3 - 1e-9j]], 'c8'))")));
  assert.deepEqual([0, 1, 2, 3].map(c.text), ["1+2j", "0-0.5j", "3+0j", "0.33333334-1e-09j"]);
  assert.ok(Math.abs(c.number(0) - Math.sqrt(5)) < 1e-12 && c.number(1) === 0.5);
  assert.equal(parse(bytes(await value("npy(np.array([-2.5 - 1j], '>c16'))"))).text(0), "-2.5-1j");
  const d = parse(bytes(await value("npy(np.array([90, -5], 'm8[10s]'))")));
  assert.deepEqual([d.text(0), d.text(1), d.number(1)], ["900 s", "-50 s", -5]);
});

test("members, and what has no numbers", async () => {
  const descr = "[('a', '<i8'), ('b c', '>f4', (2, 3)), ('it''s', 'S3'), (('title', 'n'), '<M8[s]'), ('', '|V4')]".replace("it''s", "it\\'s");
  assert.deepEqual(members(descr).map((m) => [m.name, m.shape, kindOf(m.descr)]), [["a", [], "number"], ["b c", [2, 3], "number"], ["it's", [], ""], ["n", [], "time"]]);
  assert.equal(members("<f4"), null);
  assert.throws(() => parse(bytes("AAAA")), { code: "npy" });
  for (const [c, code] of [["np.array(['ab'])", "type"], ["np.array([b'ab'])", "type"], ["np.zeros(2, [('x', 'i4'), ('y', 'f8')])", "structured"], ["np.zeros(1, 'V3')", "type"], ["np.zeros(1, np.longdouble)", "type"]]) {
    const b = bytes(await value(`npy(${c})`));
    assert.throws(() => parse(b), { code }, c);
  }
});

test("bytes that are cut or wrong are refused", async () => {
  const whole = new Uint8Array(bytes(await value("npy(np.arange(6, dtype='i4').reshape(2, 3))")));
  for (let n = 0; n < whole.length; n++) assert.throws(() => parse(whole.slice(0, n).buffer), { code: "npy" }, `${n} bytes`);
  for (let i = 6; i < 128; i++) {
    for (const x of [0x01, 0x20, 0x80]) {
      const b = whole.slice();
      b[i] ^= x;
      try { parse(b.buffer); } catch (e) { assert.ok(["npy", "type", "structured"].includes(e.code), `byte ${i}: ${e.stack}`); }
    }
  }
});
