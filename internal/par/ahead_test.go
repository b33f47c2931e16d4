package par_test

import (
	"context"
	"errors"
	"testing"

	"github.com/farread/farread/internal/par"
)

// TestAhead: results come in order, and what nobody takes is dropped, once.
func TestAhead(t *testing.T) {
	stop := errors.New("stop")
	for _, at := range []int{-1, 0, 3, 9} {
		made, dropped, taken := 0, 0, 0
		err := par.Ahead(t.Context(), func(context.Context) (int, bool, error) {
			if made == 10 {
				return 0, false, nil
			}
			made++
			return made - 1, true, nil
		}, func(int) { dropped++ }, func(v int) error {
			if v != taken {
				t.Errorf("%d came as number %d", v, taken)
			}
			taken++
			if v == at {
				return stop
			}
			return nil
		})
		want := error(nil)
		if at >= 0 {
			want = stop
		}
		if !errors.Is(err, want) || made != taken+dropped || at < 0 && taken != 10 || at >= 0 && taken != at+1 {
			t.Errorf("stopped at %d: %v, %d made, %d taken, %d dropped", at, err, made, taken, dropped)
		}
	}
}
