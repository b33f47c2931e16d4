package check

import (
	"errors"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Account, Region and Partition describe the place in which modules are evaluated.
const (
	Account   = "123456789012"
	Region    = "eu-west-1"
	Partition = "aws"
)

// An Instance is a module with its input. Attributes of resources that AWS would
// make up are made up here. It is not safe for concurrent use.
type Instance struct {
	m      *Module
	vars   map[string]cty.Value
	locals map[string]cty.Value
	busy   map[string]bool
}

// With gives the module its input; variables that are not in it have their
// defaults. It does not look at validations: see Check.
func (m *Module) With(input map[string]cty.Value) (*Instance, error) {
	in := &Instance{m: m, vars: map[string]cty.Value{}, locals: map[string]cty.Value{}, busy: map[string]bool{}}
	for _, v := range m.Variables {
		given, ok := input[v.Name]
		switch {
		case ok:
			val, err := v.convert(given)
			if err != nil {
				return nil, err
			}
			in.vars[v.Name] = val
		case v.DefaultText == "":
			return nil, fmt.Errorf("variable %s has to be given", v.Name)
		default:
			in.vars[v.Name] = v.Default
		}
	}
	return in, nil
}

// Local is a local value.
func (in *Instance) Local(name string) (cty.Value, error) {
	if v, ok := in.locals[name]; ok {
		return v, nil
	}
	e, ok := in.m.locals[name]
	if !ok {
		return cty.NilVal, fmt.Errorf("no local.%s", name)
	}
	if in.busy[name] {
		return cty.NilVal, fmt.Errorf("local.%s refers to itself", name)
	}
	in.busy[name] = true
	defer delete(in.busy, name)
	v, err := in.eval(e, nil)
	if err != nil {
		return cty.NilVal, fmt.Errorf("local.%s: %w", name, err)
	}
	in.locals[name] = v
	return v, nil
}

// Attribute is an argument of one instance of a resource, of key "" where the
// resource has neither for_each nor count.
func (in *Instance) Attribute(resource, key, name string) (cty.Value, error) {
	b := in.m.Resources[resource]
	if b == nil || b.Body.Attributes[name] == nil {
		return cty.NilVal, fmt.Errorf("%s has no %s", resource, name)
	}
	each, err := in.each(b)
	if err != nil {
		return cty.NilVal, err
	}
	if key != "" {
		v, ok := each[key]
		if !ok {
			return cty.NilVal, fmt.Errorf("no %s[%q]", resource, key)
		}
		return in.eval(b.Body.Attributes[name].Expr, eachValue(key, v))
	}
	return in.eval(b.Body.Attributes[name].Expr, nil)
}

// Check evaluates validations and preconditions; what does not hold is
// ErrRefused, all of it at once.
func (in *Instance) Check() error {
	var errs []error
	for _, v := range in.m.Variables {
		for _, b := range v.validations {
			errs = append(errs, in.holds("variable "+v.Name, b, nil))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err // Terraform's plan ends here, too
	}
	for name, b := range in.m.Resources {
		errs = append(errs, in.preconditions(name, b))
	}
	return errors.Join(errs...)
}

func (in *Instance) preconditions(name string, b *hclsyntax.Block) error {
	each, err := in.each(b)
	if err != nil {
		return err
	}
	var errs []error
	for _, l := range b.Body.Blocks {
		for _, c := range l.Body.Blocks {
			if l.Type != "lifecycle" || c.Type != "precondition" {
				continue
			}
			if each == nil {
				errs = append(errs, in.holds(name, c, nil))
			}
			for k, v := range each {
				errs = append(errs, in.holds(name, c, eachValue(k, v)))
			}
		}
	}
	return errors.Join(errs...)
}

func (in *Instance) holds(where string, b *hclsyntax.Block, each map[string]cty.Value) error {
	ok, err := in.eval(b.Body.Attributes["condition"].Expr, each)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", where, err)
	case ok.True():
		return nil
	}
	text, err := in.eval(b.Body.Attributes["error_message"].Expr, each)
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	return fmt.Errorf("%s: %w: %s", where, ErrRefused, text.AsString())
}

func eachValue(key string, v cty.Value) map[string]cty.Value {
	return map[string]cty.Value{"each": cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal(key), "value": v})}
}

// each returns the instances of a resource with for_each or count; nil: a
// single instance.
func (in *Instance) each(b *hclsyntax.Block) (map[string]cty.Value, error) {
	if a := b.Body.Attributes["count"]; a != nil {
		n, err := in.eval(a.Expr, nil)
		if err != nil {
			return nil, err
		}
		many, _ := n.AsBigFloat().Int64()
		out := map[string]cty.Value{}
		for i := range many {
			out[fmt.Sprint(i)] = cty.NumberIntVal(i)
		}
		return out, nil
	}
	a := b.Body.Attributes["for_each"]
	if a == nil {
		return nil, nil
	}
	v, err := in.eval(a.Expr, nil)
	if err != nil {
		return nil, err
	}
	out := map[string]cty.Value{}
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		if v.Type().IsSetType() {
			k = e
		}
		out[k.AsString()] = e
	}
	return out, nil
}

// eval evaluates e. Before that it evaluates the values that e refers to.
func (in *Instance) eval(e hclsyntax.Expression, more map[string]cty.Value) (cty.Value, error) {
	vars := map[string]map[string]cty.Value{}
	put := func(root, name string, v cty.Value) {
		if vars[root] == nil {
			vars[root] = map[string]cty.Value{}
		}
		vars[root][name] = v
	}
	for _, t := range e.Variables() {
		root := t.RootName()
		if more[root] != cty.NilVal {
			continue
		}
		step, ok := hcl.TraverseAttr{}, false
		if len(t) > 1 {
			step, ok = t[1].(hcl.TraverseAttr)
		}
		if !ok {
			return cty.NilVal, fmt.Errorf("%s: reference without a name", root)
		}
		v, err := in.refer(root, step.Name)
		if err != nil {
			return cty.NilVal, err
		}
		put(root, step.Name, v)
	}
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{}, Functions: builtins(in.m.Dir)}
	for root, members := range vars {
		ctx.Variables[root] = cty.ObjectVal(members)
	}
	for name, v := range more {
		ctx.Variables[name] = v
	}
	v, diags := e.Value(ctx)
	if diags.HasErrors() {
		return cty.NilVal, diags
	}
	return v, nil
}

func (in *Instance) refer(root, name string) (cty.Value, error) {
	switch root {
	case "path":
		return cty.StringVal(in.m.Dir), nil
	case "var":
		if v, ok := in.vars[name]; ok {
			return v, nil
		}
		return cty.NilVal, fmt.Errorf("no var.%s", name)
	case "local":
		return in.Local(name)
	case "data":
		current := cty.ObjectVal(map[string]cty.Value{"account_id": cty.StringVal(Account), "region": cty.StringVal(Region), "partition": cty.StringVal(Partition)})
		return cty.ObjectVal(map[string]cty.Value{"current": current}), nil
	}
	b := in.m.Resources[root+"."+name]
	if b == nil {
		return cty.NilVal, fmt.Errorf("no %s.%s", root, name)
	}
	each, err := in.each(b)
	if err != nil {
		return cty.NilVal, err
	}
	if each == nil {
		return madeUp(root + "." + name), nil
	}
	if b.Body.Attributes["count"] != nil {
		list := []cty.Value{}
		for range each {
			list = append(list, madeUp(fmt.Sprintf("%s.%s/%d", root, name, len(list))))
		}
		return cty.TupleVal(list), nil
	}
	members := map[string]cty.Value{}
	for k := range each {
		members[k] = madeUp(root + "." + name + "/" + k)
	}
	return cty.ObjectVal(members), nil
}

// madeUp is what others refer to of a resource.
func madeUp(at string) cty.Value {
	out := map[string]cty.Value{}
	for _, name := range []string{"arn", "bucket", "function_name", "id", "name", "url"} {
		out[name] = cty.StringVal(name + ":" + at)
	}
	return cty.ObjectVal(out)
}
