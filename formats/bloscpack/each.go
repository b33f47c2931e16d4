package bloscpack

import "context"

// Each calls fn for the chunks [i, j), in order, with their decoded bytes, which
// are valid during the call only. Each(ctx, 0, f.Len(), fn) reads the whole file,
// and finds chunks that overlap. An error of fn ends it and is returned as it is.
func (f *File) Each(ctx context.Context, i, j int64, fn func(i int64, p []byte) error) error {
	if err := f.checkRange(i, j); err != nil {
		return err
	}
	var buf []byte
	for ; i < j; i++ {
		var err error
		if buf, err = f.AppendItem(ctx, buf[:0], i); err != nil {
			return err
		}
		if err := fn(i, buf); err != nil {
			return err
		}
	}
	return ctx.Err()
}
