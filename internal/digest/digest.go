// Package digest makes names of values.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// JSON returns the SHA-256, in hexadecimal, of a value as JSON. It is for plain values, which
// encoding/json takes: others panic.
func JSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
