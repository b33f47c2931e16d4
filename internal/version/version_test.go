package version

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestFrom(t *testing.T) {
	t.Parallel()
	vcs := func(rev, modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "vcs.revision", Value: rev}, {Key: "vcs.modified", Value: modified}}
	}
	const rev = "0123456789abcdef0123456789abcdef01234567"
	cases := []struct {
		name, stamp string
		info        debug.BuildInfo
		want        string
	}{
		{"nothing known", "", debug.BuildInfo{}, "devel"},
		{"plain go build", "", debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "devel"},
		{"go install", "", debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "v1.2.3"},
		{"stamp wins", "v2.0.0-3-gabc", debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: vcs(rev, "true")}, "v2.0.0-3-gabc"},
		{"commit", "", debug.BuildInfo{Settings: vcs(rev, "false")}, "devel-0123456789ab"},
		{"changed files", "", debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: vcs(rev, "true")}, "devel-0123456789ab-dirty"},
		{"short revision", "", debug.BuildInfo{Settings: vcs("abc", "false")}, "devel-abc"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := from(c.stamp, &c.info); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestString(t *testing.T) {
	t.Parallel()
	if String() == "" || strings.ContainsAny(String(), " \n\t") {
		t.Errorf("version %q is not one word", String())
	}
	if UserAgent() != "farread/"+String() {
		t.Errorf("user agent %q", UserAgent())
	}
}
