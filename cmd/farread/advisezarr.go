package main

import (
	"context"
	"fmt"
	"math"
	"path"
	"strings"

	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/internal/human"
)

// zarrProbes is how many chunks of Zarr are asked for their lengths, of each slice and of the array; of others the mean is
// taken. Many more would be a read of their own.
const zarrProbes = 64

// nowZarr plans the slices of an array of Zarr as its clients read it: what opens it, and each chunk by a request.
func (ad *adviser) nowZarr(ctx context.Context) (adviceShape, error) {
	out := adviceShape{For: today}
	before := ad.a.counter.Stats()
	n, err := ad.a.openZarr(ctx, ad.uri, false)
	if err != nil {
		return out, at(ad.uri, err)
	}
	after := ad.a.counter.Stats()
	list, err := ad.a.zarrArrays(ctx, ad.uri, n, ad.member)
	if err != nil {
		return out, at(ad.uri, err)
	}
	if len(list) != 1 {
		return out, usagef("%s has %s: name one with --member", human.Printable(ad.uri), human.Plural(int64(len(list)), "array"))
	}
	arr, x := list[0], list[0].Zarr()
	if n.Array == nil && !zipNamed(ad.uri) { // a client opens the array alone
		before = ad.a.counter.Stats()
		if _, err := ad.a.openZarr(ctx, strings.TrimRight(ad.uri, "/")+"/"+arr.Name, false); err != nil {
			return out, at(ad.uri, err)
		}
		after = ad.a.counter.Stats()
	}
	made := adviceCost{Requests: after.Requests - before.Requests, Phases: after.Phases - before.Phases, Bytes: after.Bytes - before.Bytes}
	if ad.member == "" && n.Array == nil {
		ad.member = arr.Name
	}
	ad.shape, ad.dtype, ad.nbytes, ad.packed = arr.Shape, arr.DType, arr.NBytes, true
	m := x.Meta()
	if out.ChunkShape = shortShape(m.ChunkShape); m.ShardShape != nil {
		out.ChunkShape, out.BlockShape = shortShape(m.ShardShape), shortShape(m.ChunkShape)
	}
	var exact bool
	if ad.bytes, exact, err = x.Stored(ctx, zarrProbes); err != nil {
		return out, at(ad.uri, err)
	}
	ad.sampled = !exact
	for _, s := range ad.sels {
		box, err := zarrBox(ctx, arr, m.Dims, s)
		if err != nil {
			return out, inSlice(ad.uri, s.sliceText, err)
		}
		p, err := x.Explain(ctx, box, zarrProbes)
		if err != nil {
			return out, inSlice(ad.uri, s.sliceText, err)
		}
		out.Estimated = out.Estimated || p.Estimated
		ad.boxes = append(ad.boxes, box)
		items, err := nd.Prod(box.Counts())
		if err != nil {
			return out, inSlice(ad.uri, s.sliceText, err)
		}
		r := adviceRead{Slice: strings.TrimSpace(s.sliceText), Returned: items * int64(arr.DType.ItemSize()), adviceCost: ad.cost(made, p.Requests)}
		out.Reads = append(out.Reads, r)
		out.All.add(r.adviceCost)
	}
	return out, nil
}

// shortShape is a shape as JSON and tables have it; lengths beyond int32 are those of chunks longer than any array.
func shortShape(shape []int64) []int {
	out := make([]int, len(shape))
	for i, n := range shape {
		out[i] = int(min(n, math.MaxInt32))
	}
	return out
}

// zarrBox resolves a slice of an array of Zarr, by positions or by the coordinates that its group has.
func zarrBox(ctx context.Context, arr pack.Array, dims []string, s selector) (b2nd.Box, error) {
	if !arraymeta.HasLabels(s.sliceText) {
		return boxOf(s.slice, arr.Shape)
	}
	if dims == nil {
		return b2nd.Box{}, fmt.Errorf("slice %.200q: the array has no names of dimensions: %w", s.sliceText, nd.ErrSyntax)
	}
	parsed, err := arraymeta.ParseSelection(s.sliceText)
	if err != nil {
		return b2nd.Box{}, err
	}
	by, err := parsed.Slice(dims, func(i int) (arraymeta.Axis, error) {
		x, ok, err := arr.Axis(ctx, i)
		if err == nil && !ok {
			err = fmt.Errorf("it has no coordinate in its group, select it by position: %w", nd.ErrSyntax)
		}
		return x, err
	}, s.nearest)
	if err != nil {
		return b2nd.Box{}, err
	}
	return by.Resolve(arr.Shape)
}

// zarrPackLine is the line that packs an array of Zarr for a use, beside the Zarr if it can be written there.
func zarrPackLine(uri, member, use string) string {
	place := uri
	if strings.Contains(uri, "://") {
		place, _, _ = strings.Cut(uri, "?")
	}
	root, rest := zarrRoot(place)
	dir, name := path.Split(root)
	if strings.HasPrefix(root, "http") {
		dir = ""
	}
	name = strings.TrimSuffix(name, path.Ext(name))
	name = strings.TrimSuffix(name, ".zarr")
	if inner := strings.Trim(rest+"/"+member, "/"); inner != "" {
		name = path.Base(inner)
	}
	line := fmt.Sprintf("farread pack %s %s", quoted(uri), quoted(strings.TrimPrefix(dir, "file://")+name+"-"+use+pack.ArraySuffix))
	if member != "" {
		line += " --member " + quoted(member)
	}
	return line + " --for " + use
}

// zarrRoot cuts the path inside of Zarr off a URI.
func zarrRoot(uri string) (root, rest string) {
	uri = strings.TrimRight(uri, "/")
	for at := 0; ; {
		i := strings.IndexByte(uri[at:], '/')
		if i < 0 {
			return uri, ""
		}
		if at += i; strings.HasSuffix(strings.ToLower(uri[:at]), ".zarr") {
			return uri[:at], uri[at+1:]
		}
		at++
	}
}
