package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const rootLong = `Farread reads chunked datasets where they lie (in S3 and stores like it, behind
any HTTP server that answers Range requests, in local files) with few ranged
requests, and packs uploads into such datasets.

Every command takes URIs: s3://bucket/key, https://host/path, a local path.
See: farread help uris, farread help notes, farread help policies,
farread help exit-codes.`

const rootExample = `  farread info s3://frames/clips/sunrise.tar.gulp
  farread get s3://frames/clips/sunrise.tar.gulp --id sunrise --frames 3 -o frame.jpg --stats
  farread get s3://records/day1.jsonl.blp --item 41823 -o -
  farread slice s3://arrays/temperature.b2nd '0:10, 5, ::2' -o part.npy
  farread pack photos.tar photos.gulp`

// newRoot builds the command tree for one run.
func newRoot(a *app) *cobra.Command {
	var showVersion bool
	root := &cobra.Command{
		Use: "farread", Short: "Read chunked datasets from afar; pack uploads into them",
		Long: rootLong, Example: rootExample,
		SilenceUsage: true, SilenceErrors: true, TraverseChildren: false,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			a.remote = cmd.GroupID == "read" || cmd.GroupID == "make"
			a.joins = cmd.Name() == "serve"
			return a.setup()
		},
		Args: cobra.ArbitraryArgs,
		// Suggest a command for a name with one letter missing, doubled or swapped.
		SuggestionsMinimumDistance: 2,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			if showVersion {
				return a.version()
			}
			return cmd.Help()
		},
	}
	root.Flags().BoolVar(&showVersion, "version", false, "which build this is, as farread version")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usagef("%s", err) })
	a.flags.register(root.PersistentFlags())
	root.PersistentFlags().SortFlags = false
	offer(root.PersistentFlags(), "policy", "fast\tleast time", "few\tfewest requests", "lean\tfewest bytes")
	groups := []cobra.Group{{ID: "read", Title: "Read"}, {ID: "make", Title: "Make"}, {ID: "else", Title: "Else"}}
	for i := range groups {
		root.AddGroup(&groups[i])
	}
	add := func(group string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("read", newInfo(a), newLs(a), newGet(a), newSlice(a), newView(a), newAnalyze(a), newExplain(a), newAdvise(a), newVerify(a), newServe(a), newShare(a))
	add("make", newPack(a), newUnpack(a), newCp(a), newIndex(a), newWorker(a), newBackfill(a), newReplayDLQ(a))
	add("else", newDoctor(a), newCache(a), newQuickstart(a), newVersion(a))
	root.AddCommand(topics()...)
	root.SetHelpCommand(newHelp())
	root.AddCommand(newMan())
	root.SetHelpCommandGroupID("else")
	root.SetCompletionCommandGroupID("else")
	return root
}

// newHelp is cobra's help, except that an unknown name is an error.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use: "help [command or topic]", Short: "Help about a command or topic",
		Long: `Help about any command or topic.`, Example: "  farread help get\n  farread help uris",
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var names []cobra.Completion
			if len(args) == 0 {
				for _, sub := range c.Root().Commands() {
					if !sub.Hidden {
						names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			found, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(c.Root(), args[len(args)-max(1, len(rest))])
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

// offered is the annotation of flags by offer.
const offered = "farread_offered"

// offer gives the values that a flag is completed with, each with a tab and what it means, or without.
func offer(flags *pflag.FlagSet, name string, values ...string) {
	_ = flags.SetAnnotation(name, offered, values) // fails for unknown flags only
}

// completes reports whether a shell asks how a command line may go on.
func completes(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// registerOffers tells cobra, for a shell that asks. Cobra keeps what it is told for as long as the
// process lives, and with it each flag and what the command of that flag has read.
func registerOffers(c *cobra.Command) {
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if values := f.Annotations[offered]; values != nil {
			_ = c.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // fails for unknown flags only
		}
	})
	for _, sub := range c.Commands() {
		registerOffers(sub)
	}
}

// mendCompletion adds to cobra's own command an example, and an error for an unknown
// shell, as other commands have them.
func mendCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		c.Example = `  source <(farread completion bash)
  farread completion fish > ~/.config/fish/completions/farread.fish`
		shells := make([]string, 0, len(c.Commands()))
		for _, sub := range c.Commands() {
			shells = append(shells, sub.Name())
		}
		c.Args = cobra.ArbitraryArgs
		c.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return usagef("shell %q: want one of %v", args[0], shells)
		}
	}
}

func unknownCommand(cmd *cobra.Command, name string) error {
	text := fmt.Sprintf("unknown command %q", name)
	if s := cmd.SuggestionsFor(name); len(s) > 0 {
		text += "; did you mean " + strings.Join(s, " or ") + "?"
	}
	return usagef("%s", text)
}

// exactly is cobra.ExactArgs with the names of the arguments.
func exactly(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return errors.New("missing " + strings.Join(names[len(args):], " and "))
		}
		if len(args) > len(names) {
			return fmt.Errorf("unexpected argument %q", args[len(names)])
		}
		return nil
	}
}

func noVerifyFlag(c *cobra.Command, to *bool) {
	c.Flags().BoolVar(to, "no-verify", false, "do not check checksums (of Bloscpack files; no other format has any)")
}

func offsetFlag(c *cobra.Command, off *int64) {
	c.Flags().Int64Var(off, "offset", 0, "the file begins at byte `N` of the object")
}
