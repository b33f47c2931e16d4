package s3store

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/auth"
)

// Each parameter that the rules of S3 look at has to be a part of place. A parameter that
// is new in the SDK fails this test.
func TestEndpointOfEachParameter(t *testing.T) {
	without := map[string]bool{"Key": true, "Prefix": true, "CopySource": true}
	none := placeOf(&s3.EndpointParameters{})
	typ := reflect.TypeFor[s3.EndpointParameters]()
	for i := range typ.NumField() {
		f := typ.Field(i)
		var p s3.EndpointParameters
		switch v := reflect.ValueOf(&p).Elem().Field(i); v.Interface().(type) {
		case *string:
			v.Set(reflect.ValueOf(aws.String("x")))
		case *bool:
			v.Set(reflect.ValueOf(aws.Bool(true)))
		default:
			t.Errorf("%s is of type %s", f.Name, f.Type)
		}
		if same := placeOf(&p) == none; same != without[f.Name] {
			t.Errorf("%s makes another place: %v", f.Name, !same)
		}
	}
}

// A remembered endpoint is the SDK's own, for every key.
func TestEndpointsAreTheSDKs(t *testing.T) {
	own, e := s3.NewDefaultEndpointResolverV2(), newEndpoints()
	for _, bucket := range []string{"datasets", "a.b", "Upper_case", "datasets--use1-az4--x-s3", "arn:aws:s3:us-west-2:123456789012:accesspoint:mine", "arn:nonsense"} {
		for _, region := range []string{"us-east-1", "cn-north-1"} {
			for _, endpoint := range []*string{nil, aws.String("http://127.0.0.1:9000"), aws.String("https://store.example/base")} {
				for _, path := range []bool{false, true} {
					for _, key := range []string{"a", "a b/%41", "s3://x", "arn:aws:s3:::x"} {
						p := s3.EndpointParameters{Bucket: &bucket, Region: &region, Endpoint: endpoint, ForcePathStyle: &path, Key: &key, Prefix: &key, CopySource: &key}.WithDefaults()
						want, wantErr := own.ResolveEndpoint(context.Background(), p)
						got, err := e.ResolveEndpoint(context.Background(), p)
						if !reflect.DeepEqual(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
							t.Fatalf("bucket %s in %s, path %v, key %q: %v, %v; want %v, %v", bucket, region, path, key, got, err, want, wantErr)
						}
						if ways, ok := auth.GetAuthOptions(&got.Properties); ok { // the SDK writes into them, too
							ways[0].SchemeID = "another"
							ways[0].SignerProperties.Set("another", true)
						}
					}
				}
			}
		}
	}
	if len(e.known) > mostEndpoints {
		t.Errorf("%d endpoints are remembered", len(e.known))
	}
}
