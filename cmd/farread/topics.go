package main

import "github.com/spf13/cobra"

// topics are pages of `farread help` that belong to no command.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "uris", Short: "How objects and folders are named", Long: topicURIs},
		{Use: "notes", Short: "How raw bytes become an array", Long: topicNotes},
		{Use: "policies", Short: "How reads are planned", Long: topicPolicies},
		{Use: "exit-codes", Short: "What the exit codes mean", Long: topicExit},
		{Use: "environment", Short: "Variables and files that are read", Long: topicEnvironment},
	}
}

const topicURIs = `A URI names an object, or a prefix or folder:

  s3://bucket/key         an object of S3, or of a store like it (--endpoint-url)
  s3://bucket/prefix/     everything below the prefix
  https://host/path       any server that answers Range requests; read only. Of one that
                          ignores them, what fits into the first answer (64 KiB, of
                          some formats less) is read; more has to be downloaded
  file:///path, path      a local file or folder

A key stands in the URI as it is, without percent signs for spaces; in an https
URL it is encoded as usual.

A gulp chunk is two objects and is named by either: data_0.gulp or meta_0.gmeta,
x.gulp or x.gmeta. A dataset is a folder of data_N.gulp and meta_N.gmeta and is
named by the folder.

A Blosc2 frame or array (.b2frame, .b2nd) is an object, or with --offset N a part of
one that begins at byte N; a sparse one is a folder with chunks.b2frame and a file
for each chunk, and is named by the folder. A bare Blosc chunk is an object, and so is
a Bloscpack file (.blp), which --offset finds inside of another, too. What an object is
its bytes say, and its name only where they do not.

An object is pinned when it is opened: should it be replaced while it is read, the
read starts over once with the new one, and then fails with exit code 5.`

const topicNotes = `A file of plain numbers says nothing of itself. A note beside it does: JSON in
a file of the same name with .json behind it, so that the note of grid.raw is
grid.raw.json:

  {"dtype": "<f4", "shape": [720, 1440], "order": "C", "offset": 0}

  dtype   the type of an item as NumPy spells it: "<f4", ">i2", "|u1", "<M8[ns]",
          "[('a', '<i4'), ('b', '<f8')]"; < is little endian, > big
  shape   the number of items along each axis
  order   "C", where the last axis runs fastest (also when it is left out), or "F",
          where the first one does
  offset  where the items begin, 0 when it is left out

farread pack grid.raw grid.b2nd reads the note, and so does the pack function, which
waits until both are uploaded. farread unpack grid.b2nd grid.raw writes both again.`

const topicPolicies = `Reads ask for many small ranges; the planner turns them into requests. --policy
says what should be small:

  fast   time: ranges up to 32 KiB apart share a request, long ones are split and
         fetched side by side, up to 64 requests at once (default)
  few    the number of requests, which S3 bills: ranges up to 1 MiB apart share one
  lean   bytes: ranges up to 4 KiB apart share a request

While that leaves more than 64 requests, with few more than one, wider gaps are read
over, too: up to 2 MiB (fast), 4 MiB (few) or 64 KiB (lean), as long as the bytes
dropped stay below four times those that are wanted, with lean a quarter of them.

The gap that pays off also depends on the round trip and bandwidth of the store,
which are measured while reading.

farread explain shows the requests of a read before it is made, --stats those of
one that was made: requests sent, bytes of bodies received, phases (the depth of
dependence: requests of one phase are sent side by side), retries, requests
hedged, cache hits, bytes kept on disk by --cache.

A request whose answer takes longer than is usual for the store is made
once more beside it, and the first answer counts; a body that stalls goes on elsewhere.
Such requests are hedged: two at first, then one in 20.`

const topicExit = `  0    done
  2    wrong usage, an index out of bounds, or a time beside all that a track has
  3    not found: object, id, frame, chunk, item, member, track; an item that was never
       written
  4    access denied, or a read-only file system
  5    changed while it was read, or exists already
  6    network, service or disk failed after retries; trying later may help
  7    corrupt, unsupported, aborted, or over a limit
  130  interrupted: no output of get, slice, view or unpack was left behind; where it
       was whole by then, the code is 0

An error is one line on stderr that reads outside-in: the command, the URI, the
place in the file, the cause.

A store that is silent is given up after --timeout (20 s): when it has not brought or
taken 1 KiB for so long, all repetitions together. Bodies that stall again and again
have the same time for all of them. What makes progress is never cut.`

const topicEnvironment = `S3 is reached as the AWS SDK does it:

  AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_S3     another S3 than AWS
  AWS_REGION, AWS_PROFILE                   as --region and --profile
  AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
  AWS_CONFIG_FILE, AWS_SHARED_CREDENTIALS_FILE
                                            ~/.aws/config and ~/.aws/credentials
  AWS_CA_BUNDLE                             CAs to trust, in PEM, where the certificate
                                            of S3 is of a private one

HTTP goes through HTTPS_PROXY, HTTP_PROXY and NO_PROXY. CAs of plain https:// servers
are those of the system, or of SSL_CERT_FILE where the system is neither macOS nor
Windows. farread itself reads

  FARREAD_RULES    the rules of farread worker and backfill: JSON, or the path of a file
  FARREAD_CACHE    as --cache (see: farread cache)`
