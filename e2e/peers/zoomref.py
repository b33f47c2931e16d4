#!/usr/bin/env python3
"""Independent reference implementation of the zoom-cache 3.0 container.

Written from the specification of the format.  Standard library + numpy only.
The writer reproduces the original tool's arithmetic bit for bit (including its
oddities, which the specification numbers Q1..Q16); the reader is bounded and never trusts a
length or a count it has not checked against the bytes that are really there.

This is the format's independent reader and writer, made together with the
test vectors of the specification, by others than the Go package and from the
same text.  It stands here unchanged but for these lines.
"""
from __future__ import annotations

import argparse
import hashlib
import io
import json
import math
import struct
import sys
import zlib
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO, Iterator, Optional, Sequence

import numpy as np

MAGIC_GLOBAL = b"\xe5ZXhe4d\0"
MAGIC_TRACK = b"\xe5ZXtRcK\0"
MAGIC_PACKET = b"\xe5ZXp4ck\0"
MAGIC_SUMMARY = b"\xe5ZX5umm\0"
MAGICS = (MAGIC_GLOBAL, MAGIC_TRACK, MAGIC_PACKET, MAGIC_SUMMARY)
VERSION = (3, 0)
DEFAULT_WATERMARK = 1024
MULTI = b"ZOOMmchn"

F64_MAX = sys.float_info.max
F32_MAX = float(np.finfo(np.float32).max)
# what 0/0 and sqrt(negative) give on x86-64: a quiet NaN with the sign bit set
NAN_HW: float = struct.unpack(">d", bytes.fromhex("fff8000000000000"))[0]


class ZoomError(Exception):
    """A malformed file.  `code` is stable and used by the malformed manifests."""

    def __init__(self, code: str, msg: str, offset: int = -1) -> None:
        super().__init__(f"{code}: {msg}" + (f" (at byte {offset})" if offset >= 0 else ""))
        self.code = code
        self.offset = offset


# --------------------------------------------------------------------------
# integers, IEEE helpers

def vlc_encode(x: int) -> bytes:
    """Sign + 6 bits in the first byte, then 7 bits a byte, low bits first."""
    mag = -x if x < 0 else x
    hi = mag >> 6
    out = bytearray([((mag & 63) << 1) | (1 if x < 0 else 0) | (0x80 if hi else 0)])
    while hi:
        nxt = hi >> 7
        out.append((hi & 127) | (0x80 if nxt else 0))
        hi = nxt
    return bytes(out)


def vlc_decode(b: bytes, pos: int, end: int, max_bytes: int = 4096) -> tuple[int, int]:
    if pos >= end:
        raise ZoomError("truncated", "VLC integer runs past the end", pos)
    c = b[pos]
    pos += 1
    neg = c & 1
    mag = (c >> 1) & 63
    shift = 6
    n = 1
    while c & 0x80:
        if pos >= end:
            raise ZoomError("truncated", "VLC integer runs past the end", pos)
        if n >= max_bytes:
            raise ZoomError("bad_length", "VLC integer is absurdly long", pos)
        c = b[pos]
        pos += 1
        n += 1
        mag |= (c & 127) << shift
        shift += 7
    return (-mag if neg else mag), pos


def wrap(x: int, bits: int, signed: bool) -> int:
    x &= (1 << bits) - 1
    if signed and x >> (bits - 1):
        x -= 1 << bits
    return x


def to_double(x: int) -> float:
    try:
        return float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf


def fdiv(a: float, b: float) -> float:
    if b != 0.0:
        return a / b
    if a != a:
        return a
    if a == 0.0:
        return NAN_HW
    neg = (math.copysign(1.0, a) < 0) != (math.copysign(1.0, b) < 0)
    return -math.inf if neg else math.inf


def fsqrt(x: float) -> float:
    if x != x:
        return x
    if x < 0.0:
        return NAN_HW
    return math.sqrt(x)


def hmin(x: Any, y: Any) -> Any:
    return x if x <= y else y


def hmax(x: Any, y: Any) -> Any:
    return y if x <= y else x


# --------------------------------------------------------------------------
# codecs

@dataclass(frozen=True)
class Codec:
    name: str
    ident: bytes
    kind: str                 # float | int | vlc | bool | unit
    fmt: str = ""             # struct format of one raw value
    bits: int = 64            # width of the arithmetic
    signed: bool = True
    delta: bool = True        # does the delta flag do anything?
    pcm: bool = False
    big: bool = False         # unbounded integers

    @property
    def size(self) -> Optional[int]:
        """Bytes of one raw value, None when it varies."""
        if self.kind == "unit":
            return 0
        return None if self.kind == "vlc" else struct.calcsize(self.fmt)

    # ---- raw values
    def enc(self, v: Any) -> bytes:
        if self.kind == "unit":
            return b""
        if self.kind == "bool":
            return b"\1" if v else b"\0"
        if self.kind == "vlc":
            return vlc_encode(int(v))
        if self.kind == "float":
            if self.fmt == ">f":
                return enc_f32(v)
            return struct.pack(">d", v)
        w = struct.calcsize(self.fmt) * 8
        return struct.pack(self.fmt, wrap(v, w, self.signed))

    def dec(self, b: bytes, pos: int, end: int) -> tuple[Any, int]:
        if self.kind == "unit":
            return None, pos
        if self.kind == "vlc":
            v, pos = vlc_decode(b, pos, end)
            if not self.big:
                v = wrap(v, self.bits, self.signed)
            return v, pos
        n = struct.calcsize(self.fmt)
        if pos + n > end:
            raise ZoomError("truncated", f"{self.name} value runs past the end", pos)
        if self.kind == "bool":
            return b[pos] != 0, pos + 1
        if self.fmt == ">f":
            return np.frombuffer(b, ">f4", 1, pos)[0].astype(np.float32), pos + n
        return struct.unpack_from(self.fmt, b, pos)[0], pos + n

    def sub(self, a: Any, b: Any) -> Any:
        if self.kind == "float":
            return f32(a - b) if self.fmt == ">f" else a - b
        return a - b if self.big else wrap(a - b, self.bits, self.signed)

    def add(self, a: Any, b: Any) -> Any:
        if self.kind == "float":
            return f32(a + b) if self.fmt == ">f" else a + b
        return a + b if self.big else wrap(a + b, self.bits, self.signed)


def f32(x: Any) -> np.float32:
    with np.errstate(all="ignore"):
        return np.float32(x)


def enc_f32(v: Any) -> bytes:
    return np.array([v], dtype=">f4").tobytes()


_C = Codec
CODECS: dict[str, Codec] = {c.name: c for c in [
    _C("f32", b"ZOOMf32b", "float", ">f", 32), _C("f64", b"ZOOMf64b", "float", ">d", 64),
    _C("int", b"ZOOMintb", "vlc", "", 64), _C("integer", b"ZOOMintb", "vlc", "", 0, big=True),
    _C("i8", b"ZOOMiS8b", "int", ">b", 8), _C("i16", b"ZOOMi16b", "int", ">h", 16),
    _C("i32", b"ZOOMi32b", "int", ">i", 32), _C("i64", b"ZOOMi64b", "int", ">q", 64),
    _C("word", b"ZOOMuntb", "vlc", "", 64, False, False),
    _C("u8", b"ZOOMu08b", "int", ">B", 8, False, False), _C("u16", b"ZOOMu16b", "int", ">H", 16, False, False),
    _C("u32", b"ZOOMu32b", "int", ">I", 32, False, False), _C("u64", b"ZOOMu64b", "int", ">Q", 64, False, False),
    _C("bool", b"ZOOMbool", "bool", ">B", 8, False, False), _C("unit", b"ZOOMunit", "unit", "", 0, False, False),
    _C("pcm-f32", b"ZPCMf32b", "float", ">f", 32, pcm=True), _C("pcm-f64", b"ZPCMf64b", "float", ">d", 64, pcm=True),
    _C("pcm-int", b"ZPCMi32b", "int", ">i", 64, pcm=True), _C("pcm-i8", b"ZPCMiS8b", "int", ">b", 8, pcm=True),
    _C("pcm-i16", b"ZPCMi16b", "int", ">h", 16, pcm=True), _C("pcm-i32", b"ZPCMi32b", "int", ">i", 32, pcm=True),
    _C("pcm-i64", b"ZPCMi64b", "int", ">q", 64, pcm=True),
]}
# several writers share an identifier; the reader settles on the first entry here
BY_IDENT: dict[bytes, Codec] = {}
for _c in CODECS.values():
    if _c.name not in ("integer", "pcm-i32"):
        BY_IDENT[_c.ident] = _c


@dataclass
class TrackSpec:
    codec: Codec
    rate: Fraction = Fraction(1000)
    vbr: bool = False
    delta: bool = False
    zlib: bool = False
    name: bytes = b""
    channels: int = 0         # 0: plain; n >= 1: wrapped in the multichannel codec

    def ident(self) -> bytes:
        if not self.channels:
            return self.codec.ident
        return MULTI + struct.pack(">ii", self.channels, len(self.codec.ident)) + self.codec.ident

    @property
    def delta_active(self) -> bool:
        return self.delta and self.codec.delta and not self.channels


# --------------------------------------------------------------------------
# summaries

NumSummary = tuple          # (entry, exit, min, max, avg, rms) / pcm (min, max, avg, rms) / bool (p,) / unit (n,)


def level1(c: Codec, vals: Sequence[Any], sos: Sequence[int], dur: int) -> NumSummary:
    """The level-1 summary of one flush: `vals` at offsets `sos`, exit - entry = dur."""
    if c.kind == "unit":
        return (wrap(len(vals), 32, True),)
    prev = sos[0]
    if c.kind == "bool":
        total = 0
        for v, t in zip(vals, sos):
            if v:
                total += t - prev
            prev = t
        return (fdiv(float(total), float(dur)),)
    s = q = 0.0
    if c.kind == "float":
        single = c.fmt == ">f"
        top = F32_MAX if single else F64_MAX
        mn: Any = top
        mx: Any = -top
        with np.errstate(all="ignore"):
            for v, t in zip(vals, sos):
                w = t - prev
                prev = t
                mn = v if not mn <= v else mn
                mx = v if mx <= v else mx
                if single:
                    fw = np.float32(w)
                    s += float(v * fw)
                    q += float((v * v) * fw)
                else:
                    s += v * float(w)
                    q += (v * v) * float(w)
    elif c.big:
        mn = mx = vals[0]                       # Q6: never updated by the original
        for v, t in zip(vals, sos):
            w = t - prev
            prev = t
            s += to_double(v * w)
            q += to_double(v * v * w)
    else:
        mn, mx = min(vals), max(vals)
        b, sg = c.bits, c.signed
        for v, t in zip(vals, sos):
            w = wrap(t - prev, b, sg)
            prev = t
            s += to_double(wrap(v * w, b, sg))
            q += to_double(wrap(v * v * w, b, sg))
    d = float(dur)
    avg, rms = fdiv(s, d), fsqrt(fdiv(q, d))
    if c.pcm:
        return (mn, mx, avg, rms)
    return (vals[0], vals[-1], mn, mx, avg, rms)


def append_summary(c: Codec, d1: int, a: NumSummary, d2: int, b: NumSummary) -> NumSummary:
    if c.kind == "unit":
        return (wrap(a[0] + b[0], 32, True),)
    f1, f2, fs = float(d1), float(d2), float(d1 + d2)
    if c.kind == "bool":
        return (fdiv(a[0] * f1 + b[0] * f2, fs),)
    avg = fdiv(a[-2] * f1 + b[-2] * f2, fs)
    rms = fsqrt(fdiv(a[-1] * a[-1] * f1 + b[-1] * b[-1] * f2, fs))
    k = 0 if c.pcm else 2
    mm = (hmin(a[k], b[k]), hmax(a[k + 1], b[k + 1]), avg, rms)
    return mm if c.pcm else (a[0], b[1]) + mm


def enc_summary(c: Codec, s: NumSummary) -> bytes:
    if c.kind == "unit":
        return struct.pack(">i", s[0])
    if c.kind == "bool":
        return struct.pack(">d", s[0])
    return b"".join(c.enc(v) for v in s[:-2]) + struct.pack(">dd", s[-2], s[-1])


def dec_summary(c: Codec, b: bytes, pos: int, end: int) -> tuple[NumSummary, int]:
    def need(n: int) -> None:
        if pos + n > end:
            raise ZoomError("truncated", "summary body too short", pos)
    if c.kind == "unit":
        need(4)
        return struct.unpack_from(">i", b, pos), pos + 4
    if c.kind == "bool":
        need(8)
        return struct.unpack_from(">d", b, pos), pos + 8
    vals = []
    for _ in range(2 if c.pcm else 4):
        v, pos = c.dec(b, pos, end)
        vals.append(v)
    need(16)
    return tuple(vals) + struct.unpack_from(">dd", b, pos), pos + 16


@dataclass
class Summary:
    track: int
    level: int
    entry: int
    exit: int
    chans: list[NumSummary]
    offset: int = -1
    size: int = 0

    @property
    def dur(self) -> int:
        return self.exit - self.entry


# --------------------------------------------------------------------------
# writer

@dataclass
class _Track:
    spec: TrackSpec
    watermark: int = DEFAULT_WATERMARK
    entry: int = 0
    exit: int = 0
    vals: list = field(default_factory=list)
    sos: list = field(default_factory=list)
    stamped: bool = False
    # pending[k]: a finished level-k summary waiting for its partner, already relabelled k+1
    pending: dict[int, Summary] = field(default_factory=dict)


class Writer:
    """Same flush rules, block order and arithmetic as the original library."""

    def __init__(self, out: BinaryIO, tracks: dict[int, TrackSpec],
                 utc: Optional[tuple[int, int, int]] = None, raw: bool = True) -> None:
        self.out = out
        self.raw = raw
        self.tracks = {n: _Track(s) for n, s in sorted(tracks.items())}
        head = MAGIC_GLOBAL + struct.pack(">hhi", *VERSION, len(tracks))
        head += b"".join(vlc_encode(x) for x in (utc or (0, 0, 0)))
        for n, t in self.tracks.items():
            s = t.spec
            flags = (4 if s.zlib else 0) | (2 if s.delta else 0) | (1 if s.vbr else 0)
            ident = s.ident()
            head += MAGIC_TRACK + struct.pack(">ihqq", n, flags, s.rate.numerator, s.rate.denominator)
            head += struct.pack(">i", len(ident)) + ident + struct.pack(">i", len(s.name)) + s.name
        out.write(head)

    def set_watermark(self, track: int, n: int) -> None:
        self.tracks[track].watermark = n

    def write(self, track: int, value: Any) -> None:
        t = self.tracks[track]
        t.exit += 1
        if not t.vals:
            t.entry += 1
        self._put(t, t.exit, value)

    def write_at(self, track: int, so: int, value: Any) -> None:
        t = self.tracks[track]
        t.exit = so
        if not t.vals:
            t.entry = so
        t.stamped = True
        self._put(t, so, value)

    def _put(self, t: _Track, so: int, value: Any) -> None:
        t.vals.append(value)
        t.sos.append(so)
        if len(t.vals) >= t.watermark:
            self.flush()

    # ---- blocks
    def _packet(self, n: int, t: _Track) -> bytes:
        s, c = t.spec, t.spec.codec
        vals: list = t.vals
        if s.channels:
            body = b"".join(c.enc(x) for v in vals for x in v)
        else:
            if s.delta_active and vals:
                vals = [vals[0]] + [c.sub(b, a) for a, b in zip(vals, vals[1:])]
            body = b"".join(map(c.enc, vals))
        if t.stamped and t.sos:
            d = [t.sos[0]] + [b - a for a, b in zip(t.sos, t.sos[1:])]
            body += b"".join(struct.pack(">q", wrap(x, 64, True)) for x in d)
        if s.zlib:
            body = zlib.compress(body, 6)
        return MAGIC_PACKET + struct.pack(">iqqii", n, t.entry, t.exit, len(t.vals), len(body)) + body

    @staticmethod
    def _block(c: Codec, s: Summary) -> bytes:
        body = b"".join(enc_summary(c, x) for x in s.chans)
        return MAGIC_SUMMARY + struct.pack(">iiqqi", s.track, s.level, s.entry, s.exit, len(body)) + body

    @staticmethod
    def _merge(c: Codec, a: Summary, b: Summary) -> Summary:
        return Summary(a.track, a.level, a.entry, b.exit,
                       [append_summary(c, a.dur, x, b.dur, y) for x, y in zip(a.chans, b.chans)])

    def _push(self, n: int, t: _Track, deferred: dict[int, list[bytes]]) -> None:
        c, dur = t.spec.codec, t.exit - t.entry
        if t.spec.channels:
            ch = [level1(c, [v[i] for v in t.vals], t.sos, dur) for i in range(t.spec.channels)]
        else:
            ch = [level1(c, t.vals, t.sos, dur)]
        s = Summary(n, 1, t.entry, t.exit, ch)
        while True:
            k = s.level
            deferred.setdefault(k, []).append(self._block(c, s))
            saved = t.pending.pop(k, None)
            if saved is None:
                t.pending[k] = Summary(s.track, k + 1, s.entry, s.exit, s.chans)
                return
            s = self._merge(c, saved, s)

    def _finish(self, n: int, t: _Track, deferred: dict[int, list[bytes]]) -> None:
        c = t.spec.codec
        bub: Optional[Summary] = None
        for k in range(1, max(t.pending, default=0) + 1):
            saved = t.pending.get(k)
            if bub is None:
                cur = saved
            else:
                cur = bub if saved is None else self._merge(c, saved, bub)
            if cur is None:
                continue
            deferred.setdefault(k, []).append(self._block(c, cur))
            bub = Summary(cur.track, cur.level + 1, cur.entry, cur.exit, cur.chans)
        t.pending = {}

    def _round(self, final: bool) -> None:
        buf = bytearray()
        deferred: dict[int, list[bytes]] = {}
        if self.raw:
            for n, t in self.tracks.items():
                buf += self._packet(n, t)
        for n, t in self.tracks.items():
            if final:
                self._finish(n, t, deferred)
            elif t.vals:
                self._push(n, t, deferred)
        for k in sorted(deferred):
            for b in deferred[k]:
                buf += b
        for t in self.tracks.values():
            t.entry = t.exit
            t.vals, t.sos, t.stamped = [], [], False
        self.out.write(bytes(buf))

    def flush(self) -> None:
        self._round(False)

    def close(self) -> None:
        self._round(False)
        self._round(True)


# --------------------------------------------------------------------------
# reader

@dataclass
class Packet:
    track: int
    entry: int
    exit: int
    count: int
    length: int
    offset: int
    body: bytes = b""


@dataclass
class Limits:
    max_tracks: int = 65536
    max_ident: int = 4096
    max_name: int = 65536
    max_payload: int = 1 << 30
    max_inflated: int = 1 << 30
    max_count: int = 1 << 28


class Reader:
    """Length-driven reader over a bytes object.

    strict=True: any byte outside a block is an error.
    strict=False: between blocks it scans on to the next 8-byte packet/summary magic.
    Blocks of undeclared tracks are skipped by their length in both modes.
    """

    def __init__(self, data: bytes, strict: bool = True, limits: Limits = Limits()) -> None:
        self.b = data
        self.strict = strict
        self.lim = limits
        self.version = (0, 0)
        self.utc: Optional[tuple[int, int, int]] = None
        self.tracks: dict[int, TrackSpec] = {}
        self.first_block = 0
        self._headers()

    def _need(self, pos: int, n: int, what: str) -> None:
        if pos + n > len(self.b):
            raise ZoomError("truncated", what, pos)

    def _headers(self) -> None:
        b = self.b
        self._need(0, 8, "global magic")
        if b[:8] != MAGIC_GLOBAL:
            raise ZoomError("bad_magic", "not a zoom-cache file", 0)
        self._need(8, 8, "global header")
        maj, mnr, n = struct.unpack_from(">hhi", b, 8)
        if maj != VERSION[0] or mnr < VERSION[1]:
            raise ZoomError("bad_version", f"{maj}.{mnr}", 8)
        self.version = (maj, mnr)
        if not 0 <= n <= self.lim.max_tracks:
            raise ZoomError("bad_length", f"{n} tracks", 12)
        pos = 16
        t = []
        for _ in range(3):
            v, pos = vlc_decode(b, pos, len(b), 64)
            t.append(v)
        self.utc = None if t[2] == 0 else (t[0], t[1], t[2])
        while len(self.tracks) < n:
            self._need(pos, 8, "track magic")
            if b[pos:pos + 8] != MAGIC_TRACK:
                raise ZoomError("bad_magic", "track header expected", pos)
            self._need(pos, 34, "track header")
            no, flags, num, den, il = struct.unpack_from(">ihqqi", b, pos + 8)
            if not 0 <= il <= self.lim.max_ident:
                raise ZoomError("bad_length", f"codec identifier of {il} bytes", pos + 30)
            p = pos + 34
            self._need(p, il + 4, "codec identifier")
            codec, ch = self._codec(b[p:p + il], p)
            p += il
            (nl,) = struct.unpack_from(">i", b, p)
            if not 0 <= nl <= self.lim.max_name:
                raise ZoomError("bad_length", f"track name of {nl} bytes", p)
            self._need(p + 4, nl, "track name")
            rate = Fraction(0) if den == 0 else Fraction(num, den)
            if no in self.tracks:
                raise ZoomError("duplicate_track", str(no), pos)
            self.tracks[no] = TrackSpec(codec, rate, bool(flags & 1), bool(flags & 2), bool(flags & 4),
                                        b[p + 4:p + 4 + nl], ch)
            pos = p + 4 + nl
        self.first_block = pos

    @staticmethod
    def _codec(ident: bytes, at: int) -> tuple[Codec, int]:
        if ident in BY_IDENT:
            return BY_IDENT[ident], 0
        if len(ident) >= 16 and ident[:8] == MULTI:
            ch, sl = struct.unpack_from(">ii", ident, 8)
            sub = ident[16:]
            if sl != len(sub) or not 1 <= ch <= 65536:
                raise ZoomError("bad_length", "multichannel identifier", at)
            if sub in BY_IDENT:
                return BY_IDENT[sub], ch
        raise ZoomError("unknown_codec", repr(ident), at)

    # ---- headers only: this is all that a skip-scan needs
    def headers(self) -> Iterator[Packet | Summary]:
        b, pos, n = self.b, self.first_block, len(self.b)
        while pos < n:
            m = b[pos:pos + 8]
            if m == MAGIC_PACKET:
                self._need(pos, 36, "packet header")
                tr, en, ex, ct, ln = struct.unpack_from(">iqqii", b, pos + 8)
                if ct < 0 or ct > self.lim.max_count or ln < 0 or ln > self.lim.max_payload:
                    raise ZoomError("bad_length", f"packet count {ct}, length {ln}", pos)
                self._need(pos + 36, ln, "packet payload")
                yield Packet(tr, en, ex, ct, ln, pos)
            elif m == MAGIC_SUMMARY:
                self._need(pos, 36, "summary header")
                tr, lv, en, ex, ln = struct.unpack_from(">iiqqi", b, pos + 8)
                if ln < 0 or ln > self.lim.max_payload:
                    raise ZoomError("bad_length", f"summary length {ln}", pos)
                self._need(pos + 36, ln, "summary body")
                yield Summary(tr, lv, en, ex, [], pos, ln)
            else:
                if self.strict:
                    raise ZoomError("truncated" if n - pos < 8 and any(x.startswith(m) for x in MAGICS)
                                    else "bad_magic", "block expected", pos)
                nxt = [x for x in (b.find(MAGIC_PACKET, pos + 1), b.find(MAGIC_SUMMARY, pos + 1)) if x >= 0]
                if not nxt:
                    return
                pos = min(nxt)
                continue
            pos += 36 + ln

    def samples(self, p: Packet) -> tuple[list, list[int]]:
        """Decoded values and their sample offsets."""
        s = self.tracks[p.track]
        c, ch = s.codec, s.channels or 1
        body = self.b[p.offset + 36:p.offset + 36 + p.length]
        if s.zlib:
            d = zlib.decompressobj()
            try:
                body = d.decompress(body, self.lim.max_inflated)
            except zlib.error as e:
                raise ZoomError("bad_zlib", str(e), p.offset) from None
            if d.unconsumed_tail:
                raise ZoomError("bad_length", "inflates past the limit", p.offset)
            if not d.eof:
                raise ZoomError("bad_zlib", "stream is cut short", p.offset)
            if d.unused_data:
                raise ZoomError("trailing_bytes", "after the zlib stream", p.offset)
        end = len(body)
        least = p.count * ch * (1 if c.size is None else c.size) + (8 * p.count if s.vbr else 0)
        if least > end:
            raise ZoomError("count_mismatch", f"{p.count} values need {least} bytes, {end} there", p.offset)
        pos = 0
        n = p.count * ch
        vals: list
        if c.kind == "unit":
            vals = [None] * n
        elif c.kind in ("int", "bool") or c.fmt == ">d":
            code = {"b": "i1", "B": "u1", "h": ">i2", "H": ">u2", "i": ">i4", "I": ">u4", "q": ">i8",
                    "Q": ">u8", "d": ">f8"}[c.fmt[1]]
            arr = np.frombuffer(body, code, n, 0)
            pos = n * struct.calcsize(c.fmt)
            vals = [x != 0 for x in arr.tolist()] if c.kind == "bool" else arr.tolist()
        elif c.fmt == ">f":
            vals = list(np.frombuffer(body, ">f4", n, 0).astype(np.float32))
            pos = 4 * n
        else:
            vals = []
            for _ in range(n):
                v, pos = c.dec(body, pos, end)
                vals.append(v)
        if s.channels:
            vals = [tuple(vals[i:i + ch]) for i in range(0, n, ch)]
        elif s.delta_active and vals:
            with np.errstate(all="ignore"):
                for i in range(1, len(vals)):
                    vals[i] = c.add(vals[i - 1], vals[i])
        if s.vbr:
            if pos + 8 * p.count > end:
                raise ZoomError("count_mismatch", "timestamps are cut short", p.offset)
            d8 = np.frombuffer(body, ">i8", p.count, pos).astype(np.int64)
            sos = np.cumsum(d8, dtype=np.int64).tolist()
            pos += 8 * p.count
        else:
            sos = list(range(p.entry, p.entry + p.count))
        if pos != end:
            raise ZoomError("trailing_bytes", f"{end - pos} bytes left in the payload", p.offset)
        return vals, sos

    def summary(self, s: Summary) -> Summary:
        sp = self.tracks[s.track]
        pos, end = s.offset + 36, s.offset + 36 + s.size
        out = []
        for _ in range(sp.channels or 1):
            x, pos = dec_summary(sp.codec, self.b, pos, end)
            out.append(x)
        if pos != end:
            raise ZoomError("trailing_bytes", "in a summary body", s.offset)
        return Summary(s.track, s.level, s.entry, s.exit, out, s.offset, s.size)

    def blocks(self) -> Iterator[Packet | Summary]:
        for h in self.headers():
            if h.track not in self.tracks:
                continue
            yield self.summary(h) if isinstance(h, Summary) else h

    # ---- queries
    def pick_level(self, track: int, t0: int, t1: int, width: int) -> int:
        """Coarsest level that still gives at least one block a pixel over [t0, t1]; 0 = raw."""
        best = 0
        spans: dict[int, list[int]] = {}
        for h in self.headers():
            if isinstance(h, Summary) and h.track == track and h.exit >= t0 and h.entry <= t1:
                spans.setdefault(h.level, []).append(h.offset)
        for lv, offs in spans.items():
            if len(offs) >= width and lv > best:
                best = lv
        return best

    def query(self, track: int, level: int, t0: int, t1: int) -> list[Summary]:
        return [self.summary(h) for h in self.headers()
                if isinstance(h, Summary) and h.track == track and h.level == level
                and h.exit >= t0 and h.entry <= t1]


# --------------------------------------------------------------------------
# digests and manifests

def dec_str(v: Any) -> str:
    if v is None:
        return "-"
    if isinstance(v, (bool, np.bool_)):
        return "1" if v else "0"
    if isinstance(v, int):
        return str(v)
    f = float(v)
    if f != f:
        return "NaN"
    if math.isinf(f):
        return "Infinity" if f > 0 else "-Infinity"
    return repr(f)


def sample_bytes(c: Codec, vals: list) -> tuple[str, bytes]:
    flat = [x for v in vals for x in (v if isinstance(v, tuple) else (v,))]
    if c.kind == "unit":
        return "none", b""
    if c.kind == "float":
        with np.errstate(all="ignore"):
            return "f64le", np.array(flat, dtype=np.float32 if c.fmt == ">f" else np.float64).astype("<f8").tobytes()
    if c.kind == "bool":
        return "i64le", np.array([int(x) for x in flat], dtype="<i8").tobytes()
    return ("i64le" if c.signed else "u64le"), b"".join((x & (2**64 - 1)).to_bytes(8, "little") for x in flat)


def sum_dict(c: Codec, s: Summary) -> dict:
    names = {"unit": ["count"], "bool": ["expected"]}.get(
        c.kind, ["min", "max", "avg", "rms"] if c.pcm else ["entry", "exit", "min", "max", "avg", "rms"])
    return {"entry_so": str(s.entry), "exit_so": str(s.exit),
            "channels": [dict(zip(names, map(dec_str, x))) for x in s.chans]}


def describe(data: bytes, strict: bool = True) -> dict:
    r = Reader(data, strict)
    per: dict[int, dict] = {}
    for no, sp in r.tracks.items():
        per[no] = {"packets": 0, "empty_packets": 0, "vals": hashlib.sha256(), "ts": hashlib.sha256(),
                   "n": 0, "lv": {}, "enc": sample_bytes(sp.codec, [])[0]}
    undeclared = 0
    for h in r.headers():
        if h.track not in r.tracks:
            undeclared += 1
            continue
        d, sp = per[h.track], r.tracks[h.track]
        if isinstance(h, Packet):
            v, so = r.samples(h)
            d["packets"] += 1
            d["empty_packets"] += not v
            d["n"] += len(v)
            d["vals"].update(sample_bytes(sp.codec, v)[1])
            d["ts"].update(np.array(so, dtype="<i8").tobytes())
        else:
            s = r.summary(h)
            e = d["lv"].setdefault(s.level, {"count": 0})
            e["count"] += 1
            if e["count"] == 1:
                e["first"] = sum_dict(sp.codec, s)
            e["last"] = sum_dict(sp.codec, s)
    tr = []
    for no, sp in sorted(r.tracks.items()):
        d = per[no]
        tr.append({
            "track": no, "codec": sp.codec.name, "ident_hex": sp.ident().hex(), "channels": sp.channels,
            "rate": f"{sp.rate.numerator}/{sp.rate.denominator}", "mode": "vbr" if sp.vbr else "cbr",
            "delta": sp.delta, "zlib": sp.zlib, "name": sp.name.decode("utf-8", "replace"),
            "packets": d["packets"], "empty_packets": d["empty_packets"], "samples": d["n"],
            "samples_encoding": d["enc"], "samples_sha256": d["vals"].hexdigest(),
            "timestamps_sha256": d["ts"].hexdigest(),
            "summaries": {str(k): d["lv"][k] for k in sorted(d["lv"])}})
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(),
            "version": "%d.%d" % r.version, "utc": None if r.utc is None else [str(x) for x in r.utc],
            "undeclared_blocks": undeclared, "tracks": tr}


def dump(data: bytes, strict: bool, limit: int) -> None:
    r = Reader(data, strict)
    print(f"version {r.version[0]}.{r.version[1]}  tracks {len(r.tracks)}  utc {r.utc}")
    for no, t in r.tracks.items():
        print(f"track {no}: {t.codec.name} ch={t.channels} rate={t.rate} {'vbr' if t.vbr else 'cbr'} "
              f"delta={int(t.delta)} zlib={int(t.zlib)} name={t.name!r}")
    for h in r.headers():
        if isinstance(h, Packet):
            head = f"{h.offset:08x} packet track {h.track} [{h.entry}..{h.exit}] n={h.count} len={h.length}"
            if h.track in r.tracks:
                v, so = r.samples(h)
                items = [f"{t}:{','.join(map(dec_str, x)) if isinstance(x, tuple) else dec_str(x)}"
                         for t, x in list(zip(so, v))[:limit]]
                head += " " + " ".join(items) + (" ..." if len(v) > limit else "")
            print(head)
        elif h.track in r.tracks:
            s = r.summary(h)
            print(f"{s.offset:08x} summary track {s.track} level {s.level} [{s.entry}..{s.exit}] "
                  + json.dumps(sum_dict(r.tracks[s.track].codec, s)["channels"]))
        else:
            print(f"{h.offset:08x} summary of undeclared track {h.track} len={h.size}")


def verify(root: Path) -> int:
    man = json.loads((root / "manifest.json").read_text())
    bad = 0
    for e in man["files"]:
        got = describe((root / e["file"]).read_bytes(), e.get("strict", True))
        want = {k: e[k] for k in got}
        ok = got == want
        bad += not ok
        print("ok  " if ok else "FAIL", e["file"])
    for e in man["malformed"]:
        try:
            describe((root / e["file"]).read_bytes(), True)
            code = "accepted"
        except ZoomError as x:
            code = x.code
        ok = code == e["error"]
        bad += not ok
        print("ok  " if ok else "FAIL", e["file"], code)
    return bad


def main(argv: Optional[list[str]] = None) -> int:
    ap = argparse.ArgumentParser(description=__doc__)
    sub = ap.add_subparsers(dest="cmd", required=True)
    d = sub.add_parser("dump")
    d.add_argument("file", type=Path)
    d.add_argument("--lenient", action="store_true")
    d.add_argument("--limit", type=int, default=16)
    v = sub.add_parser("verify", help="check a fixture folder against its manifest")
    v.add_argument("root", type=Path)
    q = sub.add_parser("summary", help="summaries of one track that touch [t0, t1] (seconds)")
    q.add_argument("file", type=Path)
    q.add_argument("track", type=int)
    q.add_argument("--level", type=int)
    q.add_argument("--width", type=int, default=0, help="choose the level for this many pixels")
    q.add_argument("--t0", type=str)
    q.add_argument("--t1", type=str)
    a = ap.parse_args(argv)
    if a.cmd == "dump":
        dump(a.file.read_bytes(), not a.lenient, a.limit)
        return 0
    if a.cmd == "verify":
        return 1 if verify(a.root) else 0
    r = Reader(a.file.read_bytes())
    rate = r.tracks[a.track].rate
    t0 = -(1 << 63) if a.t0 is None else math.floor(Fraction(a.t0) * rate)
    t1 = (1 << 63) - 1 if a.t1 is None else math.ceil(Fraction(a.t1) * rate)
    level = a.level if a.level is not None else r.pick_level(a.track, t0, t1, a.width or 1)
    print(f"level {level}")
    for s in r.query(a.track, level, t0, t1):
        print(f"{s.offset:08x} [{s.entry}..{s.exit}] " + json.dumps(sum_dict(r.tracks[a.track].codec, s)["channels"]))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ZoomError as err:
        print(err, file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        sys.exit(0)
