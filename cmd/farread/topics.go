package main

import "github.com/spf13/cobra"

// topics are pages of `farread help` that belong to no command.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "uris", Short: "How objects and folders are named", Long: topicURIs},
		{Use: "policies", Short: "How reads are planned", Long: topicPolicies},
		{Use: "exit-codes", Short: "What the exit codes mean", Long: topicExit},
		{Use: "environment", Short: "Variables and files that are read", Long: topicEnvironment},
	}
}

const topicURIs = `A URI names an object, or a prefix or folder:

  s3://bucket/key         an object of S3, or of a store like it (--endpoint-url)
  s3://bucket/prefix/     everything below the prefix
  https://host/path       any server that answers Range requests; read only
  file:///path, path      a local file or folder

A key stands in the URI as it is, without percent signs for spaces; in an https
URL it is encoded as usual.

A gulp chunk is two objects and is named by either: data_0.gulp or meta_0.gmeta,
x.gulp or x.gmeta. A dataset is a folder of data_N.gulp and meta_N.gmeta and is
named by the folder.

An object is pinned when it is opened: should it be replaced while it is read, the
read starts over once with the new one, and then fails with exit code 5.`

const topicPolicies = `Reads ask for many small ranges; the planner turns them into requests. --policy
says what should be small:

  fast   time: ranges up to 32 KiB apart share a request, long ones are split and
         fetched side by side, up to 64 requests at once (default)
  few    the number of requests, which S3 bills: gaps up to 1 MiB are read over
  lean   bytes: gaps of more than 4 KiB are not read over

The gap that pays off also depends on the round trip and bandwidth of the store,
which are measured while reading.

farread explain shows the requests of a read before it is made, --stats those of
one that was made: requests sent, bytes of bodies received, phases (the depth of
dependence: requests of one phase are sent side by side), retries, cache hits.`

const topicExit = `  0    done
  2    wrong usage, or an index out of bounds
  3    not found: object, id, frame
  4    access denied, or a read-only file system
  5    changed while it was read, or exists already
  6    network, service or disk failed after retries; trying later may help
  7    corrupt, unsupported, or over a limit
  130  interrupted

An error is one line on stderr that reads outside-in: the command, the URI, the
place in the file, the cause.`

const topicEnvironment = `S3 is reached as the AWS SDK does it:

  AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_S3     another S3 than AWS
  AWS_REGION, AWS_PROFILE                   as --region and --profile
  AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
  AWS_CONFIG_FILE, AWS_SHARED_CREDENTIALS_FILE
                                            ~/.aws/config and ~/.aws/credentials

HTTP goes through HTTPS_PROXY, HTTP_PROXY and NO_PROXY. farread itself reads

  FARREAD_RULES    the rules of farread worker: JSON, or the path of a file`
