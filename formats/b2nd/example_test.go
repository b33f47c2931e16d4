package b2nd_test

import (
	"context"
	"fmt"
	"os"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/rangeio"
)

func ExampleRead() {
	ctx := context.Background()
	f, err := os.Open("testdata/make_arange2d.b2nd")
	if err != nil {
		panic(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		panic(err)
	}
	a, err := b2nd.Open(ctx, rangeio.FromReaderAt(f, st.Size()), b2nd.Options{})
	if err != nil {
		panic(err)
	}
	s, err := b2nd.ParseSlice("-1, 35::-10")
	if err != nil {
		panic(err)
	}
	box, err := s.Resolve(a.Shape())
	if err != nil {
		panic(err)
	}
	items, err := b2nd.Values[float32](ctx, a, box)
	if err != nil {
		panic(err)
	}
	fmt.Println(a.Shape(), a.DType(), items)
	// Output: [30 40] <f4 [1195 1185 1175 1165]
}
