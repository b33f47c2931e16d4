// Package check holds what is known of the Terraform module without Terraform: it
// reads the module's files and evaluates their expressions, so that tests can
// compare them with the code that they deploy.
package check

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// A Variable is an input of a module.
type Variable struct {
	Name        string
	Description string
	Default     cty.Value
	DefaultText string // text of the default; "": the variable is required

	typ         cty.Type
	typeExpr    hclsyntax.Expression
	defaults    *typeexpr.Defaults
	validations []*hclsyntax.Block
}

// An Output is an output of the module.
type Output struct{ Name, Description string }

// A Module is the files of a folder. It does not change once it is loaded.
type Module struct {
	Dir       string
	Variables []*Variable                 // variables, sorted by name
	Outputs   []Output                    // outputs, sorted by name
	Resources map[string]*hclsyntax.Block // resources by "type.name"

	locals  map[string]hclsyntax.Expression
	sources map[string][]byte
}

// Load reads the .tf files of dir.
func Load(dir string) (*Module, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.tf"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: no .tf files: %w", dir, os.ErrNotExist)
	}
	m := &Module{Dir: dir, Resources: map[string]*hclsyntax.Block{}, locals: map[string]hclsyntax.Expression{}, sources: map[string][]byte{}}
	p := hclparse.NewParser()
	for _, name := range names {
		f, diags := p.ParseHCLFile(name)
		if diags.HasErrors() {
			return nil, diags
		}
		m.sources[name] = f.Bytes
		body, ok := f.Body.(*hclsyntax.Body)
		if !ok {
			return nil, fmt.Errorf("%s: not HCL's own syntax", name)
		}
		for _, b := range body.Blocks {
			if err := m.block(b); err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(m.Variables, func(a, b *Variable) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(m.Outputs, func(a, b Output) int { return strings.Compare(a.Name, b.Name) })
	return m, nil
}

func (m *Module) block(b *hclsyntax.Block) error {
	switch b.Type {
	case "variable":
		v, err := m.variable(b)
		m.Variables = append(m.Variables, v)
		return err
	case "output":
		text, err := literal(b, "description")
		m.Outputs = append(m.Outputs, Output{b.Labels[0], text})
		return err
	case "locals":
		for name, a := range b.Body.Attributes {
			m.locals[name] = a.Expr
		}
	case "resource":
		m.Resources[strings.Join(b.Labels, ".")] = b
	}
	return nil
}

// text is an expression as it is written, in one line.
func (m *Module) text(e hclsyntax.Expression) string {
	r := e.Range()
	return strings.Join(strings.Fields(string(r.SliceBytes(m.sources[r.Filename]))), " ")
}

func literal(b *hclsyntax.Block, name string) (string, error) {
	a := b.Body.Attributes[name]
	if a == nil {
		return "", nil
	}
	v, diags := a.Expr.Value(nil)
	if diags.HasErrors() {
		return "", diags
	}
	return v.AsString(), nil
}

func (m *Module) variable(b *hclsyntax.Block) (*Variable, error) {
	v := &Variable{Name: b.Labels[0]}
	var err error
	if v.Description, err = literal(b, "description"); err != nil {
		return nil, err
	}
	typ := b.Body.Attributes["type"]
	if typ == nil {
		return nil, fmt.Errorf("variable %s: no type", v.Name)
	}
	var diags hcl.Diagnostics
	if v.typ, v.defaults, diags = typeexpr.TypeConstraintWithDefaults(typ.Expr); diags.HasErrors() {
		return nil, diags
	}
	v.typeExpr = typ.Expr
	if d := b.Body.Attributes["default"]; d != nil {
		raw, diags := d.Expr.Value(nil)
		if diags.HasErrors() {
			return nil, diags
		}
		v.DefaultText = m.text(d.Expr)
		if v.Default, err = v.convert(raw); err != nil {
			return nil, err
		}
	}
	for _, inner := range b.Body.Blocks {
		if inner.Type == "validation" {
			v.validations = append(v.validations, inner)
		}
	}
	return v, nil
}

// convert converts in to the type of the variable.
func (v *Variable) convert(in cty.Value) (cty.Value, error) {
	if v.defaults != nil && !in.IsNull() {
		in = v.defaults.Apply(in)
	}
	out, err := convert.Convert(in, v.typ)
	if err != nil {
		return cty.NilVal, fmt.Errorf("variable %s: %w", v.Name, err)
	}
	return out, nil
}

// ErrRefused is matched when the module refuses its input: a validation or a
// precondition that does not hold.
var ErrRefused = errors.New("refused")
