"""Buckets and wiring, once LocalStack is ready: S3 to EventBridge to a queue for each
function to the function, and a queue of dead letters. The archives are those of
`make zip`; without them there are only buckets and queues."""

import json
import pathlib
import platform

import boto3

UPLOADS, DATASETS = "uploads", "datasets"
DIST = pathlib.Path("/opt/farread/dist")
ARCHITECTURES = {"x86_64": ("amd64", "x86_64"), "aarch64": ("arm64", "arm64"), "arm64": ("arm64", "arm64")}
# What becomes a zoom-cache file; everything else is packed.
SERIES = [".wav", ".csv"]
TIMEOUT = 120


def client(service):
    return boto3.client(
        service,
        endpoint_url="http://127.0.0.1:4566",
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )


s3, sqs, events, functions = client("s3"), client("sqs"), client("events"), client("lambda")


def queue(name, **attributes):
    url = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    return sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]


def buckets():
    for name in (UPLOADS, DATASETS):
        s3.create_bucket(Bucket=name)
        s3.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    s3.put_bucket_notification_configuration(
        Bucket=UPLOADS, NotificationConfiguration={"EventBridgeConfiguration": {}}
    )


def pipeline(function, key_pattern, rules, dead):
    redrive = json.dumps({"deadLetterTargetArn": dead, "maxReceiveCount": 5})
    feed = queue(function, RedrivePolicy=redrive, VisibilityTimeout=str(6 * TIMEOUT))
    pattern = {
        "source": ["aws.s3"],
        "detail-type": ["Object Created"],
        "detail": {"bucket": {"name": [UPLOADS]}, "object": {"key": key_pattern}},
    }
    events.put_rule(Name=function, EventPattern=json.dumps(pattern))
    events.put_targets(Rule=function, Targets=[{"Id": "1", "Arn": feed}])
    go, aws = ARCHITECTURES[platform.machine()]
    archive = DIST / f"{function}-{go}.zip"
    if not archive.exists():
        print(f"{archive} is not there (make zip): uploads wait in the queue {function}")
        return
    functions.create_function(
        FunctionName=function,
        Runtime="provided.al2023",
        Handler="bootstrap",
        Architectures=[aws],
        Role="arn:aws:iam::000000000000:role/farread",
        Code={"ZipFile": archive.read_bytes()},
        MemorySize=512,
        Timeout=TIMEOUT,
        Environment={"Variables": {"FARREAD_RULES": json.dumps(rules)}},
    )
    functions.get_waiter("function_active_v2").wait(FunctionName=function)
    functions.create_event_source_mapping(
        FunctionName=function,
        EventSourceArn=feed,
        BatchSize=10,
        FunctionResponseTypes=["ReportBatchItemFailures"],
    )
    print(f"{function}: s3://{UPLOADS} to s3://{DATASETS}")


def rule(job, **more):
    return {"bucket": UPLOADS, "job": job, "out": {"bucket": DATASETS}} | more


def main():
    buckets()
    dead = queue("dead-letters")
    pipeline("fn-zoom", [{"suffix": s} for s in SERIES], [rule("zoom", suffix=s) for s in SERIES], dead)
    pipeline("fn-pack", [{"anything-but": {"suffix": SERIES}}], [rule("pack")], dead)


main()
