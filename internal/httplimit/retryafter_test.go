package httplimit_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/internal/httplimit"
)

func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const own, most = 2 * time.Second, 10 * time.Second
		in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
		for _, c := range []struct {
			status int
			header string
			want   time.Duration
		}{
			{503, "7", 7 * time.Second}, {429, "7", 7 * time.Second}, {503, " 7 ", 7 * time.Second},
			{503, "", own}, {503, "0", own}, {503, "1", own}, {503, "-7", own}, {503, "7.5", own}, {503, "soon", own},
			{503, "10", most}, {503, "11", most}, {503, "7200", most}, {503, "9223372036854775807", most}, {503, "18446744073709551616", most},
			{503, in(7 * time.Second), 7 * time.Second}, {503, in(-time.Hour), own}, {503, in(time.Hour), most}, {503, in(200 * 365 * 24 * time.Hour), most},
			{500, "7", own}, {200, "7", own}, {301, "7", own},
		} {
			resp := &http.Response{StatusCode: c.status, Header: http.Header{"Retry-After": {c.header}}}
			if got := httplimit.Pause(resp, own, most); got != c.want {
				t.Errorf("%d %q: %v, want %v", c.status, c.header, got, c.want)
			}
		}
		if got := httplimit.Pause(nil, own, most); got != own {
			t.Errorf("no answer: %v", got)
		}
		if got := httplimit.Pause(&http.Response{StatusCode: 503}, time.Hour, most); got != most {
			t.Errorf("one's own longer: %v", got)
		}
	})
}
