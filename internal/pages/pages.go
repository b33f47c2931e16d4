// Package pages reads the project's Markdown files for tests that hold them
// against the code: fenced blocks with what is to be done with them, headings,
// links and spans of code.
//
// What happens to a block its info string says: go is a snippet that has to compile
// and run, sh are commands that are run, console commands behind "$ " with the
// output that is compared, python is run in one namespace for a page, after ">>> " with
// its output compared, json has to be JSON, hcl is held against the Terraform module.
// Any other block needs a comment in the line before it, as does one of
// these that is an exception:
//
//	<!-- not run: WHY -->     commands or Python that cannot run in a test
//	<!-- text: WHAT -->       no commands at all
//	<!-- masked: WHAT, … -->  what of a console's output differs from run to run
package pages

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

// A Page is one Markdown file.
type Page struct {
	Name   string // path from the root of the checkout, with slashes
	Blocks []Block
	Lines  []Line // lines outside of blocks
}

// A Line is a line of a page, by its number from 1.
type Line struct {
	Number int
	Text   string
}

// A Block is what stands between two fences.
type Block struct {
	Line  int    // line of the fence, from 1
	Info  string // info string: the text after the opening fence
	Lines []string
	NotRun, IsText,
	Masked string // text of the comment before it
}

// Where names a block for people.
func (p *Page) Where(b *Block) string { return fmt.Sprintf("%s:%d", p.Name, b.Line) }

var comment = regexp.MustCompile(`^<!-- (not run|text|masked): (.*\S) -->$`)

// All reads every page below the root of a checkout, in the order of their names.
func All(root string) ([]Page, error) {
	var out []Page
	files := os.DirFS(root)
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"bin", "dist", "testdata"}, d.Name())):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".md":
			return nil
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		p, err := Parse(name, string(text))
		out = append(out, p)
		return err
	})
	return out, err
}

// Parse takes a page apart.
func Parse(name, text string) (Page, error) {
	p := Page{Name: name}
	var b *Block
	before := ""
	for i, line := range strings.Split(text, "\n") {
		fence, info := strings.HasPrefix(line, "```"), strings.TrimPrefix(line, "```")
		switch {
		case b == nil && fence:
			p.Blocks = append(p.Blocks, Block{Line: i + 1, Info: info})
			b = &p.Blocks[len(p.Blocks)-1]
			b.note(before)
		case b == nil:
			p.Lines = append(p.Lines, Line{i + 1, line})
			before = line
		case fence:
			b, before = nil, ""
		default:
			b.Lines = append(b.Lines, line)
		}
	}
	if b != nil {
		return p, fmt.Errorf("%s: a block without an end", p.Where(b))
	}
	return p, nil
}

func (b *Block) note(line string) {
	m := comment.FindStringSubmatch(line)
	if m == nil {
		return
	}
	switch m[1] {
	case "not run":
		b.NotRun = m[2]
	case "text":
		b.IsText = m[2]
	case "masked":
		b.Masked = m[2]
	}
}

// Classified returns an error if the page does not tell what to do with a
// block.
func (b *Block) Classified() error {
	switch {
	case b.IsText != "":
		if b.Info == "sh" || b.Info == "console" || b.Info == "go" || b.Info == "python" {
			return fmt.Errorf("a block of %q is no text", b.Info)
		}
	case b.Info == "console" && b.NotRun == "" && b.Commands() == nil:
		return fmt.Errorf("a block of console without a line that begins with %q", "$ ")
	case !slices.Contains([]string{"go", "sh", "console", "python", "json", "hcl"}, b.Info):
		return fmt.Errorf("a block of %q, and no comment before it that says what it is: go doc ./internal/pages", b.Info)
	case b.Masked != "" && b.Info != "console":
		return fmt.Errorf("only a block of console has output that could be masked")
	}
	return nil
}

// Commands are the lines of a block that a shell runs; nil if it is none of shell.
func (b *Block) Commands() []string {
	var out []string
	for _, line := range b.Lines {
		switch {
		case b.Info == "sh" && strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#"):
			out = append(out, line)
		case b.Info == "console" && strings.HasPrefix(line, "$ "):
			out = append(out, strings.TrimPrefix(line, "$ "))
		}
	}
	return out
}

var span = regexp.MustCompile("`([^`]+)`")

// Spans are the pieces of code in a line.
func (l Line) Spans() []string {
	found := span.FindAllStringSubmatch(l.Text, -1)
	out := make([]string, 0, len(found))
	for _, m := range found {
		out = append(out, m[1])
	}
	return out
}

var link = regexp.MustCompile(`\]\(([^()\s]+)\)|<(?:img|a) (?:[^>]* )?(?:src|href)="([^"]+)"`)

// Links are the targets of the links and pictures in a line, written as HTML, too.
func (l Line) Links() []string {
	found := link.FindAllStringSubmatch(span.ReplaceAllString(l.Text, "x"), -1)
	out := make([]string, 0, len(found))
	for _, m := range found {
		out = append(out, m[1]+m[2])
	}
	return out
}

var notInAnchor = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)

// Anchors are the names by which a page's headings are linked to, as GitHub makes
// them.
func (p *Page) Anchors() []string {
	var out []string
	for _, l := range p.Lines {
		text := strings.TrimLeft(l.Text, "#")
		if text == l.Text || !strings.HasPrefix(text, " ") {
			continue
		}
		name := strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(text)), ""), " ", "-")
		for n, base := 1, name; slices.Contains(out, name); n++ {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		out = append(out, name)
	}
	return out
}
