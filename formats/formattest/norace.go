//go:build !race

package formattest

const raced = false
