package sdkhttp

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/logging"
)

// LoadOptions are what a client says itself of the SDK's configuration.
type LoadOptions struct {
	Region      string                  // "": that of the environment or the profile
	Profile     string                  // of the shared files; "": that of the environment
	Credentials aws.CredentialsProvider // nil: those of the environment, the shared files, or a role
	Log         logging.Logger          // nil: none
}

// A LoadError says which part of the configuration is wrong.
type LoadError struct {
	Part string // the name of a variable, or "aws configuration"
	Err  error
}

// Error implements error.
func (e *LoadError) Error() string { return e.Part + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *LoadError) Unwrap() error { return e.Err }

// CABundle is the variable that names additional CAs for the SDK.
const CABundle = "AWS_CA_BUNDLE"

const allOfIt = "aws configuration"
