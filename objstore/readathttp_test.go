package objstore_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/httpstore"
)

// served is what a server of one object was asked for.
type served struct {
	requests, bytes atomic.Int64
}

func (s *served) start(t *testing.T, data []byte) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(&countingAnswer{w, &s.bytes}, r, "", time.Time{}, bytes.NewReader(data))
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

type countingAnswer struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (w *countingAnswer) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.n.Add(int64(n))
	return n, err
}

// arrowTable is a file that pyarrow wrote with its defaults: ten columns of float64, 100
// MB, in two row groups. It is nil if there is no pyarrow.
var arrowTable = sync.OnceValue(func() []byte {
	python := os.Getenv("FARREAD_PYTHON")
	if python == "" {
		python = "../.venv/bin/python"
	}
	dir, err := os.MkdirTemp("", "farread-arrow-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "a.parquet")
	const script = `
import sys, numpy, pyarrow, pyarrow.parquet
rows = numpy.arange(int(sys.argv[2]), dtype="f8")
pyarrow.parquet.write_table(pyarrow.table({"c%d" % i: rows + i for i in range(10)}), sys.argv[1], compression="none")
`
	if err := exec.Command(python, "-c", script, file, fmt.Sprint(tableRows)).Run(); err != nil {
		return nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	return data
})

// TestReadAtOverHTTP has libraries read real files through a server that counts: the time
// is real, so that what was read ahead may come late. Phases and bytes keep their bounds.
func TestReadAtOverHTTP(t *testing.T) {
	racetest.Skip(t, racetest.Alone)
	bounds := map[string]struct{ phases, requests int64 }{
		"zip, directory of 3000 entries":                     {2, 2},
		"zip, 30 of 3000 entries":                            {40, 45},
		"parquet of 100 MB, a column of 10":                  {8, 0},
		"parquet of 100 MB in 10 row groups, a column of 10": {10, 0},
		"random, 600 times 100 bytes of 2 MiB":               {0, 0},
		"scattered, 20 times 2 MiB by 256 KiB":               {0, 0},
	}
	list := patterns()
	if arrowTable() != nil {
		list = append(list, pattern{name: "parquet of pyarrow, 100 MB, a column of 10", key: "a.parquet", data: arrowTable, read: column})
		bounds["parquet of pyarrow, 100 MB, a column of 10"] = struct{ phases, requests int64 }{8, 0}
	}
	for _, p := range list {
		most, ok := bounds[p.name]
		if !ok {
			continue
		}
		data, key := plain, "k"
		if p.data != nil {
			data, key = p.data, p.key
		}
		bytesOf := data()
		cost := func(ahead int64) (requests, received, phases int64) {
			var s served
			b, err := httpstore.New(httpstore.Config{Base: s.start(t, bytesOf)})
			if err != nil {
				t.Fatal(err)
			}
			defer b.CloseIdleConnections()
			o := objstore.OptionsFor(key)
			o.Ahead = ahead
			obj, err := objstore.Open(t.Context(), b, key, o)
			if err != nil {
				t.Fatal(err)
			}
			p.read(checked{t, obj.WithContext(t.Context()), bytesOf})
			return s.requests.Load(), s.bytes.Load(), obj.Stats().Phases
		}
		requests, received, phases := cost(0)
		_, plainBytes, deep := cost(-1)
		t.Logf("%-55s %d requests, %d phases (%d without reading ahead), %.2f MB (%.2f)", p.name, requests, phases, deep, float64(received)/1e6, float64(plainBytes)/1e6)
		if most.phases > 0 && phases > most.phases || most.requests > 0 && requests > most.requests || p.over > 0 && float64(received) > p.over*float64(plainBytes) {
			t.Errorf("%s: %d requests, %d phases, %d bytes; %d without reading ahead", p.name, requests, phases, received, plainBytes)
		}
	}
}
