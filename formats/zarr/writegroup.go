package zarr

import (
	"context"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/nd"
)

// A GroupWriter writes arrays into one group of version 3, one after another. It holds their
// metadata, and nothing is a group before Close.
type GroupWriter struct {
	put  func(key string, p []byte) error
	docs map[string]json.RawMessage // of arrays, by their paths
}

// NewGroup returns a writer that puts objects by put; see Write.
func NewGroup(put func(key string, p []byte) error) *GroupWriter {
	return &GroupWriter{put: put, docs: map[string]json.RawMessage{}}
}

// Has reports whether there is an array under the path.
func (g *GroupWriter) Has(p string) bool { return g.docs[p] != nil }

// Add writes an array under a path such as "t" or "sub/t", as Write does. A path that leads
// elsewhere, or in or over another array, is refused with formats.ErrUnsupported.
func (g *GroupWriter) Add(ctx context.Context, p string, m NewArray, o WriteOptions, read func(ctx context.Context, box nd.Box, dst []byte) error) error {
	if err := checkPath(p); err != nil {
		return err
	}
	for other := range g.docs {
		if other == p || strings.HasPrefix(other, p+"/") || strings.HasPrefix(p, other+"/") {
			return unsupported("", "arrays %.200q and %.200q in one place", other, p)
		}
	}
	if len(g.docs) >= int(formats.DefaultLimits().MaxEntries) {
		return fail("", formats.ErrTooLarge, "%d arrays", len(g.docs))
	}
	return within(p, Write(ctx, m, o, read, func(key string, b []byte) error {
		if key == doc3 {
			g.docs[p] = slices.Clone(b)
		}
		return g.put(p+"/"+key, b)
	}))
}

// Close writes the documents of the group, and of the groups in it, with the metadata of all
// arrays in the first one, which comes last.
func (g *GroupWriter) Close(attrs map[string]json.RawMessage) error {
	all := maps.Clone(g.docs)
	for p := range g.docs {
		for dir := path.Dir(p); dir != "." && all[dir] == nil; dir = path.Dir(dir) {
			doc, err := GroupDoc(nil, nil)
			if err != nil {
				return err
			}
			all[dir] = doc
			if err := g.put(dir+"/"+doc3, doc); err != nil {
				return err
			}
		}
	}
	doc, err := GroupDoc(attrs, all)
	if err != nil {
		return err
	}
	return g.put(doc3, doc)
}

// GroupDoc returns the zarr.json of a group with the documents of what is in it, by their
// paths; nil: without.
func GroupDoc(attrs map[string]json.RawMessage, members map[string]json.RawMessage) ([]byte, error) {
	type consolidated struct {
		Kind           string                     `json:"kind"`
		MustUnderstand bool                       `json:"must_understand"`
		Metadata       map[string]json.RawMessage `json:"metadata"`
	}
	doc := struct {
		ZarrFormat   int                        `json:"zarr_format"`
		NodeType     string                     `json:"node_type"`
		Attributes   map[string]json.RawMessage `json:"attributes"`
		Consolidated *consolidated              `json:"consolidated_metadata,omitempty"`
	}{ZarrFormat: 3, NodeType: "group", Attributes: attrs}
	if attrs == nil {
		doc.Attributes = map[string]json.RawMessage{}
	}
	if members != nil {
		doc.Consolidated = &consolidated{Kind: "inline", Metadata: members}
	}
	return Marshal(doc)
}
