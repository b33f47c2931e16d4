// Times of series: what people type, what is written, and ticks. No browser is needed.

import assert from "node:assert/strict";
import test from "node:test";
import { digitsFor, parseOrigin, parseTime, relText, spanText, ticks, utcText } from "../../internal/viewer/ui/seriestime.js";
import { Strip, Tiles, Track, seconds, tileOf } from "../../internal/viewer/ui/seriestiles.js";

const origin = parseOrigin("2026-05-01T06:00:00.25Z");

test("what people type", () => {
  const cases = [["12.5", 12.5], ["-3", -3], ["1e3", 1000], ["1h30m", 5400], ["2d", 172800], ["250ms", 0.25], ["-5s", -5], ["1 h 5 min", 3900], ["90", 90], ["1:30", 90], ["1:02:03.5", 3723.5]];
  for (const [text, want] of cases) assert.ok(Math.abs(parseTime(text, null) - want) < 1e-9, `${text}: ${parseTime(text, null)}`);
  for (const text of ["", "soon", "1:99:99x", "2026-05-01", "5 parsecs", "h", "--3"]) assert.ok(Number.isNaN(parseTime(text, null)), text);
  assert.equal(parseTime("2026-05-01 06:00", origin), -0.25);
  assert.equal(parseTime("2026-05-01T08:00:00+02:00", origin), -0.25);
  assert.equal(parseTime("2026-05-01T06:00:01.75Z", origin), 1.5);
  assert.equal(parseTime("2026-05-02", origin), 18 * 3600 - 0.25);
  // A clock is of the day that is in sight.
  assert.equal(parseTime("06:10", origin, 100), 599.75);
  assert.equal(parseTime("06:10", origin, 86400), 86400 + 599.75);
  assert.equal(parseOrigin("yesterday"), null);
});

test("texts", () => {
  assert.equal(utcText(origin, 0, 2), "2026-05-01 06:00:00.25 UTC");
  assert.equal(utcText(origin, 0.7499, 1), "2026-05-01 06:00:01.0 UTC");
  assert.equal(utcText({ sec: 1e15, frac: 0 }, 5, 0), "5 s");
  assert.deepEqual([relText(0.5, 1), relText(75, 0), relText(59.96, 1), relText(3661.5, 1), relText(200_000, 0), relText(5, 0, 4000), relText(-75, 0)], ["0.5 s", "1:15", "60.0 s", "1:01:01.5", "2 d 7:33:20", "0:00:05", "−1:15"]);
  assert.deepEqual([spanText(3600), spanText(90), spanText(0.0796), spanText(2e-9), spanText(5e8)], ["1 h", "1.5 min", "79.6 ms", "2 ns", "15.8 years"]);
  assert.deepEqual([digitsFor(1), digitsFor(0.1), digitsFor(0.05), digitsFor(20)], [0, 1, 2, 0]);
});

test("ticks lie where clocks and calendars have them, ascend, and have room", () => {
  for (const o of [null, origin, parseOrigin("1999-12-31T23:59:59Z"), parseOrigin("2024-02-28T00:00:00Z")]) {
    for (let e = -8; e < 10; e += 0.37) {
      for (const a of [0, 12_345.678, -500]) {
        const span = 10 ** e, list = ticks(a, a + span, 900, o);
        assert.ok(list.length >= 1 && list.length <= 25, `${list.length} ticks of ${span} s`);
        for (let i = 1; i < list.length; i++) assert.ok(list[i].t > list[i - 1].t && list[i].text !== list[i - 1].text, `${span}: ${JSON.stringify(list.slice(i - 1, i + 1))}`);
        assert.ok(list.every((t) => t.t >= a - span * 1e-6 && t.t <= a + span * (1 + 1e-6)));
      }
    }
  }
  assert.deepEqual(ticks(0, 86400 * 800, 900, parseOrigin("2024-02-01T00:00:00Z")).slice(0, 4).map((t) => t.text), ["Apr", "Jul", "Oct", "2025"]);
});

test("tiles: addresses name the same offsets at any rate, and what is there is drawn", () => {
  const track = (more = {}) => new Track({ track: 1, codec: "i16", rate: [44100, 1], variable_rate: false, samples: 1e6, entry: 1, exit: 1e6, ...more });
  // The least offset whose time is not before: what the gateway makes of a moment.
  for (const [num, den] of [[44100, 1], [1000, 1], [30000, 1001], [1, 3600], [1e9, 1]]) {
    const t = track({ rate: [num, den] });
    for (const offset of [1, 2, 2049, 999_999, 123_456_789, -7]) {
      const [whole, rest = ""] = seconds(t, offset).replace("-", "").split("."), sign = offset < 0 ? -1n : 1n, unit = 10n ** BigInt(rest.length);
      const scaled = sign * BigInt(whole + rest) * BigInt(num), by = BigInt(den) * unit;
      const ceil = scaled / by + (scaled % by > 0n ? 1n : 0n);
      assert.equal(ceil, BigInt(offset), `${offset} at ${num}/${den}: ${seconds(t, offset)}`);
    }
  }
  const t = track(), tiles = new Tiles(), strip = new Strip(t);
  const tile = (k, i) => { const n = Math.min(2048, Math.ceil((1e6 - i * 2048 * 2 ** k) / 2 ** k)), data = new Float64Array(n * 9); for (let p = 0; p < n; p++) { const e = 1 + (i * 2048 + p) * 2 ** k; data.set([0, 0, -k, k, 0, 2 ** k, 0, e, e + 2 ** k - 1], p * 9); } return tileOf(t, { shape: [n, 1, 9], data }); };
  const seen = (a, b, k) => { strip.clear(); const sharp = tiles.gather(t, k, a, b, strip); let samples = 0; for (let i = 0; i < strip.n; i++) { samples += strip.count[i]; if (i) assert.ok(strip.entry[i] > strip.exit[i - 1]); } return [sharp, samples, strip.n]; };
  assert.deepEqual(seen(1, 1e6, t.top), [false, 0, 0]);
  tiles.put(t, t.top, 0, tile(t.top, 0));
  assert.equal(seen(1, 1e6, t.top)[0], true);
  const [sharp, , coarse] = seen(5000, 9000, 2);
  assert.ok(!sharp && coarse > 5);
  tiles.put(t, 2, 0, tile(2, 0));
  tiles.put(t, 2, 1, tile(2, 1));
  assert.equal(seen(5000, 9000, 2)[0], true);
  // Finer tiles are drawn where a coarser one is wanted, and of a version before until its own are there.
  assert.ok(seen(1, 16_000, 3)[2] > 3000);
  tiles.renew();
  assert.deepEqual([seen(5000, 9000, 2)[0], seen(5000, 9000, 2)[2] > 900], [false, true]);
  assert.equal(strip.near(5001) >= 0, true);
});
