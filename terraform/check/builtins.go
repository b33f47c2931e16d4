package check

import (
	"encoding/base64"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// builtins are the functions of Terraform's language that modules here use.
func builtins(dir string) map[string]function.Function {
	return map[string]function.Function{
		"alltrue": fold(true, func(a, b bool) bool { return a && b }), "anytrue": fold(false, func(a, b bool) bool { return a || b }),
		"base64encode": ofText(func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }),
		"can":          tryfunc.CanFunc, "coalesce": stdlib.CoalesceFunc, "concat": stdlib.ConcatFunc, "contains": stdlib.ContainsFunc,
		"distinct": stdlib.DistinctFunc, "element": stdlib.ElementFunc,
		"endswith":         test(strings.HasSuffix),
		"filebase64sha256": ofText(func(s string) string { return "digest of " + filepath.Join(dir, s) }),
		"flatten":          stdlib.FlattenFunc, "floor": stdlib.FloorFunc, "join": stdlib.JoinFunc,
		"jsondecode": stdlib.JSONDecodeFunc, "jsonencode": stdlib.JSONEncodeFunc, "keys": stdlib.KeysFunc,
		"length": length(), "merge": stdlib.MergeFunc, "min": stdlib.MinFunc, "one": one(), "range": stdlib.RangeFunc,
		"regex": stdlib.RegexFunc, "replace": stdlib.ReplaceFunc, "setproduct": stdlib.SetProductFunc, "split": stdlib.SplitFunc,
		"startswith": test(strings.HasPrefix),
		"substr":     stdlib.SubstrFunc, "templatefile": templateFile(), "try": tryfunc.TryFunc, "sum": sum(), "toset": stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)),
		"tostring": stdlib.MakeToFunc(cty.String), "trimprefix": stdlib.TrimPrefixFunc, "trimsuffix": stdlib.TrimSuffixFunc, "values": stdlib.ValuesFunc,
	}
}

var anything = function.Parameter{Name: "v", Type: cty.DynamicPseudoType} //nolint:gochecknoglobals // a constant

func ofText(f func(string) string) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "s", Type: cty.String}}, Type: function.StaticReturnType(cty.String),
		Impl: func(a []cty.Value, _ cty.Type) (cty.Value, error) { return cty.StringVal(f(a[0].AsString())), nil },
	})
}

func templateFile() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}, anything}, Type: function.StaticReturnType(cty.String),
		Impl: func(a []cty.Value, _ cty.Type) (cty.Value, error) {
			name := a[0].AsString()
			text, err := os.ReadFile(name)
			if err != nil {
				return cty.NilVal, err
			}
			e, diags := hclsyntax.ParseTemplate(text, name, hcl.InitialPos)
			if diags.HasErrors() {
				return cty.NilVal, diags
			}
			v, diags := e.Value(&hcl.EvalContext{Variables: a[1].AsValueMap()})
			if diags.HasErrors() {
				return cty.NilVal, diags
			}
			return convert.Convert(v, cty.String)
		},
	})
}

func test(f func(string, string) bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "s", Type: cty.String}, {Name: "t", Type: cty.String}}, Type: function.StaticReturnType(cty.Bool),
		Impl: func(a []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.BoolVal(f(a[0].AsString(), a[1].AsString())), nil
		},
	})
}

func fold(start bool, f func(a, b bool) bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{anything}, Type: function.StaticReturnType(cty.Bool),
		Impl: func(a []cty.Value, _ cty.Type) (cty.Value, error) {
			all := start
			for it := a[0].ElementIterator(); it.Next(); {
				_, v := it.Element()
				all = f(all, v.True())
			}
			return cty.BoolVal(all), nil
		},
	})
}

func length() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{anything}, Type: function.StaticReturnType(cty.Number),
		Impl: func(a []cty.Value, _ cty.Type) (cty.Value, error) {
			if a[0].Type() == cty.String {
				return stdlib.Strlen(a[0])
			}
			return cty.NumberIntVal(int64(a[0].LengthInt())), nil
		},
	})
}

func sum() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{anything}, Type: function.StaticReturnType(cty.Number),
		Impl: func(a []cty.Value, _ cty.Type) (cty.Value, error) {
			n := new(big.Float)
			for it := a[0].ElementIterator(); it.Next(); {
				_, v := it.Element()
				n.Add(n, v.AsBigFloat())
			}
			return cty.NumberVal(n), nil
		},
	})
}

func one() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{anything},
		Type:   func(a []cty.Value) (cty.Type, error) { v, err := first(a[0]); return v.Type(), err },
		Impl:   func(a []cty.Value, _ cty.Type) (cty.Value, error) { return first(a[0]) },
	})
}

func first(list cty.Value) (cty.Value, error) {
	switch n := list.LengthInt(); n {
	case 0:
		return cty.NullVal(cty.DynamicPseudoType), nil
	case 1:
		for it := list.ElementIterator(); it.Next(); {
			_, v := it.Element()
			return v, nil
		}
	}
	return cty.NilVal, errors.New("more than one")
}
