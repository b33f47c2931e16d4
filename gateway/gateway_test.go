package gateway

import (
	"fmt"
	"strings"
	"testing"
)

func TestFirst(t *testing.T) {
	g := newGround(t, Config{})
	for _, path := range []string{"/healthz", "/ls/", "/ls/d/", "/ls/d/v.b2nd", "/ls/d/clips/?limit=1", "/ls/d/clips", "/info/d/v.b2nd", "/info/d/clips/", "/info/d/items.blp", "/info/d/day.zoom", "/info/d/v.npy",
		"/slice/d/v.b2nd?s=1,2,3:9&format=json", "/slice/d/v.b2nd?s=1&format=png", "/slice/d/v.b2nd?s=1,2,:3", "/slice/d/v.npy?s=1,2:4&format=csv", "/slice/d/members.b2nd?s=3,4&format=json", "/slice/d/members.b2nd?s=3,4&field=xy&format=json", "/slice/d/v.b2nd?s=0,0,:3&as=<f8&format=json",
		"/get/d/items.blp?item=3", "/get/d/items.blp?items=0:3", "/get/d/items.blp?items=199:300", "/get/d/v.b2nd?chunk=2",
		"/view/d/day.zoom?track=1&width=4", "/view/d/day.zoom?track=right&width=4&format=csv", "/view/d/day.zoom?track=1&width=40&format=png", "/view/d/day.zoom?track=1&width=40&format=svg", "/view/d/day.zoom?track=1&width=40&format=dat", "/view/d/day.zoom?track=1&width=40&format=npy&from=1&to=3",
		"/raw/d/v.npy", "/raw/d/notes.txt", "/raw/d/sub/deep/x.b2nd", "/info/d/notes.txt", "/info/d/none", "/info/d/sub/deep/x.b2nd", "/slice/d/zfp.b2nd?s=0", "/metrics"} {
		w := g.ask("GET", path)
		body := w.Body.String()
		if len(body) > 300 && !strings.Contains(path, "metrics") {
			body = fmt.Sprintf("%q… %d", body[:200], len(body))
		}
		fmt.Println(path, w.Code, w.Header(), "\n   ", body, "\n   ", g.took())
	}
}
