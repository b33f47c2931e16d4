package check

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"

	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/farread/farread"
	"github.com/farread/farread/functions/bootstrap"
	"github.com/farread/farread/gateway"
	"github.com/farread/farread/internal/teststack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/s3store"
)

const serving = "../modules/serving"

// served evaluates the module for roots, which are names and prefixes in the bucket
// "datasets".
func served(tb interface {
	Helper()
	Fatal(args ...any)
}, roots map[string]string, more map[string]cty.Value,
) *Instance {
	tb.Helper()
	m, err := Load(serving)
	if err != nil {
		tb.Fatal(err)
	}
	list := map[string]cty.Value{}
	for name, prefix := range roots {
		list[name] = cty.ObjectVal(map[string]cty.Value{"bucket": cty.StringVal("datasets"), "prefix": cty.StringVal(prefix)})
	}
	input := map[string]cty.Value{"name": cty.StringVal("demo"), "roots": cty.ObjectVal(list), "zip": cty.StringVal("x.zip"), "access": cty.StringVal("public")}
	maps.Copy(input, more)
	in, err := m.With(input)
	if err != nil {
		tb.Fatal(err)
	}
	if err := in.Check(); err != nil {
		tb.Fatal(err)
	}
	return in
}

func rights(tb interface {
	Helper()
	Fatal(args ...any)
}, in *Instance,
) Policy {
	tb.Helper()
	text, err := in.Local("policy")
	if err != nil {
		tb.Fatal(err)
	}
	p, err := ParsePolicy(text.AsString())
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// TestServingRights: the server answers all that it can behind the module's policy:
// nothing that it asks for is refused, and every right is used.
func TestServingRights(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts the local cloud")
	}
	for name, versions := range map[string]bool{"plain": false, "versions": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := teststack.Run(t, teststack.Options{Buckets: []string{"datasets"}, Versioning: versions})
			in := served(t, map[string]string{"sets": "sets/", "one": "other/a.npy"}, nil)
			p := rights(t, in)
			g := newGuard(p)
			open := func(tr http.RoundTripper) *s3store.Bucket {
				b, err := s3store.New(t.Context(), s3store.Config{Bucket: "datasets", Endpoint: s.Endpoint, Region: s.Region, AccessKey: s.AccessKey, SecretKey: s.SecretKey, Transport: tr})
				if err != nil {
					t.Fatal(err)
				}
				return b
			}
			put := func(key string, body []byte) {
				if _, err := objstore.Put(t.Context(), open(nil), key, bytes.NewReader(body), objstore.PutOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			for _, key := range []string{"sets/a.npy", "other/a.npy", "sets/deep/b.npy", "sets/clip/data.bin"} {
				put(key, array(100_000))
			}
			b := open(g)
			srv, err := gateway.New(gateway.Config{Client: farread.New(farread.Config{NoHedge: true}), TTL: -1, RedirectRaw: 50_000,
				Roots: []gateway.Root{{Name: "sets", Bucket: b, Key: "sets/"}, {Name: "one", Bucket: b, Key: "other/a.npy"}}})
			if err != nil {
				t.Fatal(err)
			}
			defer srv.Close()
			for path, want := range map[string]int{
				"/info/sets/a.npy": 200, "/info/one": 200, "/ls/sets/": 200, "/ls/sets/deep/": 200, "/slice/one?s=:3&format=json": 200, "/slice/sets/a.npy?s=5:9": 200,
				"/slice/sets/none.npy": 404, "/info/sets/clip/": 200, "/raw/sets/none": 404, "/raw/sets/a.npy": 307, "/zarr/sets/none.b2nd/zarr.json": 404, "/group/sets/deep/zarr.json": 200,
				"/get/sets/clip?id=x": 404, "/info/one/below": 404,
			} {
				for range 2 { // opened, and looked at again
					w := httptest.NewRecorder()
					srv.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil))
					if w.Code != want && (want != 404 || w.Code != 422) {
						t.Errorf("%s: %d %s", path, w.Code, w.Body)
					}
					if to := w.Header().Get("Location"); to != "" {
						followed(t, g, to)
					}
				}
			}
			g.nothingMissing(t)
			used := map[string][]string{}
			for sid, actions := range g.used {
				used[sid] = slices.Sorted(maps.Keys(actions))
			}
			want := []string{"s3:GetObject"}
			if versions {
				want = append(want, "s3:GetObjectVersion")
			}
			if !slices.Equal(used["ReadDatasets"], want) || !slices.Equal(used["ListDatasets0"], []string{"s3:ListBucket"}) {
				t.Errorf("used: %v", used)
			}
		})
	}
}

// followed: who is sent to S3 has the rights of the function.
func followed(t *testing.T, g *guard, to string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, to, nil)
	if err != nil {
		t.Fatal(err)
	}
	q := r.URL.Query()
	asked := r.Clone(t.Context())
	for name := range q {
		if strings.HasPrefix(name, "X-Amz-") {
			q.Del(name)
		}
	}
	asked.URL.RawQuery = q.Encode()
	needs, err := Needs(asked, 0)
	if err != nil || !g.may(needs) {
		t.Errorf("%s: %v %v", to, needs, err)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	a.Body.Close()
	if a.StatusCode != http.StatusOK {
		t.Errorf("%s: %s", to, a.Status)
	}
}

// TestServingPlaces: whatever the prefixes, keys below a root can be read and listed, and
// keys beside it cannot.
func TestServingPlaces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.StringOfN(rapid.RuneFrom([]rune(`a/_*?$\{}ü.`)), 0, 6, -1)
		roots := map[string]string{}
		for i := range rapid.IntRange(1, 3).Draw(t, "n") {
			roots[fmt.Sprint("r", i)] = strings.TrimLeft(piece.Draw(t, "prefix"), "/")
		}
		p := rights(t, served(t, roots, nil))
		key := rapid.SampledFrom(slices.Sorted(maps.Values(roots))).Draw(t, "root") + piece.Draw(t, "rest")
		if rapid.Bool().Draw(t, "beside") {
			key = piece.Draw(t, "key")
		}
		below := false
		for _, prefix := range roots {
			below = below || strings.HasPrefix(key, prefix)
		}
		for _, a := range []Request{{Action: "s3:GetObject", Resource: "arn:aws:s3:::datasets/" + key}, {Action: "s3:GetObjectVersion", Resource: "arn:aws:s3:::datasets/" + key},
			{Action: "s3:ListBucket", Resource: "arn:aws:s3:::datasets", Context: map[string]string{"s3:prefix": key}}} {
			if got := len(p.Allows(a)) > 0; got != below {
				t.Fatalf("%v: %s of %q is allowed: %v", roots, a.Action, key, got)
			}
		}
		for _, a := range []string{"s3:PutObject", "s3:DeleteObject", "s3:GetObjectTagging"} {
			if len(p.Allows(Request{Action: a, Resource: "arn:aws:s3:::datasets/" + key})) > 0 {
				t.Fatal(a)
			}
		}
	})
}

// TestServingEnvironment: the function takes the environment that the module gives it.
func TestServingEnvironment(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]map[string]cty.Value{
		"least": {},
		"all": {"access": cty.StringVal("token"), "token_parameter": cty.StringVal("/a/b"), "cors": cty.TupleVal([]cty.Value{cty.StringVal("https://a.example"), cty.StringVal("https://b.example")}),
			"ttl_s": cty.NumberIntVal(0), "raw": cty.StringVal("all"), "max_response_mb": cty.NumberIntVal(20), "log_level": cty.StringVal("warn")},
		"off": {"raw": cty.StringVal("off"), "cors": cty.TupleVal([]cty.Value{cty.StringVal("*")})},
	} {
		in := served(t, map[string]string{"sets": "a b/", "one": "x=y/größe.b2nd"}, more)
		vars, err := in.Local("environment")
		if err != nil {
			t.Fatal(err)
		}
		given, asked := map[string]string{}, map[string]bool{}
		for it := vars.ElementIterator(); it.Next(); {
			k, v := it.Element()
			given[k.AsString()] = v.AsString()
		}
		c, err := bootstrap.LoadServe(func(name string) string { asked[name] = true; return given[name] })
		if err != nil {
			t.Fatal(err)
		}
		if c.Roots["sets"] != "s3://datasets/a b/" || c.Roots["one"] != "s3://datasets/x=y/größe.b2nd" || len(c.Roots) != 2 {
			t.Errorf("%s: %v", name, c.Roots)
		}
		ok := map[string]bool{
			"least": c.TTL == 10*time.Second && c.MaxResponse == 16<<20 && c.Redirect == 5<<20 && !c.NoRaw && c.CORS == nil && c.Parameter == "",
			"all":   c.TTL == 0 && c.MaxResponse == 20<<20 && c.Redirect == 0 && !c.NoRaw && slices.Equal(c.CORS, []string{"https://a.example", "https://b.example"}) && c.Parameter == "/a/b" && c.Level == slog.LevelWarn,
			"off":   c.NoRaw && slices.Equal(c.CORS, []string{"*"}),
		}[name]
		if !ok {
			t.Errorf("%s: %+v", name, c)
		}
		for name := range given {
			if !asked[name] {
				t.Errorf("nobody asks for %s", name)
			}
		}
	}
}

// TestServingWords: words that the module writes are those of the SDK.
func TestServingWords(t *testing.T) {
	t.Parallel()
	in := served(t, map[string]string{"a": ""}, nil)
	for argument, values := range map[string][]string{
		"aws_lambda_function.this runtime":                   texts(types.Runtime("").Values()),
		"aws_lambda_function.this architectures":             texts(types.Architecture("").Values()),
		"aws_lambda_function.this package_type":              texts(types.PackageType("").Values()),
		"aws_lambda_function.this logging_config.log_format": texts(types.LogFormat("").Values()),
		"aws_lambda_function_url.this authorization_type":    texts(types.FunctionUrlAuthType("").Values()),
		"aws_lambda_function_url.this invoke_mode":           texts(types.InvokeMode("").Values()),
	} {
		resource, path, _ := strings.Cut(argument, " ")
		got := arguments(t, in, resource, strings.Split(path, "."))
		if len(got) == 0 {
			t.Errorf("%s: nothing", argument)
		}
		for _, v := range got {
			if !slices.Contains(values, v) {
				t.Errorf("%s: %q is none of %v", argument, v, values)
			}
		}
	}
}
