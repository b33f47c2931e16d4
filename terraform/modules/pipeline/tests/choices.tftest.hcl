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

run "two_jobs" {
  command = apply
  variables {
    functions = {
      pack = { zip = "./tests/fixtures/fn.zip", timeout_s = 900, max_concurrency = 50 }
      zoom = { zip = "./tests/fixtures/fn.zip", memory_mb = 1024, batch_size = 10, max_heap_mb = 400 }
    }
    rules = [
      { prefix = "clips/", job = "pack", format = "gulp", out = { prefix = "sets/" } },
      { prefix = "sound/", suffix = ".wav", job = "zoom", codec = "pcm-i16", out = { prefix = "zoom/" } },
      { prefix = "a.wa", suffix = ".wav", job = "zoom", out = { prefix = "zoom/" } },
      { suffix = ".csv", job = "zoom", out = { prefix = "zoom/" } },
      { prefix = "odd*$?/_SU", job = "pack", format = "bloscpack", records = "chunks", chunk = 65536, out = { prefix = "sets/" } },
    ]
  }

  assert {
    condition = jsondecode(output.rules)[1] == {
      bucket = output.uploads_bucket, prefix = "sound/", suffix = ".wav", job = "zoom", codec = "pcm-i16", out = { bucket = output.datasets_bucket, prefix = "zoom/" }
    } && jsondecode(output.rules)[4].chunk == 65536 && jsondecode(output.rules)[0].out.prefix == "sets/"
    error_message = "Rules keep their members and their order."
  }
  assert {
    condition     = length(distinct([for f in aws_lambda_function.this : f.environment[0].variables["FARREAD_RULES"]])) == 1
    error_message = "One document serves all functions."
  }
  assert {
    condition     = aws_lambda_function.this["zoom"].memory_size == 1024 && aws_lambda_function.this["zoom"].environment[0].variables["FARREAD_MAX_MEMORY"] == "400"
    error_message = "Each function has its own size."
  }
  assert {
    condition     = aws_sqs_queue.work["pack"].visibility_timeout_seconds == 5400 && aws_sqs_queue.work["zoom"].visibility_timeout_seconds == 1800
    error_message = "Each queue hides messages for six times its function's timeout."
  }
  # A key as short as "a.wav" has both the prefix and the suffix of the second.
  assert {
    condition = jsonencode(jsondecode(aws_cloudwatch_event_rule.uploads["zoom"].event_pattern).detail.object.key) == jsonencode([
      { wildcard = "sound/*.wav" }, { wildcard = "a.wa*.wav" }, "a.wav", { suffix = ".csv" },
    ])
    error_message = "EventBridge sends a function what its rules can match."
  }
  assert {
    condition = jsonencode(jsondecode(aws_cloudwatch_event_rule.uploads["pack"].event_pattern).detail.object.key) == jsonencode([
      { prefix = "clips/" }, { prefix = "odd*$?/_SU" },
    ])
    error_message = "A prefix is no pattern."
  }
  assert {
    condition = { for s in jsondecode(aws_iam_role_policy.this["pack"].policy).Statement : s.Sid => s.Resource if contains(["ReadUploads", "WriteDatasets", "ReportErrors"], s.Sid) } == {
      ReadUploads   = ["arn:aws:s3:::${output.uploads_bucket}/clips/*", "arn:aws:s3:::${output.uploads_bucket}/odd$${*}$${$}$${?}/*"]
      WriteDatasets = ["arn:aws:s3:::${output.datasets_bucket}/sets/clips/*", "arn:aws:s3:::${output.datasets_bucket}/sets/odd$${*}$${$}$${?}/*"]
      ReportErrors  = ["arn:aws:s3:::${output.datasets_bucket}/errors/clips/*", "arn:aws:s3:::${output.datasets_bucket}/errors/odd$${*}$${$}$${?}/_SU*"]
    }
    error_message = "A function reads and writes where its own rules do. Folders that a marker closes are read as a whole."
  }
  assert {
    condition     = length([for s in jsondecode(aws_iam_role_policy.this["zoom"].policy).Statement : s if length([for a in s.Action : a if strcontains(a, "Tagging")]) > 0]) == 0
    error_message = "Only the function pack reads tags."
  }
  assert {
    condition     = length(aws_cloudwatch_metric_alarm.this) == 10 && length(aws_iam_role.this) == 2 && length(aws_lambda_event_source_mapping.queue) == 2
    error_message = "Each function has its own role, alarms and queue."
  }
}

run "one_dataset" {
  command = apply
  variables {
    rules = [{ prefix = "days/", suffix = ".npy", job = "pack", format = "b2nd", append = true, to = "d*.b2nd", out = { prefix = "sets/" } }]
  }

  assert {
    condition     = jsondecode(output.rules)[0].append && jsondecode(output.rules)[0].to == "d*.b2nd"
    error_message = "A rule that appends keeps its members."
  }
  assert {
    condition = { for s in jsondecode(aws_iam_role_policy.this["pack"].policy).Statement : s.Sid => s.Resource if contains(["WriteDatasets", "JoinDatasets"], s.Sid) } == {
      JoinDatasets = ["arn:aws:s3:::${output.datasets_bucket}/sets/d$${*}.b2nd"]
    }
    error_message = "A function whose rules append writes their datasets and nothing else."
  }
}

run "one_series" {
  command = apply
  variables {
    functions = { zoom = { zip = "./tests/fixtures/fn.zip" } }
    rules     = [{ prefix = "minutes/", suffix = ".csv", job = "zoom", append = true, to = "minutes.zoom", out = { prefix = "sets/" } }]
  }

  assert {
    condition = { for s in jsondecode(aws_iam_role_policy.this["zoom"].policy).Statement : s.Sid => s.Resource if contains(["WriteDatasets", "JoinDatasets"], s.Sid) } == {
      JoinDatasets = ["arn:aws:s3:::${output.datasets_bucket}/sets/minutes.zoom"]
    }
    error_message = "A function whose rules append series writes their datasets and nothing else."
  }
}

run "notifications" {
  command = apply
  variables {
    event_source = "sqs"
    rules        = [{ prefix = "clips/", suffix = ".tar", job = "pack" }, { prefix = "clips/", suffix = ".zip", job = "pack" }]
  }

  assert {
    condition = ([for q in one(aws_s3_bucket_notification.uploads).queue : [q.filter_prefix, q.filter_suffix, join(" ", q.events), q.queue_arn == aws_sqs_queue.work["pack"].arn]] ==
    [["clips/", ".tar", "s3:ObjectCreated:*", true], ["clips/", ".zip", "s3:ObjectCreated:*", true]]) && one(aws_s3_bucket_notification.uploads).eventbridge != true
    error_message = "S3 notifies the queue of what the rules can match."
  }
  assert {
    condition     = length(aws_cloudwatch_event_rule.uploads) == 0 && length(aws_cloudwatch_event_target.queue) == 0
    error_message = "EventBridge has no part in it."
  }
  assert {
    condition = keys(aws_sqs_queue_policy.this) == ["work/pack"] && jsondecode(aws_sqs_queue_policy.this["work/pack"].policy).Statement[0].Principal == { Service = "s3.amazonaws.com" } && jsondecode(aws_sqs_queue_policy.this["work/pack"].policy).Statement[0].Condition == {
      ArnEquals = { "aws:SourceArn" = "arn:aws:s3:::${output.uploads_bucket}" }, StringEquals = { "aws:SourceAccount" = "123456789012" }
    }
    error_message = "Only the bucket puts events into the queue."
  }
}

run "buckets_that_are_there" {
  command = apply
  variables {
    create_uploads_bucket  = false
    uploads_bucket         = "their-uploads"
    create_datasets_bucket = false
    datasets_bucket        = "their-datasets"
  }

  assert {
    condition     = length(aws_s3_bucket.this) + length(aws_s3_bucket_policy.this) + length(aws_s3_bucket_lifecycle_configuration.this) + length(aws_s3_bucket_notification.uploads) == 0
    error_message = "Nothing about them is changed."
  }
  assert {
    condition     = output.uploads_bucket == "their-uploads" && jsondecode(output.rules)[0].out.bucket == "their-datasets"
    error_message = "They are used."
  }
}

run "their_notification" {
  command = apply
  variables {
    create_uploads_bucket = false
    uploads_bucket        = "their-uploads"
    manage_notification   = true
  }

  assert {
    condition     = one(aws_s3_bucket_notification.uploads).bucket == "their-uploads" && keys(aws_s3_bucket.this) == ["datasets"]
    error_message = "The notification is written where that is asked for."
  }
}

run "one_bucket" {
  command = apply
  variables {
    uploads_bucket  = "all-in-one"
    datasets_bucket = "all-in-one"
    rules           = [{ prefix = "in/", job = "pack", out = { prefix = "out/" } }]
  }

  assert {
    condition     = keys(aws_s3_bucket.this) == ["uploads"] && jsondecode(output.rules)[0].out.bucket == "all-in-one"
    error_message = "One bucket serves, where no rule watches what rules write."
  }
}

run "all_that_is_optional" {
  command = apply
  variables {
    kms_key_arn        = "arn:aws:kms:eu-west-1:123456789012:key/00000000-0000-0000-0000-000000000000"
    noncurrent_days    = 30
    access_log_bucket  = "logs"
    create_alarm_topic = true
    alarm_topic_arns   = ["arn:aws:sns:eu-west-1:123456789012:pager"]
    labels_from_tags   = false
    log_level          = "debug"
    environment        = { AWS_ENDPOINT_URL = "http://127.0.0.1:4566" }
    architecture       = "x86_64"
    tags               = { team = "video" }
    max_age_s          = 900

    permissions_boundary_arn = "arn:aws:iam::123456789012:policy/fence"
  }

  assert {
    condition = alltrue([for e in aws_s3_bucket_server_side_encryption_configuration.this : one(e.rule).bucket_key_enabled &&
      one(one(e.rule).apply_server_side_encryption_by_default).sse_algorithm == "aws:kms" &&
    one(one(e.rule).apply_server_side_encryption_by_default).kms_master_key_id == var.kms_key_arn])
    error_message = "Buckets use the key."
  }
  assert {
    condition = [for s in jsondecode(aws_iam_role_policy.this["pack"].policy).Statement : s if s.Sid == "Key"] == [{
      Sid       = "Key", Effect = "Allow", Action = ["kms:Decrypt", "kms:GenerateDataKey"], Resource = [var.kms_key_arn]
      Condition = { StringEquals = { "kms:ViaService" = "s3.eu-west-1.amazonaws.com" } }
    }]
    error_message = "The function uses the key, through S3 alone."
  }
  assert {
    condition     = length([for s in jsondecode(aws_iam_role_policy.this["pack"].policy).Statement : s if length([for a in s.Action : a if strcontains(a, "Tagging")]) > 0]) == 0
    error_message = "Tags are not read."
  }
  assert {
    condition     = alltrue([for l in aws_s3_bucket_lifecycle_configuration.this : l.rule[1].status == "Enabled" && l.rule[1].noncurrent_version_expiration[0].noncurrent_days == 30 && l.rule[1].expiration[0].expired_object_delete_marker])
    error_message = "Replaced versions expire."
  }
  assert {
    condition     = alltrue([for l in aws_s3_bucket_logging.this : l.target_bucket == "logs" && l.target_prefix == "${l.bucket}/"]) && length(aws_s3_bucket_logging.this) == 2
    error_message = "Access is logged."
  }
  assert {
    condition     = alltrue([for a in aws_cloudwatch_metric_alarm.this : a.alarm_actions == toset([aws_sns_topic.alarms[0].arn, "arn:aws:sns:eu-west-1:123456789012:pager"]) && a.ok_actions == a.alarm_actions])
    error_message = "Alarms are told to both topics, and that they are over, too."
  }
  assert {
    condition     = aws_cloudwatch_metric_alarm.this["pack-age"].threshold == 900
    error_message = "How long an upload may wait is for the owner to say."
  }
  assert {
    condition     = aws_iam_role.this["pack"].permissions_boundary == "arn:aws:iam::123456789012:policy/fence"
    error_message = "The role stays within its boundary."
  }
  assert {
    condition = alltrue([for tags in concat([for q in aws_sqs_queue.dead : q.tags], [for q in aws_sqs_queue.work : q.tags], [for b in aws_s3_bucket.this : b.tags], [for a in aws_cloudwatch_metric_alarm.this : a.tags],
    [for l in aws_cloudwatch_log_group.this : l.tags], [for r in aws_iam_role.this : r.tags], [for r in aws_cloudwatch_event_rule.uploads : r.tags], [for t in aws_sns_topic.alarms : t.tags]) : tags == tomap({ team = "video" })])
    error_message = "All of it has the tags."
  }
  assert {
    condition = (aws_lambda_function.this["pack"].environment[0].variables["AWS_ENDPOINT_URL"] == "http://127.0.0.1:4566" &&
      aws_lambda_function.this["pack"].environment[0].variables["FARREAD_LOG"] == "debug" && aws_lambda_function.this["pack"].architectures == tolist(["x86_64"]) &&
    aws_lambda_function.this["pack"].tags == tomap({ team = "video" }))
    error_message = "The function gets what is said of it."
  }
}
