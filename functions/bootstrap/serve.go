package bootstrap

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Names of the environment of a function that serves datasets, besides EnvLog and
// EnvHedge.
const (
	EnvRoots       = "FARREAD_ROOTS"           // places to answer for: NAME=URI separated by blanks, or a JSON object of URIs by names
	EnvToken       = "FARREAD_TOKEN"           // bearer token that requests must have; "": none is needed
	EnvParameter   = "FARREAD_TOKEN_PARAMETER" // name of a parameter of Systems Manager with the token, read at the start
	EnvCORS        = "FARREAD_CORS"            // origins whose pages may read answers, separated by commas, or "*"
	EnvTTL         = "FARREAD_TTL"             // how long a dataset is believed to be current, as "10s", the default
	EnvMaxResponse = "FARREAD_MAX_RESPONSE"    // largest answer in MiB, except of raw; default 16
	EnvMaxRead     = "FARREAD_MAX_READ"        // most stored bytes in MiB that an answer may need; default 128
	EnvRaw         = "FARREAD_RAW"             // longest answer of raw in MiB that the function sends itself; longer ones are a redirection to S3; default 5; "all": it sends all; "off": no raw
	EnvMemory      = "AWS_LAMBDA_FUNCTION_MEMORY_SIZE"
)

// ServeConfig is the configuration of a function that serves datasets.
type ServeConfig struct {
	Roots       map[string]string // URIs by names
	Token       string
	Parameter   string // where to find the token
	CORS        []string
	TTL         time.Duration
	MaxResponse int64 // bytes
	MaxRead     int64 // bytes
	Redirect    int64 // bytes of an answer of raw from which on it is a redirection; 0: never
	NoRaw       bool
	Memory      int64 // bytes of the function
	Level       slog.Level
	NoHedge     bool
}

// LoadServe reads and validates the configuration; the error has every fault. getenv is
// os.Getenv.
func LoadServe(getenv func(string) string) (ServeConfig, error) {
	c := ServeConfig{Token: getenv(EnvToken), Parameter: getenv(EnvParameter), TTL: 10 * time.Second}
	var errs []error
	fault := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	mib := func(name string, to *int64, value int64, most int64) {
		if v := getenv(name); v != "" {
			n, err := strconv.ParseInt(v, 10, 64)
			if err != nil || n < 1 || n > most {
				fault("%s=%q is not a number of MiB from 1 to %d", name, v, most)
			}
			value = n
		}
		*to = value << 20
	}
	var err error
	if c.Roots, err = roots(getenv(EnvRoots)); err != nil {
		errs = append(errs, err)
	}
	mib(EnvMemory, &c.Memory, 512, 10240)
	mib(EnvMaxResponse, &c.MaxResponse, 16, 200)
	mib(EnvMaxRead, &c.MaxRead, 128, 10240)
	switch v := getenv(EnvRaw); v {
	case "all":
	case "off":
		c.NoRaw = true
	default:
		// Lambda sends 6 MB fast, head and prelude included, and 2 MB/s after that.
		mib(EnvRaw, &c.Redirect, 5, 200)
	}
	if v := getenv(EnvCORS); v != "" {
		for o := range strings.SplitSeq(v, ",") {
			c.CORS = append(c.CORS, strings.TrimSpace(o))
		}
	}
	if v := getenv(EnvTTL); v != "" {
		if c.TTL, err = time.ParseDuration(v); err != nil || c.TTL < 0 {
			fault("%s=%q is no duration, as 10s", EnvTTL, v)
		}
	}
	if c.Token != "" && c.Parameter != "" {
		fault("%s and %s: want one of them", EnvToken, EnvParameter)
	}
	if badToken(c.Token) {
		fault("%s: %w", EnvToken, errToken)
	}
	c.Level, err = logLevel(getenv)
	errs = append(errs, err)
	c.NoHedge, err = noHedge(getenv)
	errs = append(errs, err)
	return c, errors.Join(errs...)
}

var errToken = errors.New("want a token without blanks")

// badToken reports whether no header could have a token.
func badToken(v string) bool { return strings.ContainsAny(v, " \t\r\n") || len(v) > 4096 }

// roots reads places by their names.
func roots(text string) (map[string]string, error) {
	list := map[string]string{}
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			return nil, fmt.Errorf("%s is no JSON object of URIs by names: %w", EnvRoots, err)
		}
	} else {
		for _, word := range strings.Fields(text) {
			name, uri, ok := strings.Cut(word, "=")
			if _, twice := list[name]; !ok || twice {
				return nil, fmt.Errorf("%s: %q: want NAME=URI, each name once", EnvRoots, word)
			}
			list[name] = uri
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s is not set: want NAME=s3://BUCKET/PREFIX/ of what is to be served", EnvRoots)
	}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if name == "" || !strings.HasPrefix(list[name], "s3://") {
			return nil, fmt.Errorf("%s: %q=%q: want a name, and a URI s3://BUCKET/PREFIX/", EnvRoots, name, list[name])
		}
	}
	return list, nil
}
