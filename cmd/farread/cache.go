package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore/diskcache"
)

// cacheVariable names the folder of the cache, if --cache does not.
const cacheVariable = "FARREAD_CACHE"

// cacheFlags say whether and how bytes are kept on disk.
type cacheFlags struct {
	dir string
	max sizeFlag
	ttl time.Duration
	of  *pflag.FlagSet // has these flags
}

func (c *cacheFlags) register(f *pflag.FlagSet) {
	c.max, c.of = diskcache.DefaultMaxBytes, f
	f.StringVar(&c.dir, "cache", "", "keep what is read of stores in the folder `DIR` for later runs (else "+cacheVariable+")")
	f.Var(&c.max, "cache-size", "most bytes in the folder of --cache")
	f.DurationVar(&c.ttl, "cache-ttl", 0, "time in which the store is not asked again whether an object is unchanged")
}

// cacheDir returns the folder of the cache, or "".
func (a *app) cacheDir() string {
	if a.flags.cache.dir == "" && a.env != nil {
		return a.env(cacheVariable)
	}
	return a.flags.cache.dir
}

// size returns the size, with a unit, that --cache has in place of a folder.
func (c *cacheFlags) size() (size sizeFlag, ok bool) {
	if !strings.HasSuffix(c.dir, "B") || size.Set(c.dir) != nil {
		return 0, false
	}
	_, err := os.Stat(c.dir)
	return size, err != nil
}

// alone refuses flags that say how to keep something where nothing is kept.
func (c *cacheFlags) alone() error {
	for _, name := range []string{"cache-size", "cache-ttl"} {
		if c.of != nil && c.of.Changed(name) {
			return usagef("--%s is about a folder that --cache or %s names, and there is none: nothing would be kept", name, cacheVariable)
		}
	}
	return nil
}

// openCache opens the cache on disk. It returns nil if there is none. Of a server --cache
// may be a size, too: that of --cache-memory.
func (a *app) openCache() (*diskcache.Cache, error) {
	dir := a.cacheDir()
	if dir == "" {
		return nil, a.flags.cache.alone()
	}
	if size, ok := a.flags.cache.size(); ok {
		if !a.joins {
			return nil, usagef("--cache %s: want a folder; --cache-size says how much it may hold", dir)
		}
		a.memory = size
		return nil, nil //nolint:nilnil // no cache is not an error
	}
	if c := &a.flags.cache; c.max < diskcache.MinBytes {
		return nil, usagef("--cache-size %s: at least %s is needed", &c.max, human.Size(diskcache.MinBytes))
	} else if c.ttl < 0 {
		return nil, usagef("--cache-ttl %s is negative", c.ttl)
	}
	return diskcache.Open(diskcache.Config{Dir: dir, MaxBytes: int64(a.flags.cache.max), MaxAge: a.flags.cache.ttl, Logger: a.logger()})
}

func newCache(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "cache", Short: "Look at the folder of --cache, check it, empty it",
		Long: `With --cache DIR, or FARREAD_CACHE=DIR, commands keep in the folder DIR the bytes that
they read of S3 and of HTTP servers. A later run of a command takes them from there. It
asks the store for one byte of each object, to see that the object is the same, or for
nothing within --cache-ttl; it reads what is missing, and what has changed.

Objects are known by bucket and key, and by version or ETag. Those without a version and
a strong ETag are not kept, nor are local files. Beyond --cache-size, what was not used
for longest goes. Everything has checksums; what is damaged is read anew. Several
processes may use the folder at once, and it may be deleted at any time. If it is full
or cannot be written to, reads go on without it. The jobs of worker and backfill do not
use it: they read each upload once, as it is now.

The folder has to be new, empty, or such a cache. Only its owner can read it: it holds
what the owner's credentials could read.`,
		Example: `  farread get s3://frames/clips/sunrise.tar.gulp --id sunrise -o sunrise/ --cache ~/.cache/farread
  farread cache info --cache ~/.cache/farread`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	sub := func(use, short, long string, do func(cmd *cobra.Command, c *diskcache.Cache) error) {
		c.AddCommand(&cobra.Command{
			Use: use, Short: short, Long: long, Args: exactly(),
			Example: "  farread cache " + use + " --cache ~/.cache/farread",
			RunE: func(cmd *cobra.Command, _ []string) error {
				kept, err := a.openCache()
				if kept == nil && (err == nil || a.cacheDir() == "") {
					return usagef("which folder? --cache or %s names it", cacheVariable)
				}
				if err != nil {
					return err
				}
				return do(cmd, kept)
			},
		})
	}
	sub("info", "How much is kept", "Print how many objects and bytes the cache holds.", func(_ *cobra.Command, c *diskcache.Cache) error {
		return a.cacheInfo(c)
	})
	sub("verify", "Compare all checksums", `Read all that is kept, and remove files that are damaged or unfinished. Their bytes are
read from the store again when they are needed.`, func(cmd *cobra.Command, c *diskcache.Cache) error {
		v, err := c.Verify(cmd.Context())
		if err != nil {
			return err
		}
		if a.flags.json {
			return writeJSON(a.stdout, v)
		}
		_, err = fmt.Fprintf(a.stdout, "%s in %s are intact; %s damaged and removed\n",
			human.Size(v.Bytes), human.Plural(int64(v.Segments), "file"), human.Count(int64(v.Damaged)))
		return err
	})
	sub("clear", "Remove all that is kept", "Remove all that the cache holds. The folder stays.", func(_ *cobra.Command, c *diskcache.Cache) error {
		return c.Clear()
	})
	return c
}

// cacheReport is the JSON of cache info.
type cacheReport struct {
	Dir string `json:"dir"`
	Max int64  `json:"max_bytes"`
	diskcache.Usage
}

func (a *app) cacheInfo(c *diskcache.Cache) error {
	r := cacheReport{c.Dir(), int64(a.flags.cache.max), c.Usage()}
	if a.flags.json {
		return writeJSON(a.stdout, r)
	}
	t := human.NewTable("", "")
	t.Add("folder", r.Dir)
	t.Add("objects", human.Count(int64(r.Objects)))
	t.Add("size", human.Size(r.Bytes)+" of "+human.Size(r.Max))
	if !r.Oldest.IsZero() {
		t.Add("oldest", r.Oldest.UTC().Format(time.RFC3339))
	}
	return t.Print(a.stdout)
}
