package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/farread/farread/cmd/farread/internal/peek"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
)

// A peeked is an object that is no dataset, and what it is.
type peeked struct {
	peek.Found

	uri, base string
	size      int64
}

// peek looks at an object whose name promises something that is packed first. It returns nil if
// the object is not that: then it may be a dataset under a wrong name.
func (a *app) peek(ctx context.Context, uri string, how aim) (*peeked, error) {
	if how.offset != 0 || how.raw {
		return nil, nil //nolint:nilnil // it is no such object
	}
	b, key, err := a.client.Bucket(ctx, uri)
	if err != nil {
		return nil, nil //nolint:nilnil,nilerr // who opens the dataset has the same error
	}
	base := baseOf(target{uri: uri, bucket: b, key: key})
	o, ok := peek.Options(base)
	if !ok {
		return nil, nil //nolint:nilnil // it is no such object
	}
	ob, err := a.client.OpenObject(ctx, b, key, o)
	if errors.Is(err, objstore.ErrNotFound) {
		return nil, nil //nolint:nilnil // the name may be that of a folder
	}
	if err != nil {
		return nil, err
	}
	f, ok, err := peek.Look(ctx, ob, base)
	if err != nil || !ok {
		return nil, err
	}
	return &peeked{f, uri, base, ob.Size()}, nil
}

// command is the line that packs the object.
func (p *peeked) command() string {
	stem := strings.TrimSuffix(p.base, path.Ext(p.base))
	switch e := strings.ToLower(path.Ext(p.base)); e {
	case ".gz", ".zst", ".zstd":
		stem = strings.TrimSuffix(stem, path.Ext(stem))
	}
	switch p.Pack {
	case peek.Nothing:
		return ""
	case peek.Arrays:
		return typedLine(p.uri, stem+"/") + " --format b2nd"
	case peek.Image:
		return typedLine(p.uri, stem+".gulp")
	case peek.Series, peek.Array:
		if p.Sort {
			return typedLine(p.uri, stem+string(p.Pack)) + " --sort"
		}
		return typedLine(p.uri, stem+string(p.Pack))
	case peek.Images, peek.Items:
	}
	return typedLine(p.uri, p.base+string(p.Pack))
}

// typedLine is a line to type.
func typedLine(src, dst string) string { return "farread pack " + typed(src) + " " + typed(dst) }

// typed is a path or a URI for a shell, which no command takes for a flag.
func typed(name string) string {
	if strings.HasPrefix(name, "-") {
		name = "./" + name
	}
	return quoted(name)
}

// quoted is a word for a shell, if it has to be.
func quoted(word string) string {
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:+=@%") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func (a *app) tellPeek(p *peeked, err error) error {
	if err != nil {
		return err
	}
	if a.flags.json {
		return writeJSON(a.stdout, struct {
			Format   string     `json:"format"`
			URI      string     `json:"uri"`
			Size     int64      `json:"size"`
			Contents peek.Found `json:"contents"`
			Pack     string     `json:"pack,omitempty"` // the line that packs it
		}{p.Format, p.uri, p.size, p.Found, p.command()})
	}
	t := human.NewTable("", "")
	t.Add("uri", human.Printable(p.uri))
	t.Add("format", p.Format+", which farread reads when it is packed")
	for _, l := range p.Lines {
		t.Add(l.Name, human.Printable(l.Value))
	}
	const most = 12
	for i, e := range p.Entry {
		name := ""
		if i == 0 {
			name = "inside"
		}
		if i == most {
			t.Add("", fmt.Sprintf("and %s more: farread ls %s", human.Count(int64(len(p.Entry)-most)+max(p.More, 0)), human.Printable(typed(p.uri))))
			break
		}
		t.Add(name, entryText(e))
	}
	t.Add("size", human.Size(p.size))
	if c := p.command(); c != "" {
		t.Add("pack", human.Printable(c))
	}
	return t.Print(a.stdout)
}

func entryText(e peek.Entry) string {
	text := nameText(e)
	if e.What != "" {
		text += ": " + human.Printable(e.What)
	}
	if e.Size >= 0 {
		text += ", " + human.Size(e.Size)
	}
	return text
}

// nameText is the name of an entry; a column may have none.
func nameText(e peek.Entry) string {
	if e.Name == "" {
		return `""`
	}
	return human.Printable(e.Name)
}

// listPeek lists what is inside an object that is no dataset.
func (a *app) listPeek(p *peeked, err error) error {
	if err != nil {
		return err
	}
	l := &listing{w: a.stdout, json: a.flags.json}
	l.head("NAME", ">SIZE", "WHAT")
	for _, e := range p.Members(p.base, p.size) {
		size := ""
		if e.Size >= 0 {
			size = human.Size(e.Size)
		}
		if err := l.add(e, nameText(e), size, human.Printable(e.What)); err != nil {
			return err
		}
	}
	if l.json {
		return nil
	}
	return l.t.Print(a.stdout)
}
