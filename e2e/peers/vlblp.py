#!/usr/bin/env python3
"""Variable-length Bloscpack files (header version 4): writer and strict reader.

The text "Proposal for a persistent format that can include variable length
objects" (F. Alted) has no implementation.  This module implements the reading
of it that formats/bloscpack.md part B fixes; "B2.n" below names a resolution
there, part B4 what is pinned beyond them.

This is the format's independent reader and writer, made together with the
test vectors of the specification, by others than the Go package and from the
same text.  It stands here unchanged but for these lines.

Layout: header (32) | JSON metadata | nchunks x int64 offsets | chunk, digest ...
One Blosc1 chunk holds one item; everything is little endian.
"""
from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import shutil
import struct
import sys
import tempfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Callable, Iterable, Optional, Sequence

import blosc

MAGIC = b"blpk"
VERSION = 4
OPT_OFFSETS, OPT_METADATA, OPT_VARIABLE = 1, 2, 4
HEADER = struct.Struct("<4sBBBBiiqII")
CHUNK_HEADER = struct.Struct("<BBBBiii")
MAX_ITEM = 2**31 - 1 - 16
MAX_METADATA = 64 << 20
MISSING = -1


class FormatError(ValueError):
    """The file breaks a rule of the format."""


class MissingItem(FormatError):
    """The item has offset -1: it was never written (B2.11)."""


@dataclass(frozen=True)
class Checksum:
    """A digest function; the result is the bytes that are stored in the file."""

    name: str
    size: int
    digest: Callable[[bytes], bytes]


def _word(function: Callable[[bytes], int]) -> Callable[[bytes], bytes]:
    return lambda data: struct.pack("<I", function(data) & 0xFFFFFFFF)


def _hash(name: str) -> Checksum:
    return Checksum(name, hashlib.new(name).digest_size, lambda data: hashlib.new(name, data).digest())


CHECKSUMS: tuple[Checksum, ...] = (
    Checksum("none", 0, lambda data: b""),
    Checksum("adler32", 4, _word(zlib.adler32)),
    Checksum("crc32", 4, _word(zlib.crc32)),
    *map(_hash, ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")),
)


@dataclass(frozen=True)
class Header:
    """The 32 bytes at the start of a file."""

    options: int
    checksum: int
    typesize: int
    chunk_size: int
    last_chunk: int
    nchunks: int
    meta_size: int
    reserved: int = 0
    version: int = VERSION
    magic: bytes = MAGIC

    @property
    def variable(self) -> bool:
        """True when each chunk is one item (option bit 2)."""
        return bool(self.options & OPT_VARIABLE)

    @property
    def offsets_present(self) -> bool:
        """True when an offsets table precedes the chunks (option bit 0)."""
        return bool(self.options & OPT_OFFSETS)

    def pack(self) -> bytes:
        """Serialise, without any check."""
        return HEADER.pack(self.magic, self.version, self.options, self.checksum, self.typesize, self.chunk_size,
                           self.last_chunk, self.nchunks, self.meta_size, self.reserved)

    @classmethod
    def parse(cls, data: bytes) -> "Header":
        """Read and check a header; FormatError names the first broken rule."""
        if len(data) < HEADER.size:
            raise FormatError(f"header needs {HEADER.size} bytes, file has {len(data)}")
        magic, version, options, checksum, typesize, chunk, last, nchunks, meta, reserved = HEADER.unpack_from(data)
        header = cls(options, checksum, typesize, chunk, last, nchunks, meta, reserved, version, magic)
        header.check()
        return header

    def check(self) -> None:
        """Raise FormatError for a value that no version 4 file may have."""
        def need(condition: bool, message: str) -> None:
            if not condition:
                raise FormatError(message)

        need(self.magic == MAGIC, f"magic is {self.magic!r}")
        need(self.version == VERSION, f"version {self.version} is not 4")  # B2.1
        need(self.options < 8, f"reserved option bits set: {self.options:#04x}")  # B2.23
        need(self.checksum < len(CHECKSUMS), f"checksum id {self.checksum} unknown")
        need(self.reserved == 0, f"RESERVED is {self.reserved:#x}")  # B2.15
        need(bool(self.options & OPT_METADATA) == (self.meta_size > 0), "metadata bit and meta-size disagree")  # B2.12
        need(self.meta_size <= MAX_METADATA, f"meta-size {self.meta_size} above the 64 MiB cap")  # B2.13
        need(self.chunk_size >= -1 and self.last_chunk >= -1, "chunk-size or last-chunk below -1")
        need(self.nchunks >= 0, f"nchunks {self.nchunks}: unfinished or corrupt")  # B2.4
        if self.variable:
            need(self.offsets_present, "variable-length file without offsets")
        else:
            need(self.chunk_size == -1 or self.last_chunk <= self.chunk_size, "last-chunk exceeds chunk-size")


@dataclass(frozen=True)
class Spec:
    """How a file is to be written; `cnames` are used in turn, one per item."""

    checksum: int = 1
    typesize: int = 1
    cnames: Sequence[str] = ("blosclz",)
    clevel: int = 5
    shuffle: int = blosc.SHUFFLE
    blocksize: int = 0
    metadata: Optional[bytes] = None
    variable: bool = True
    offsets: bool = True
    chunk_size: int = -1
    last_chunk: int = -1

    def header(self, nchunks: int) -> Header:
        """The header of a finished file with `nchunks` chunks."""
        options = (OPT_OFFSETS if self.offsets else 0) | (OPT_VARIABLE if self.variable else 0)
        options |= OPT_METADATA if self.metadata is not None else 0
        header = Header(options, self.checksum, self.typesize, self.chunk_size, self.last_chunk, nchunks,
                        len(self.metadata or b""))
        header.check()
        return header


def encode_metadata(value: Any) -> bytes:
    """Compact strict JSON in UTF-8 (B2.13)."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")


def decode_metadata(data: bytes) -> Any:
    """Parse strict JSON; Python's NaN and Infinity extensions are refused."""
    def constant(name: str) -> Any:
        raise ValueError(f"{name} is not JSON")

    try:
        return json.loads(data.decode("utf-8"), parse_constant=constant)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"metadata: {error}") from None


def encode_item(item: bytes, spec: Spec, index: int = 0) -> bytes:
    """One Blosc1 chunk followed by its digest."""
    if len(item) > MAX_ITEM:
        raise ValueError(f"item {index} has {len(item)} bytes, the limit is {MAX_ITEM}")  # B2.18
    blosc.set_nthreads(1)  # several threads may permute the blocks of a chunk
    blosc.set_blocksize(spec.blocksize)
    chunk: bytes = blosc.compress(item, typesize=spec.typesize, clevel=spec.clevel, shuffle=spec.shuffle,
                                  cname=spec.cnames[index % len(spec.cnames)])
    return chunk + CHECKSUMS[spec.checksum].digest(chunk)


class Writer:
    """Writes one file whose number of chunks is known.

    The header and a table of -1 go out first and `finish` rewrites the table
    last, so a file whose writer stopped early is recognisable (B2.24).
    """

    def __init__(self, out: BinaryIO, spec: Spec, nchunks: int) -> None:
        self._out, self._spec = out, spec
        self._base = out.tell()
        out.write(spec.header(nchunks).pack() + (spec.metadata or b""))
        self._table_at = out.tell()
        self._offsets = [MISSING] * nchunks
        self._write_table()

    def _write_table(self) -> None:
        if self._spec.offsets:
            self._out.write(struct.pack(f"<{len(self._offsets)}q", *self._offsets))

    def put(self, index: int, item: bytes) -> None:
        """Append item `index`; calling again replaces it and leaves the old chunk as a gap."""
        self.put_encoded(index, encode_item(item, self._spec, index))

    def put_encoded(self, index: int, record: bytes) -> None:
        """Append a chunk that already carries its digest."""
        self._offsets[index] = self._out.tell() - self._base
        self._out.write(record)

    def put_gap(self, filler: bytes) -> None:
        """Append bytes that belong to no item (B2.8)."""
        self._out.write(filler)

    def finish(self, allow_missing: bool = False) -> None:
        """Rewrite the table; the file is valid from here on."""
        if not allow_missing and MISSING in self._offsets:
            raise ValueError(f"item {self._offsets.index(MISSING)} was never written")
        end = self._out.tell()
        self._out.seek(self._table_at)
        self._write_table()
        self._out.seek(end)


def write_items(out: BinaryIO, items: Sequence[bytes], spec: Spec = Spec()) -> None:
    """Write a finished file in ascending order without gaps."""
    writer = Writer(out, spec, len(items))
    for index, item in enumerate(items):
        writer.put(index, item)
    writer.finish()


def write_stream(out: BinaryIO, items: Iterable[bytes], spec: Spec = Spec()) -> int:
    """Write a file from a source of unknown length, through a temporary file (B2.4)."""
    lengths: list[int] = []
    with tempfile.TemporaryFile() as spool:
        for index, item in enumerate(items):
            lengths.append(spool.write(encode_item(item, spec, index)))
        position = HEADER.size + len(spec.metadata or b"") + 8 * len(lengths) * spec.offsets
        out.write(spec.header(len(lengths)).pack() + (spec.metadata or b""))
        for length in lengths if spec.offsets else ():
            out.write(struct.pack("<q", position))
            position += length
        spool.seek(0)
        shutil.copyfileobj(spool, out)
    return len(lengths)


@dataclass(frozen=True)
class Chunk:
    """Where a chunk lies (relative to the file header) and what its header says."""

    offset: int
    flags: int
    typesize: int
    nbytes: int
    blocksize: int
    ctbytes: int


@dataclass
class Reader:
    """Strict reader over bytes; all structural rules are checked on construction.

    `base` is the position of the file inside `data` (B2.9).  Digests and
    compressed payloads are checked by `item`.
    """

    data: bytes
    base: int = 0
    max_item: int = 1 << 28
    header: Header = field(init=False)
    metadata: Any = field(init=False, default=None)
    offsets: list[int] = field(init=False)
    chunks: list[Optional[Chunk]] = field(init=False)
    warnings: list[str] = field(init=False, default_factory=list)
    slack: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._view = memoryview(self.data)[self.base:]
        self.header = Header.parse(bytes(self._view[:HEADER.size]))
        self._checksum = CHECKSUMS[self.header.checksum]
        table_at = HEADER.size + self.header.meta_size
        if table_at > len(self._view):
            raise FormatError("metadata runs past the end of the file")
        if self.header.meta_size:
            self.metadata = decode_metadata(bytes(self._view[HEADER.size:table_at]))
        count = self.header.nchunks
        self._body = table_at + 8 * count * self.header.offsets_present
        # A chunk takes 16 bytes at least, so this also bounds nchunks when there is no table.
        if self._body > len(self._view) or (not self.header.offsets_present and 16 * count > len(self._view)):
            raise FormatError(f"{count} chunks cannot lie in {len(self._view)} bytes")
        if self.header.offsets_present:
            self.offsets = list(struct.unpack_from(f"<{count}q", self._view, table_at))
            self.chunks = [None if at == MISSING else self._chunk(i, at) for i, at in enumerate(self.offsets)]
        else:
            self._scan(count)
        self._check_ranges()
        self._check_sizes()

    @property
    def aborted(self) -> bool:
        """True when there are offsets and every one is -1."""
        return bool(self.offsets) and all(at == MISSING for at in self.offsets)

    def __len__(self) -> int:
        return self.header.nchunks

    def _scan(self, count: int) -> None:
        """Find the chunks of a fixed-size file without offsets, one after the other."""
        self.offsets, self.chunks = [], []
        at = self._body
        for index in range(count):
            chunk = self._chunk(index, at)
            self.offsets.append(at)
            self.chunks.append(chunk)
            at += chunk.ctbytes + self._checksum.size

    def _chunk(self, index: int, at: int) -> Chunk:
        """Parse the Blosc header of one chunk and check what can be checked without decoding."""
        if not self._body <= at <= len(self._view) - CHUNK_HEADER.size:
            raise FormatError(f"offset {at} of item {index} is outside the chunk area")
        version, _, flags, typesize, nbytes, blocksize, ctbytes = CHUNK_HEADER.unpack_from(self._view, at)
        where = f"chunk of item {index}"
        if flags & 5 == 5:
            raise FormatError(f"{where}: Blosc2 chunks are legal but not supported by this reader")
        if version != 2:
            raise FormatError(f"{where}: Blosc format version {version}")
        if typesize == 0:
            raise FormatError(f"{where}: typesize 0")
        if ctbytes < CHUNK_HEADER.size or at + ctbytes + self._checksum.size > len(self._view):
            raise FormatError(f"{where}: {ctbytes} bytes do not fit the file")
        if not 0 <= nbytes <= MAX_ITEM:
            raise FormatError(f"{where}: item size {nbytes}")
        if nbytes > self.max_item:
            raise FormatError(f"{where}: item size {nbytes} above the reader's limit {self.max_item}")
        if flags & 2 or nbytes == 0:
            if ctbytes != nbytes + CHUNK_HEADER.size:  # B2.17 for empty items
                raise FormatError(f"{where}: {nbytes} stored bytes in a chunk of {ctbytes}")
        else:
            if blocksize <= 0:
                raise FormatError(f"{where}: block size {blocksize}")
            if CHUNK_HEADER.size + 4 * math.ceil(nbytes / blocksize) > ctbytes:
                raise FormatError(f"{where}: block table does not fit")
        if typesize != self.header.typesize:  # B2.19
            self.warnings.append(f"{where}: typesize {typesize}, the file header says {self.header.typesize}")
        return Chunk(at, flags, typesize, nbytes, blocksize, ctbytes)

    def _check_ranges(self) -> None:
        """Chunks (with digests) may not overlap; bytes of no chunk are counted as slack (B2.8)."""
        end = self._body
        for chunk in sorted(filter(None, self.chunks), key=lambda chunk: chunk.offset):
            if chunk.offset < end:
                raise FormatError(f"the chunk at {chunk.offset} overlaps the one before it")
            self.slack += chunk.offset - end
            end = chunk.offset + chunk.ctbytes + self._checksum.size
        self.slack += len(self._view) - end

    def _check_sizes(self) -> None:
        """Compare chunk-size and last-chunk, unless -1, with the chunks (B2.2, B2.3)."""
        for index, chunk in enumerate(self.chunks):
            wanted = {self.header.chunk_size, self.header.last_chunk} if self.header.variable else {
                self.header.last_chunk if index == len(self) - 1 else self.header.chunk_size}
            if chunk is not None and not wanted <= {-1, chunk.nbytes}:
                raise FormatError(f"item {index} has {chunk.nbytes} bytes, the header says {sorted(wanted)}")

    def record(self, index: int) -> tuple[bytes, bytes]:
        """The chunk and the stored digest of an item, unchecked."""
        chunk = self.chunks[index]
        if chunk is None:
            raise MissingItem(f"item {index} was never written" + (" (aborted file)" if self.aborted else ""))
        end = chunk.offset + chunk.ctbytes
        return bytes(self._view[chunk.offset:end]), bytes(self._view[end:end + self._checksum.size])

    def item(self, index: int) -> bytes:
        """Verify and decode one item."""
        chunk, digest = self.record(index)
        if self._checksum.digest(chunk) != digest:
            raise FormatError(f"{self._checksum.name} of item {index} does not match")
        try:
            item: bytes = blosc.decompress(chunk)
        except blosc.blosc_extension.error as error:
            raise FormatError(f"chunk of item {index}: {error}") from None
        nbytes = CHUNK_HEADER.unpack_from(chunk)[4]
        if len(item) != nbytes:
            raise FormatError(f"item {index} decodes to {len(item)} bytes instead of {nbytes}")
        return item


def describe_item(item: Optional[bytes]) -> dict[str, Any]:
    """The manifest's description of an item; None stands for a missing one."""
    if item is None:
        return {"missing": True}
    return {"length": len(item), "sha256": hashlib.sha256(item).hexdigest()}


def describe(data: bytes, base: int = 0) -> dict[str, Any]:
    """Read a whole file strictly and describe it in the manifest's terms."""
    reader = Reader(data, base)
    items = [describe_item(None if at == MISSING else reader.item(i)) for i, at in enumerate(reader.offsets)]
    return {
        "aborted": reader.aborted,
        "checksum": CHECKSUMS[reader.header.checksum].name,
        "items": items,
        "metadata": reader.metadata,
        "metadata_present": bool(reader.header.meta_size),
        "nchunks": reader.header.nchunks,
        "offsets_present": reader.header.offsets_present,
        "typesize": reader.header.typesize,
        "variable": reader.header.variable,
    }


def _decode_alone(data: bytes, expect: dict[str, Any]) -> None:
    """Decode every item with python-blosc alone, from offsets found without Reader."""
    size = struct.unpack_from("<I", data, 24)[0]
    table = 32 + size
    at = table
    for index, item in enumerate(expect["items"]):
        if expect["offsets_present"]:
            at = struct.unpack_from("<q", data, table + 8 * index)[0]
        if item.get("missing"):
            assert at == -1, f"item {index} is not missing"
            continue
        length = struct.unpack_from("<i", data, at + 12)[0]
        decoded = blosc.decompress(data[at:at + length])
        assert describe_item(decoded) == item, f"python-blosc reads item {index} differently"
        at += length + CHECKSUMS[data[6]].size


def check_entry(folder: Path, entry: dict[str, Any]) -> None:
    """Check one manifest entry; AssertionError tells what is wrong."""
    data = (folder / entry["file"]).read_bytes()
    assert len(data) == entry["size"] and hashlib.sha256(data).hexdigest() == entry["file_sha256"], "file changed"
    expect = entry["expect"]
    if entry["kind"] == "bloscpack-vl":
        assert describe(data) == expect, "strict reader disagrees with the manifest"
        assert describe(b"\x5a" * 137 + data, 137) == expect, "embedded file reads differently"
        _decode_alone(data, expect)
        return
    try:
        found = describe(data)["items"]
    except FormatError:
        return
    assert expect["ours"] != "error", "malformed file was accepted"
    assert expect["ours"] == "any" or found == expect["items"], "malformed file yields other items"


def verify(folder: Path) -> int:
    """Check every entry of FOLDER/manifest.json and that the folder holds nothing else."""
    entries = json.loads((folder / "manifest.json").read_text("utf-8"))
    failures = 0
    for entry in entries:
        try:
            check_entry(folder, entry)
        except (AssertionError, FormatError) as error:
            failures += 1
            print(f"{entry['file']}: {error}", file=sys.stderr)
    listed = {entry["file"] for entry in entries} | {"manifest.json"}
    present = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    for name in sorted(listed ^ present):
        failures += 1
        print(f"{name}: listed or present, not both", file=sys.stderr)
    print(f"{folder}: {len(entries)} entries, {failures} failures")
    return 1 if failures else 0


def _write_command(args: argparse.Namespace) -> int:
    metadata = None if args.metadata is None else encode_metadata(decode_metadata(args.metadata.encode("utf-8")))
    spec = Spec(checksum=[c.name for c in CHECKSUMS].index(args.checksum), typesize=args.typesize,
                cnames=args.cname.split(","), clevel=args.clevel, metadata=metadata,
                shuffle={"no": blosc.NOSHUFFLE, "byte": blosc.SHUFFLE, "bit": blosc.BITSHUFFLE}[args.shuffle])
    # A finished file appears under its name in one step.
    unfinished = args.out.with_name(f".{args.out.name}.{os.getpid()}")
    try:
        with unfinished.open("xb") as out:
            write_stream(out, (path.read_bytes() for path in args.items), spec)
        os.replace(unfinished, args.out)
    finally:
        unfinished.unlink(missing_ok=True)
    return 0


def _dump_command(args: argparse.Namespace) -> int:
    reader = Reader(args.file.read_bytes(), args.base)
    print(json.dumps({"header": {**reader.header.__dict__, "magic": reader.header.magic.decode("latin-1")},
                      "metadata": reader.metadata, "aborted": reader.aborted, "slack": reader.slack,
                      "warnings": reader.warnings, "chunks": [c and c.__dict__ for c in reader.chunks]}, indent=1))
    if args.extract:
        args.extract.mkdir(parents=True, exist_ok=True)
        for index in range(len(reader)):
            (args.extract / f"{index:06d}").write_bytes(reader.item(index))
    return 0


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Command line: write, dump, verify.  Exit 0 good, 1 bad file, 2 wrong usage."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    write = commands.add_parser("write", help="write one item per input file")
    write.add_argument("out", type=Path)
    write.add_argument("items", type=Path, nargs="*")
    write.add_argument("--checksum", choices=[c.name for c in CHECKSUMS], default="adler32")
    write.add_argument("--typesize", type=int, choices=range(1, 256), default=1, metavar="1..255")
    write.add_argument("--cname", default="blosclz", help="codecs, comma separated, used in turn")
    write.add_argument("--clevel", type=int, choices=range(10), default=5)
    write.add_argument("--shuffle", choices=("no", "byte", "bit"), default="byte")
    write.add_argument("--metadata", help="a JSON text")
    write.set_defaults(run=_write_command)
    dump = commands.add_parser("dump", help="check a file and print its structure")
    dump.add_argument("file", type=Path)
    dump.add_argument("--base", type=int, default=0)
    dump.add_argument("--extract", type=Path, help="folder for the decoded items")
    dump.set_defaults(run=_dump_command)
    check = commands.add_parser("verify", help="check a folder of test vectors")
    check.add_argument("folder", type=Path)
    check.set_defaults(run=lambda args: verify(args.folder))
    args = parser.parse_args(argv)
    try:
        return int(args.run(args))
    except (FormatError, OSError) as error:
        print(f"vlblp: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
