package functions

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// TestZoomRules: rules of the job zoom, whose codecs are types of samples.
func TestZoomRules(t *testing.T) {
	t.Parallel()
	var s schema
	if err := json.Unmarshal(RulesSchema, &s); err != nil {
		t.Fatal(err)
	}
	pattern := regexp.MustCompile(s.Items.Properties["codec"].Pattern)
	for name, c := range map[string]struct{ rule, want string }{
		"plain":         {`"job":"zoom"`, ""},
		"f32":           {`"job":"zoom","codec":"f32"`, ""},
		"pcm":           {`"job":"zoom","codec":"pcm-i16"`, ""},
		"pcm of u8":     {`"job":"zoom","codec":"pcm-u8"`, "type of samples"},
		"blosc's codec": {`"job":"zoom","codec":"zstd"`, "type of samples"},
		"pack's":        {`"job":"pack","codec":"f32"`, "codec"},
		"format":        {`"job":"zoom","format":"b2nd"`, "say nothing"},
		"chunk":         {`"job":"zoom","chunk":5`, "say nothing"},
		"csv":           {`"job":"zoom","csv":{"time":"date+time","time_format":"%d/%m/%Y","tz":"Europe/Berlin","columns":["a"],"skip":["b"]}`, ""},
		"csv of pack":   {`"job":"pack","csv":{"time":"t"}`, "csv says nothing"},
		"csv's unit":    {`"job":"zoom","csv":{"times":"weeks"}`, "csv.times"},
		"csv, both":     {`"job":"zoom","csv":{"times":"s","time_format":"%Y"}`, "both"},
		"csv's field":   {`"job":"zoom","csv":{"column":"t"}`, "column"},
		"records":       {`"job":"zoom","records":"lines"`, "records"},
	} {
		r, err := ParseRules([]byte(`[{"bucket":"ups","out":{"bucket":"sets"},` + c.rule + `}]`))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err == nil && !pattern.MatchString(r[0].Codec) {
			t.Errorf("%s: the schema refuses codec %q", name, r[0].Codec)
		}
	}
}
