package rangeio

// A Longer is a Reader that makes longer requests if much is read at the same time. A
// single call is told by its spans how much that is; calls side by side are not.
type Longer interface {
	Reader
	// Long returns a Reader of the same object for calls that have n bytes in flight
	// together, and the most bytes of one of its requests. It returns 0 if requests are
	// no longer for that.
	Long(n int64) (Reader, int64)
}

// Long returns r.Long(n) if r is a Longer, or else r and 0.
func Long(r Reader, n int64) (Reader, int64) {
	if l, ok := r.(Longer); ok {
		return l.Long(n)
	}
	return r, 0
}
