package check

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Inputs is a Markdown table of the module's variables, members of objects with them.
func (m *Module) Inputs() string {
	var b strings.Builder
	b.WriteString("| input | type | default | |\n| --- | --- | --- | --- |\n")
	for _, v := range m.Variables {
		value := "—"
		if v.DefaultText != "" {
			value = "`" + v.DefaultText + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", v.Name, shortType(v.typeExpr), value, strings.ReplaceAll(v.Description, "|", `\|`))
		m.members(&b, v.Name, v.typeExpr)
	}
	return b.String()
}

// Tells is a Markdown table of the module's outputs.
func (m *Module) Tells() string {
	var b strings.Builder
	b.WriteString("| output | |\n| --- | --- |\n")
	for _, o := range m.Outputs {
		fmt.Fprintf(&b, "| `%s` | %s |\n", o.Name, strings.ReplaceAll(o.Description, "|", `\|`))
	}
	return b.String()
}

// shortType is a type without the members of objects.
func shortType(e hclsyntax.Expression) string {
	switch e := e.(type) {
	case *hclsyntax.FunctionCallExpr:
		switch e.Name {
		case "object":
			return "object"
		case "optional":
			return shortType(e.Args[0])
		}
		return e.Name + " of " + shortType(e.Args[0])
	case *hclsyntax.ScopeTraversalExpr:
		return e.Traversal.RootName()
	}
	return "any"
}

// members writes a row for each member of the objects in a type.
func (m *Module) members(b *strings.Builder, at string, e hclsyntax.Expression) {
	call, ok := e.(*hclsyntax.FunctionCallExpr)
	if !ok {
		return
	}
	if call.Name == "list" || call.Name == "map" || call.Name == "set" {
		m.members(b, at+"[]", call.Args[0])
		return
	}
	if call.Name == "optional" {
		m.members(b, at, call.Args[0])
		return
	}
	object, ok := call.Args[0].(*hclsyntax.ObjectConsExpr)
	if !ok {
		return
	}
	for _, item := range object.Items {
		name := at + "." + m.text(item.KeyExpr)
		value := "—"
		if o, ok := item.ValueExpr.(*hclsyntax.FunctionCallExpr); ok && o.Name == "optional" {
			value = "`null`"
			if len(o.Args) > 1 {
				value = "`" + m.text(o.Args[1]) + "`"
			}
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", name, shortType(item.ValueExpr), value, strings.ReplaceAll(m.comment(item.ValueExpr), "|", `\|`))
		m.members(b, name, item.ValueExpr)
	}
}

// comment is what stands behind an expression that ends its line.
func (m *Module) comment(e hclsyntax.Expression) string {
	r := e.Range()
	line, _, _ := strings.Cut(string(m.sources[r.Filename][r.End.Byte:]), "\n")
	if text, ok := strings.CutPrefix(strings.TrimSpace(line), "# "); ok {
		return text
	}
	return ""
}
