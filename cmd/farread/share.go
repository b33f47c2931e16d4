package main

import (
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/farread/farread/gateway"
	"github.com/farread/farread/internal/human"
)

func newShare(*app) *cobra.Command {
	var (
		file string
		last time.Duration
	)
	c := &cobra.Command{
		Use: "share LINK --token-file FILE", DisableFlagsInUseLine: true, Short: "Sign a link to a server of farread serve",
		Long: `Sign a link to a server that farread serve runs with --token-file, so that whoever
has the link needs no token. It is for exactly this path and query, and ends after
--for. Nothing is asked: the signature is made with the token.`,
		Example: `  farread share 'https://host/slice/climate/t.b2nd?s=0&format=png' --token-file token --for 48h`,
		Args:    exactly("LINK"),
		RunE: func(cmd *cobra.Command, args []string) error {
			u, err := url.Parse(args[0])
			if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
				return usagef("%s: want a link to a server, http://… or https://…", human.Printable(args[0]))
			}
			if u.Path == "" || u.Path == "/" {
				return usagef("%s: want a link to an answer, such as https://host/slice/climate/t.b2nd?s=0; the page needs no signature, and what it shows has the token", human.Printable(args[0]))
			}
			if file == "" {
				return usagef("missing --token-file FILE, the token of the server")
			}
			if last <= 0 {
				return usagef("--for %s: want a time to come", last)
			}
			key, err := token(file)
			if err != nil {
				return err
			}
			link, err := gateway.Sign(u, key, time.Now().Add(last))
			if err != nil {
				return usagef("%s: %v", human.Printable(args[0]), err)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), link)
			return err
		},
	}
	c.Flags().StringVar(&file, "token-file", "", "`FILE` with the token of the server")
	c.Flags().DurationVar(&last, "for", 24*time.Hour, "how long the link is good")
	return c
}
