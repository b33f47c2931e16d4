# Needs neither credentials nor AWS: what the provider would answer is made up.
# Names are compared by .bucket and .name, since ids are made up, too.
mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = { account_id = "123456789012" }
  }
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }
  mock_data "aws_region" {
    defaults = { region = "eu-west-1" }
  }
  # ARNs that the provider's own checks accept.
  mock_resource "aws_s3_bucket" {
    defaults = { arn = "arn:aws:s3:::mock" }
  }
  mock_resource "aws_sqs_queue" {
    defaults = { arn = "arn:aws:sqs:eu-west-1:123456789012:mock", id = "https://sqs.eu-west-1.amazonaws.com/123456789012/mock" }
  }
  mock_resource "aws_sns_topic" {
    defaults = { arn = "arn:aws:sns:eu-west-1:123456789012:mock" }
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
}

variables {
  name      = "demo"
  functions = { pack = { zip = "./tests/fixtures/fn.zip" } }
}

run "buckets" {
  command = apply

  assert {
    condition = ({ for part, b in aws_s3_bucket.this : part => b.bucket } ==
    { uploads = "demo-uploads-123456789012-eu-west-1", datasets = "demo-datasets-123456789012-eu-west-1" })
    error_message = "Two buckets, whose names are nobody else's."
  }
  assert {
    condition     = alltrue([for b in aws_s3_bucket.this : !b.force_destroy])
    error_message = "Data are not deleted with the module."
  }
  assert {
    condition     = length(aws_s3_bucket_ownership_controls.this) == 2 && alltrue([for o in aws_s3_bucket_ownership_controls.this : one(o.rule).object_ownership == "BucketOwnerEnforced"])
    error_message = "Whoever uploads: the owner of the bucket owns it, and no list of grants counts."
  }
  assert {
    condition     = length(aws_s3_bucket_versioning.this) == 2 && alltrue([for v in aws_s3_bucket_versioning.this : v.versioning_configuration[0].status == "Enabled"])
    error_message = "Both buckets keep versions."
  }
  assert {
    condition = length(aws_s3_bucket_server_side_encryption_configuration.this) == 2 && alltrue([
      for e in aws_s3_bucket_server_side_encryption_configuration.this : one(one(e.rule).apply_server_side_encryption_by_default).sse_algorithm == "AES256"
    ])
    error_message = "Both buckets are encrypted."
  }
  assert {
    condition = length(aws_s3_bucket_public_access_block.this) == 2 && alltrue([
      for b in aws_s3_bucket_public_access_block.this : b.block_public_acls && b.block_public_policy && b.ignore_public_acls && b.restrict_public_buckets
    ])
    error_message = "Neither bucket can become public."
  }
  assert {
    condition = alltrue([for part, p in aws_s3_bucket_policy.this : p.bucket == aws_s3_bucket.this[part].bucket && jsondecode(p.policy).Statement == [{
      Sid       = "DenyPlainHTTP", Effect = "Deny", Principal = "*", Action = "s3:*"
      Resource  = ["arn:aws:s3:::${p.bucket}", "arn:aws:s3:::${p.bucket}/*"]
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
    }]]) && length(aws_s3_bucket_policy.this) == 2
    error_message = "Both buckets refuse what is not TLS."
  }
  assert {
    condition = length(aws_s3_bucket_lifecycle_configuration.this) == 2 && alltrue([for l in aws_s3_bucket_lifecycle_configuration.this :
      [for r in l.rule : r.status] == ["Enabled", "Disabled"] && one(l.rule[0].abort_incomplete_multipart_upload).days_after_initiation == 1
    ])
    error_message = "Unfinished uploads are removed, and nothing else is."
  }
}

run "events" {
  command = apply

  assert {
    condition = (one(aws_s3_bucket_notification.uploads).eventbridge && length(one(aws_s3_bucket_notification.uploads).queue) == 0 &&
    one(aws_s3_bucket_notification.uploads).bucket == aws_s3_bucket.this["uploads"].bucket)
    error_message = "Uploads go to EventBridge."
  }
  assert {
    condition = jsondecode(aws_cloudwatch_event_rule.uploads["pack"].event_pattern) == {
      source = ["aws.s3"], detail-type = ["Object Created"], detail = { bucket = { name = ["demo-uploads-123456789012-eu-west-1"] } }
    }
    error_message = "The rule takes every new object of the bucket, and looks at no size."
  }
  assert {
    condition = (aws_cloudwatch_event_target.queue["pack"].arn == aws_sqs_queue.work["pack"].arn &&
    one(aws_cloudwatch_event_target.queue["pack"].dead_letter_config).arn == aws_sqs_queue.dead["pack"].arn)
    error_message = "Events go to the queue, and what cannot be delivered beside what failed."
  }
  assert {
    condition     = aws_sqs_queue.work["pack"].visibility_timeout_seconds >= 6 * aws_lambda_function.this["pack"].timeout
    error_message = "Messages stay hidden for six times the function's timeout."
  }
  assert {
    condition = jsondecode(aws_sqs_queue.work["pack"].redrive_policy) == {
      maxReceiveCount = 5, deadLetterTargetArn = aws_sqs_queue.dead["pack"].arn
    }
    error_message = "Five tries, then the dead-letter queue."
  }
  assert {
    condition     = aws_sqs_queue.dead["pack"].message_retention_seconds == 14 * 24 * 3600 && aws_sqs_queue.dead["pack"].sqs_managed_sse_enabled
    error_message = "Failed events are kept for 14 days, encrypted."
  }
  assert {
    condition     = aws_sqs_queue.work["pack"].message_retention_seconds == 4 * 24 * 3600 && aws_sqs_queue.work["pack"].sqs_managed_sse_enabled
    error_message = "Events wait for up to four days, encrypted."
  }
  assert {
    condition = jsondecode(aws_sqs_queue_redrive_allow_policy.dead["pack"].redrive_allow_policy) == {
      redrivePermission = "byQueue", sourceQueueArns = [aws_sqs_queue.work["pack"].arn]
    }
    error_message = "No other queue may use this one for its failures."
  }
  assert {
    condition = keys(aws_sqs_queue_policy.this) == ["dead/pack", "work/pack"] && alltrue([for p in aws_sqs_queue_policy.this :
      [for s in jsondecode(p.policy).Statement : [s.Sid, s.Effect, s.Action]] == [["Events", "Allow", "sqs:SendMessage"], ["DenyPlainHTTP", "Deny", "sqs:*"]] &&
      jsondecode(p.policy).Statement[0].Principal == { Service = "events.amazonaws.com" } &&
      jsondecode(p.policy).Statement[0].Condition == { ArnEquals = { "aws:SourceArn" = aws_cloudwatch_event_rule.uploads["pack"].arn } } &&
      jsondecode(p.policy).Statement[1].Principal == "*" && jsondecode(p.policy).Statement[1].Condition == { Bool = { "aws:SecureTransport" = "false" } }
    ])
    error_message = "Only the rule puts events into the queues, and nobody without TLS."
  }
  assert {
    condition = (aws_lambda_event_source_mapping.queue["pack"].function_response_types == toset(["ReportBatchItemFailures"]) &&
      one(aws_lambda_event_source_mapping.queue["pack"].scaling_config).maximum_concurrency == 10 &&
    aws_lambda_event_source_mapping.queue["pack"].batch_size == 1)
    error_message = "The queue drives the function: message by message, at most ten at once."
  }
}

run "worker" {
  command = apply

  assert {
    condition = { for k, a in aws_cloudwatch_metric_alarm.this : k => [a.namespace, a.metric_name, a.statistic, one(values(a.dimensions))] } == {
      pack-dead      = ["AWS/SQS", "ApproximateNumberOfMessagesVisible", "Maximum", "demo-pack-dead"]
      pack-age       = ["AWS/SQS", "ApproximateAgeOfOldestMessage", "Maximum", "demo-pack"]
      pack-errors    = ["AWS/Lambda", "Errors", "Sum", "demo-pack"]
      pack-failed    = ["farread", "Failed", "Sum", "demo-pack"]
      pack-throttles = ["AWS/Lambda", "Throttles", "Sum", "demo-pack"]
    }
    error_message = "Alarms look at metrics that AWS and the functions send."
  }
  assert {
    condition = ({ for k, a in aws_cloudwatch_metric_alarm.this : k => one(keys(a.dimensions)) } ==
    { pack-dead = "QueueName", pack-age = "QueueName", pack-errors = "FunctionName", pack-failed = "function", pack-throttles = "FunctionName" })
    error_message = "Metrics are told apart by the dimensions that they have."
  }
  assert {
    condition = { for k, a in aws_cloudwatch_metric_alarm.this : k => a.threshold } == {
      pack-dead = 0, pack-age = 3600, pack-errors = 0, pack-failed = 0, pack-throttles = 0
    }
    error_message = "One is too many, and an hour too long."
  }
  assert {
    condition = alltrue([for a in aws_cloudwatch_metric_alarm.this : a.comparison_operator == "GreaterThanThreshold" && a.period == 300 &&
    a.evaluation_periods == 1 && a.treat_missing_data == "notBreaching"])
    error_message = "An alarm comes within five minutes, and not from silence."
  }
  assert {
    condition = (aws_lambda_function.this["pack"].runtime == "provided.al2023" && aws_lambda_function.this["pack"].handler == "bootstrap" &&
      aws_lambda_function.this["pack"].architectures == tolist(["arm64"]) && aws_lambda_function.this["pack"].memory_size == 512 &&
    aws_lambda_function.this["pack"].source_code_hash == filebase64sha256("./tests/fixtures/fn.zip"))
    error_message = "A static arm64 program, replaced when the zip is another."
  }
  assert {
    condition     = aws_lambda_function.this["pack"].environment[0].variables["FARREAD_RULES"] == output.rules
    error_message = "The function has the rules."
  }
  assert {
    condition = (jsonencode(jsondecode(output.rules)) ==
    jsonencode([{ bucket = "demo-uploads-123456789012-eu-west-1", job = "pack", out = { bucket = "demo-datasets-123456789012-eu-west-1" } }]))
    error_message = "The rules are a document as the workers read it."
  }
  assert {
    condition     = aws_cloudwatch_log_group.this["pack"].retention_in_days == 30 && one(aws_lambda_function.this["pack"].logging_config).log_group == aws_cloudwatch_log_group.this["pack"].name
    error_message = "Logs go to a group that forgets."
  }
  assert {
    condition     = alltrue(flatten([for s in jsondecode(aws_iam_role_policy.this["pack"].policy).Statement : [for a in s.Action : !strcontains(a, "*")]]))
    error_message = "No action is a pattern."
  }
  assert {
    condition = { for s in jsondecode(aws_iam_role_policy.this["pack"].policy).Statement : s.Sid => [s.Effect, s.Action, s.Resource] if contains(["Queue", "Logs"], s.Sid) } == {
      Queue = ["Allow", ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"], [aws_sqs_queue.work["pack"].arn]]
      Logs  = ["Allow", ["logs:CreateLogStream", "logs:PutLogEvents"], ["${aws_cloudwatch_log_group.this["pack"].arn}:*"]]
    }
    error_message = "What Lambda does in the function's name is what its mapping and its log need."
  }
  assert {
    condition = jsondecode(aws_iam_role.this["pack"].assume_role_policy).Statement == [{
      Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "lambda.amazonaws.com" }
    }] && aws_iam_role.this["pack"].permissions_boundary == null && aws_iam_role_policy.this["pack"].role == aws_iam_role.this["pack"].name
    error_message = "Lambda alone takes the role."
  }
  assert {
    condition     = aws_lambda_function.this["pack"].timeout == 300 && one(aws_lambda_function.this["pack"].logging_config).log_format == "Text"
    error_message = "Five minutes, and lines of the log as the function writes them: metrics are among them."
  }
  assert {
    condition = aws_lambda_function.this["pack"].environment[0].variables == tomap({
      FARREAD_RULES = output.rules, FARREAD_LOG = "info", FARREAD_MAX_MEMORY = "200"
    })
    error_message = "Nothing else is in the environment."
  }
  assert {
    condition = output.functions == { pack = {
      name = "demo-pack", arn = aws_lambda_function.this["pack"].arn, role = aws_iam_role.this["pack"].arn, log_group = "/aws/lambda/demo-pack"
    } }
    error_message = "Who uses the module finds the function."
  }
  assert {
    condition     = output.queues["pack"].url == aws_sqs_queue.work["pack"].url && output.queues["pack"].dead_url == aws_sqs_queue.dead["pack"].url && keys(output.queues["pack"]) == ["arn", "dead_arn", "dead_url", "url"]
    error_message = "Who replays dead letters finds their queue."
  }
  assert {
    condition     = toset(output.alarms) == toset(["demo-pack-age", "demo-pack-dead", "demo-pack-errors", "demo-pack-failed", "demo-pack-throttles"])
    error_message = "Who watches finds the alarms."
  }
  assert {
    condition     = alltrue(flatten([for s in jsondecode(aws_iam_role_policy.this["pack"].policy).Statement : [for r in s.Resource : r != "*"]]))
    error_message = "No statement is about everything."
  }
  assert {
    condition = alltrue([for s in jsondecode(aws_iam_role_policy.this["pack"].policy).Statement :
    s.Action != ["s3:ListBucket"] || can(s.Condition.StringLike["s3:prefix"]) || can(s.Condition.StringLikeIfExists["s3:prefix"])])
    error_message = "Listings are bound to a prefix."
  }
  assert {
    condition     = keys(aws_cloudwatch_metric_alarm.this) == ["pack-age", "pack-dead", "pack-errors", "pack-failed", "pack-throttles"]
    error_message = "Five alarms."
  }
  assert {
    condition     = alltrue([for a in aws_cloudwatch_metric_alarm.this : length(a.alarm_actions) == 0]) && output.alarm_topic_arn == null
    error_message = "Nobody is told unless asked for."
  }
}
