//go:build !linux

package filestore

// stays reports whether look finds the open file, as it was when it was opened.
func (k *kept) stays() bool {
	i, ok := k.look()
	return ok && unchanged(i, k.info)
}
