package s3store

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/auth"
	smithyendpoints "github.com/aws/smithy-go/endpoints"
)

// endpoints remembers where requests go. The SDK finds that out twice for every request,
// in a function with so large a frame that the stack of the request's goroutine is copied
// for it: half of the SDK's processor time.
type endpoints struct {
	s3.EndpointResolverV2
	mu    sync.Mutex
	known map[place]smithyendpoints.Endpoint
}

// A place has the parameters that decide on an endpoint. Keys and prefixes are among the
// SDK's parameters, too, but no rule of S3 looks at them.
type place struct {
	bucket, region, endpoint                          string
	fips, dual, path, accelerate, global, lambda, arn bool
	noPoints, noMultiRegion, noExpress, control       bool
}

// mostEndpoints is the most endpoints that are remembered. A bucket has one for each
// region that an answer has named, and a few for kinds of requests.
const mostEndpoints = 16

func newEndpoints() *endpoints {
	return &endpoints{EndpointResolverV2: s3.NewDefaultEndpointResolverV2(), known: map[place]smithyendpoints.Endpoint{}}
}

// ResolveEndpoint implements s3.EndpointResolverV2. Errors are not remembered.
func (e *endpoints) ResolveEndpoint(ctx context.Context, p s3.EndpointParameters) (smithyendpoints.Endpoint, error) {
	k := placeOf(&p)
	e.mu.Lock()
	found, ok := e.known[k]
	e.mu.Unlock()
	if ok {
		return own(found), nil
	}
	found, err := e.EndpointResolverV2.ResolveEndpoint(ctx, p)
	if err != nil {
		return found, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.known) >= mostEndpoints {
		clear(e.known)
	}
	e.known[k] = own(found)
	return found, nil
}

// own copies an endpoint: the SDK writes into the ways to sign that an endpoint lists.
func own(e smithyendpoints.Endpoint) smithyendpoints.Endpoint {
	all := e.Properties
	e.Properties, e.Headers = smithy.Properties{}, e.Headers.Clone()
	e.Properties.SetAll(&all)
	if ways, ok := auth.GetAuthOptions(&all); ok {
		copies := make([]*auth.Option, len(ways))
		for i, w := range ways {
			copies[i] = &auth.Option{SchemeID: w.SchemeID}
			copies[i].IdentityProperties.SetAll(&w.IdentityProperties)
			copies[i].SignerProperties.SetAll(&w.SignerProperties)
		}
		auth.SetAuthOptions(&e.Properties, copies)
	}
	return e
}

func placeOf(p *s3.EndpointParameters) place {
	return place{
		bucket: aws.ToString(p.Bucket), region: aws.ToString(p.Region), endpoint: aws.ToString(p.Endpoint),
		fips: aws.ToBool(p.UseFIPS), dual: aws.ToBool(p.UseDualStack), path: aws.ToBool(p.ForcePathStyle),
		accelerate: aws.ToBool(p.Accelerate), global: aws.ToBool(p.UseGlobalEndpoint), lambda: aws.ToBool(p.UseObjectLambdaEndpoint),
		arn: aws.ToBool(p.UseArnRegion), noPoints: aws.ToBool(p.DisableAccessPoints), noMultiRegion: aws.ToBool(p.DisableMultiRegionAccessPoints),
		noExpress: aws.ToBool(p.DisableS3ExpressSessionAuth), control: aws.ToBool(p.UseS3ExpressControlEndpoint),
	}
}
