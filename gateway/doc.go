// Package gateway answers over HTTP for datasets below named roots: what they are,
// listings, slices, images, items, views of series, and stored bytes. It reads only.
//
//	s, err := gateway.New(gateway.Config{Client: client, Roots: []gateway.Root{{Name: "climate", Bucket: b, Key: "era5/"}}})
//	http.Handle("/", s)
//
// A path is /VERB[~OPTION…]/ROOT/KEY[?…]. The verbs are info, ls, slice, get, view,
// stats and raw, and zarr and group for clients of Zarr v3; docs/serving.md has them with all
// parameters. What is read is known before it is read, so an answer beyond a limit costs
// nothing. Nothing of an answer is sent before all of it is there and checked, except by
// raw, whose long answers are bytes as they are stored: if one of these fails, the
// connection ends. Blosc streams of chunks for Zarr clients are checked by those.
package gateway
