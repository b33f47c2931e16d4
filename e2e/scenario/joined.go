package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
)

// What is uploaded below joinPrefix becomes one dataset.
const (
	joinPrefix = "join/"
	joinedKey  = "joined.b2nd"
)

// joined: uploads that come in any order become one dataset in the order of their names, and
// one that is replaced has its new rows there. A backfill of all of them changes nothing.
func joined(t *testing.T, r *session) {
	t.Helper()
	const days = 5
	values := make([][]byte, days)
	lengths := []int64{3, 8, 2, 4, 6}
	put := func(n, seed int, rows int64) {
		t.Helper()
		var data []byte
		data, values[n] = volume(t, seed, rows, 20, 30)
		lengths[n] = rows
		r.put(t, fmt.Sprintf("%sday-%d.npy", joinPrefix, n), data)
	}
	for _, n := range []int{3, 0, 4, 1, 2} {
		put(n, n, lengths[n])
	}
	r.wantJoined(t, lengths, values)
	put(1, 100, 5)
	r.wantJoined(t, lengths, values)
	var got struct{ Unchanged, Uploads int }
	text := r.cli(t, "backfill", "s3://"+r.Uploads+"/"+joinPrefix, "--rules", r.rulesFile(t), "--json")
	if err := json.Unmarshal(text, &got); err != nil || got.Unchanged != days {
		t.Errorf("%s, %v", text, err)
	}
	r.wantJoined(t, lengths, values)
}

// wantJoined waits for the dataset of all uploads, and reads it.
func (r *session) wantJoined(t *testing.T, lengths []int64, values [][]byte) {
	t.Helper()
	uri, want := "s3://"+r.Datasets+"/"+joinedKey, slices.Concat(values...)
	until(t, func() (bool, string, error) {
		for n := range lengths {
			if text, err := read(t.Context(), r.datasets, functions.ErrorKey(fmt.Sprintf("%sday-%d.npy", joinPrefix, n))); err == nil {
				return false, uri, errors.New(text)
			}
		}
		a, err := r.client.OpenArray(t.Context(), uri, farread.FrameOptions{})
		if errors.Is(err, objstore.ErrNotFound) || errors.Is(err, objstore.ErrChanged) {
			return false, uri, nil
		}
		if err != nil {
			return false, uri, err
		}
		whole := b2nd.Whole(a.Shape())
		size, err := a.SizeOf(whole)
		if err != nil || size > 1<<20 {
			return false, fmt.Sprintf("%s of shape %v", uri, a.Shape()), err
		}
		got := make([]byte, size)
		if err := a.ReadSlice(t.Context(), got, whole); err != nil && !errors.Is(err, objstore.ErrChanged) {
			return false, uri, err
		}
		return bytes.Equal(got, want), fmt.Sprintf("%s of shape %v is not all uploads", uri, a.Shape()), nil
	})
}
