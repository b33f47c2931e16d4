mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = { account_id = "123456789012" }
  }
  mock_data "aws_partition" {
    defaults = { partition = "aws-cn" }
  }
  mock_data "aws_region" {
    defaults = { region = "cn-north-1" }
  }
  # ARNs that the provider's own checks accept.
  mock_resource "aws_s3_bucket" {
    defaults = { arn = "arn:aws:s3:::mock" }
  }
  mock_resource "aws_sqs_queue" {
    defaults = { arn = "arn:aws:sqs:eu-west-1:123456789012:mock", id = "https://sqs.eu-west-1.amazonaws.com/123456789012/mock" }
  }
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::123456789012:role/mock" }
  }
  mock_resource "aws_lambda_function" {
    defaults = { arn = "arn:aws:lambda:eu-west-1:123456789012:function:mock" }
  }
  mock_resource "aws_cloudwatch_event_rule" {
    defaults = { arn = "arn:aws:events:eu-west-1:123456789012:rule/mock" }
  }
  mock_resource "aws_cloudwatch_log_group" {
    defaults = { arn = "arn:aws:logs:eu-west-1:123456789012:log-group:mock" }
  }
  mock_resource "aws_sfn_state_machine" {
    defaults = { arn = "arn:aws:states:eu-west-1:123456789012:stateMachine:mock" }
  }
}

variables {
  name      = "demo"
  functions = { pack = { zip = "./tests/fixtures/fn.zip" } }
}

run "none" {
  command = apply

  assert {
    condition = (length(aws_sfn_state_machine.this) + length(aws_lambda_function.parts) + length(aws_iam_role.machine) == 0 &&
      keys(aws_s3_bucket.this) == ["datasets", "uploads"] &&
    output.analysis_state_machine_arn == null && output.backfill_state_machine_arn == null && output.work_uri == null)
    error_message = "Nothing of it is made unasked."
  }
}

run "both" {
  command = apply
  variables {
    analysis = { zip = "./tests/fixtures/fn.zip", max_concurrency = 7 }
    backfill = {}
    tags     = { team = "video" }
  }

  assert {
    condition = (jsondecode(aws_sfn_state_machine.this["analysis"].definition).States.Map.MaxConcurrency == 7 &&
    jsondecode(aws_sfn_state_machine.this["backfill"].definition).States.Map.MaxConcurrency == 10)
    error_message = "Each machine has its bound."
  }
  assert {
    condition = alltrue([for m in aws_sfn_state_machine.this : m.type == "STANDARD" && m.tags == tomap({ team = "video" }) && !strcontains(m.definition, "arn:aws:") &&
    jsondecode(m.definition).States.Map.ItemReader.Resource == "arn:aws-cn:states:::s3:getObject"])
    error_message = "Definitions are of this partition."
  }
  assert {
    condition = { for s in jsondecode(aws_iam_role_policy.machine["analysis"].policy).Statement : s.Sid => s.Resource } == {
      Invoke     = ["arn:aws-cn:lambda:cn-north-1:123456789012:function:demo-analyze"]
      Children   = ["arn:aws-cn:states:cn-north-1:123456789012:stateMachine:demo-analysis"]
      Executions = ["arn:aws-cn:states:cn-north-1:123456789012:execution:demo-analysis:*", "arn:aws-cn:states:cn-north-1:123456789012:execution:demo-analysis/*"]
      List       = ["arn:aws-cn:s3:::demo-work-123456789012-cn-north-1/*"]
    }
    error_message = "The machine of analyses calls its function, and nothing else."
  }
  assert {
    condition = { for s in jsondecode(aws_iam_role_policy.machine["backfill"].policy).Statement : s.Sid => s.Resource if contains(["Invoke", "Children", "Results"], s.Sid) } == {
      Invoke   = ["arn:aws-cn:lambda:cn-north-1:123456789012:function:demo-pack"]
      Children = ["arn:aws-cn:states:cn-north-1:123456789012:stateMachine:demo-backfill"]
      Results  = ["arn:aws-cn:s3:::demo-work-123456789012-cn-north-1/backfill/*"]
    }
    error_message = "The machine of backfills calls the functions of uploads, and writes what became of each."
  }
  assert {
    condition = alltrue([for r in aws_iam_role.machine : jsondecode(r.assume_role_policy).Statement[0].Condition == {
      StringEquals = { "aws:SourceAccount" = "123456789012" }, ArnLike = { "aws:SourceArn" = "arn:aws-cn:states:cn-north-1:123456789012:stateMachine:*" }
    }])
    error_message = "Only machines of this account take the role."
  }
  assert {
    condition = { for s in jsondecode(aws_iam_role_policy.parts["analysis"].policy).Statement : s.Sid => s.Resource } == {
      ReadSources  = ["arn:aws-cn:s3:::demo-datasets-123456789012-cn-north-1/*"]
      ListSources0 = ["arn:aws-cn:s3:::demo-datasets-123456789012-cn-north-1"]
      Work         = ["arn:aws-cn:s3:::demo-work-123456789012-cn-north-1/*"]
      ListWork     = ["arn:aws-cn:s3:::demo-work-123456789012-cn-north-1"]
      Logs         = ["arn:aws-cn:logs:cn-north-1:123456789012:log-group:/aws/lambda/demo-analyze:*"]
    }
    error_message = "The function reads datasets, and writes its work."
  }
  assert {
    condition = (aws_lambda_function.parts["analysis"].reserved_concurrent_executions == -1 && aws_lambda_function.parts["analysis"].memory_size == 1769 &&
      aws_lambda_function.parts["analysis"].environment[0].variables == tomap({ FARREAD_LOG = "info" }) &&
    aws_cloudwatch_log_group.parts["analysis"].name == "/aws/lambda/${aws_lambda_function.parts["analysis"].function_name}")
    error_message = "The function has a whole processor, and a log of its own."
  }
  assert {
    condition = (aws_s3_bucket.this["work"].bucket == "demo-work-123456789012-cn-north-1" && !contains(keys(aws_s3_bucket_versioning.this), "work") &&
      one([for r in aws_s3_bucket_lifecycle_configuration.this["work"].rule : r.expiration[0].days if r.id == "expire-work"]) == 7 &&
      length([for r in aws_s3_bucket_lifecycle_configuration.this["datasets"].rule : r if r.id == "expire-work"]) == 0 &&
    aws_s3_bucket_public_access_block.this["work"].restrict_public_buckets)
    error_message = "What lies in the work bucket goes after a week, and in no other."
  }
  assert {
    condition = alltrue([for key in ["analysis", "backfill"] : aws_cloudwatch_metric_alarm.this["${key}-failed"].metric_name == "ExecutionsFailed" &&
    aws_cloudwatch_metric_alarm.this["${key}-failed"].dimensions == tomap({ StateMachineArn = "arn:aws-cn:states:cn-north-1:123456789012:stateMachine:demo-${key}" })])
    error_message = "An execution that fails is an alarm."
  }
  assert {
    condition     = output.analysis_state_machine_arn == aws_sfn_state_machine.this["analysis"].arn && output.backfill_state_machine_arn != null && output.work_uri == "s3://demo-work-123456789012-cn-north-1/"
    error_message = "What the command's flags are to be."
  }
}

run "given" {
  command = apply
  variables {
    analysis = {
      zip     = "./tests/fixtures/fn.zip", memory_mb = 3000, timeout_s = 60, reserved_concurrency = 20
      sources = [{ bucket = "theirs", prefix = "a*/" }, { bucket = "others" }]
    }
    work        = { bucket = "shared", prefix = "far?/" }
    kms_key_arn = "arn:aws:kms:eu-west-1:123456789012:key/00000000-0000-0000-0000-000000000000"

    permissions_boundary_arn = "arn:aws:iam::123456789012:policy/fence"
  }

  assert {
    condition     = keys(aws_s3_bucket.this) == ["datasets", "uploads"] && output.work_uri == "s3://shared/far?/" && keys(aws_sfn_state_machine.this) == ["analysis"]
    error_message = "A bucket that is given is used as it is."
  }
  assert {
    condition = { for s in jsondecode(aws_iam_role_policy.parts["analysis"].policy).Statement : s.Sid => s.Resource if !contains(["Logs", "Key"], s.Sid) } == {
      ReadSources  = ["arn:aws-cn:s3:::theirs/a$${*}/*", "arn:aws-cn:s3:::others/*"]
      ListSources0 = ["arn:aws-cn:s3:::theirs"]
      ListSources1 = ["arn:aws-cn:s3:::others"]
      Work         = ["arn:aws-cn:s3:::shared/far$${?}/*"]
      ListWork     = ["arn:aws-cn:s3:::shared"]
    }
    error_message = "The function reads what is named, and no more."
  }
  assert {
    condition = alltrue([for p in [aws_iam_role_policy.parts["analysis"].policy, aws_iam_role_policy.machine["analysis"].policy] :
    one([for s in jsondecode(p).Statement : s.Condition if s.Sid == "Key"]) == { StringEquals = { "kms:ViaService" = "s3.cn-north-1.amazonaws.com" } }])
    error_message = "Both use the key, through S3 alone."
  }
  assert {
    condition = (aws_lambda_function.parts["analysis"].reserved_concurrent_executions == 20 && aws_lambda_function.parts["analysis"].timeout == 60 &&
    aws_iam_role.parts["analysis"].permissions_boundary == "arn:aws:iam::123456789012:policy/fence" && aws_iam_role.machine["analysis"].permissions_boundary == "arn:aws:iam::123456789012:policy/fence")
    error_message = "The function is as it was asked for."
  }
}
