package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/farread/farread/cmd/farread/internal/doctor"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/internal/human"
)

func newDoctor(a *app) *cobra.Command {
	var readOnly bool
	c := &cobra.Command{
		Use: "doctor s3://BUCKET/FOLDER/ | OBJECT", DisableFlagsInUseLine: true, Short: "Try out whether a store does what farread needs",
		Long: `Try out on a store what farread needs of it, and say what works, what does not, and
what that means: ranges, conditional reads and writes, uploads in parts, copies of parts
by the store, lists, deletes, clock, latency, and behind https the certificate: who has
issued it, and for how many days it is good. Eight writers at once try to make the
same object, several times: exactly one may win.

It writes some twenty objects, two of them of 14 and 12 MiB, into a folder of its own
in FOLDER, sends some 40 MiB, and removes all, also after an interrupt. With
--read-only, and of a URL of plain HTTP, OBJECT is an object that is there, of which a
few bytes are read.

The exit code is 0 if nothing is bad, also with warnings, and 7 if something is. If
nothing can be tried it says why: no bucket 3, denied 4, no answer 6.`,
		Example: `  farread doctor s3://datasets/
  farread doctor s3://datasets/scratch/ --json
  farread doctor s3://arrays/temperature.b2nd --read-only`,
		Args: exactly("s3://BUCKET/FOLDER/ or OBJECT"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.doctor(cmd.Context(), args[0], readOnly) },
	}
	c.Flags().BoolVar(&readOnly, "read-only", false, "write nothing: OBJECT is there")
	return c
}

// errUnfit is the error for a store that farread does not work with.
var errUnfit = fmt.Errorf("the store does not do what farread needs: %w", formats.ErrUnsupported)

func (a *app) doctor(ctx context.Context, uri string, readOnly bool) error {
	scheme, _, _ := strings.Cut(uri, "://")
	o := doctor.Options{ReadOnly: readOnly, Roots: "AWS_CA_BUNDLE"}
	switch scheme {
	case "s3":
	case "http", "https":
		o.ReadOnly, o.Roots = true, "SSL_CERT_FILE"
	default:
		return usagef("%s: want s3://BUCKET/FOLDER/, or the URL of an object", human.Printable(uri))
	}
	place, err := a.client.Place(ctx, uri)
	if err != nil {
		return err
	}
	o.Bucket, o.Key = place.Bucket, place.Key
	switch isFolder := o.Key == "" || strings.HasSuffix(o.Key, "/"); {
	case o.ReadOnly && isFolder:
		return usagef("%s: to read only, name an object that is there", human.Printable(uri))
	case !o.ReadOnly && !isFolder:
		return usagef("%s: want a folder, s3://BUCKET/FOLDER/, or --read-only for an object that is there", human.Printable(uri))
	}
	if !a.flags.json {
		o.Tell = func(f doctor.Finding) { a.finding(&f) }
	}
	report, err := doctor.Run(ctx, o)
	if err != nil {
		return at(uri, err)
	}
	if a.flags.json {
		if err := writeJSON(a.stdout, report); err != nil {
			return err
		}
	} else if _, err := fmt.Fprintln(a.stdout, checked(&report)); err != nil {
		return err
	}
	if report.Count(doctor.Bad) > 0 {
		return at(uri, errUnfit)
	}
	return nil
}

// finding prints what a check has found.
func (a *app) finding(f *doctor.Finding) {
	fmt.Fprintf(a.stdout, "%-8s %-32s %s\n", f.Level, f.Check, human.Printable(f.Seen))
	if f.Means != "" {
		fmt.Fprintf(a.stdout, "%-8s %-32s   → %s\n", "", "", human.Printable(f.Means))
	}
}

// checked is the last line.
func checked(r *doctor.Report) string {
	n := func(l doctor.Level) int64 { return int64(r.Count(l)) }
	text := fmt.Sprintf("%d of %s work", n(doctor.OK)+n(doctor.Note), human.Plural(int64(len(r.Findings)), "check"))
	for _, l := range []doctor.Level{doctor.Warning, doctor.Bad, doctor.Skipped} {
		if k := n(l); k > 0 {
			text += fmt.Sprintf(", %d %s", k, l)
			if l == doctor.Warning && k > 1 {
				text += "s"
			}
		}
	}
	return text
}
