# What a plan says no to: nobody should find it out from uploads that are lost.
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

run "output_where_uploads_are_watched" {
  command = plan
  variables {
    uploads_bucket  = "all-in-one"
    datasets_bucket = "all-in-one"
    rules           = [{ prefix = "in/", job = "pack", out = { prefix = "in/done/" } }]
  }
  expect_failures = [aws_lambda_function.this]
}

run "uploads_below_the_output" {
  command = plan
  variables {
    uploads_bucket  = "all-in-one"
    datasets_bucket = "all-in-one"
    rules           = [{ prefix = "out/in/", job = "pack", out = { prefix = "out/" } }]
  }
  expect_failures = [aws_lambda_function.this]
}

run "errors_where_uploads_are_watched" {
  command = plan
  variables {
    uploads_bucket  = "all-in-one"
    datasets_bucket = "all-in-one"
    rules           = [{ prefix = "err", job = "pack", out = { prefix = "out/" } }]
  }
  expect_failures = [aws_lambda_function.this]
}

run "one_key_for_two_outputs" {
  command = plan
  variables {
    rules = [{ prefix = "a/", job = "pack", out = { prefix = "p/" } }, { job = "pack", out = { prefix = "p/q/" } }]
  }
  expect_failures = [aws_lambda_function.this]
}

run "a_series_in_an_array" {
  command = plan
  variables {
    functions = { zoom = { zip = "./tests/fixtures/fn.zip" } }
    rules     = [{ job = "zoom", append = true, to = "a.b2nd" }]
  }
  expect_failures = [var.rules]
}

run "an_append_to_nothing" {
  command = plan
  variables {
    rules = [{ job = "pack", format = "b2nd", append = true }]
  }
  expect_failures = [var.rules]
}

run "a_dataset_without_append" {
  command = plan
  variables {
    rules = [{ job = "pack", format = "b2nd", to = "a.b2nd" }]
  }
  expect_failures = [var.rules]
}

run "another_bucket" {
  command = plan
  variables {
    rules = [{ bucket = "not-ours", job = "pack" }]
  }
  expect_failures = [aws_lambda_function.this]
}

run "another_target" {
  command = plan
  variables {
    rules = [{ job = "pack", out = { bucket = "not-ours" } }]
  }
  expect_failures = [aws_lambda_function.this]
}

run "more_rules_than_an_environment_takes" {
  command = plan
  variables {
    rules = [for i in range(40) : { suffix = "-of-some-place-${i}.tar", job = "pack" }]
  }
  expect_failures = [aws_lambda_function.this]
}

# S3 notifies of as many places as the environment has room for.
run "more_places_than_a_pattern_takes" {
  command = plan
  variables {
    uploads_bucket  = "ups"
    datasets_bucket = "out"
    rules           = [for i in range(9) : { prefix = "${i}/", suffix = "${join("", [for n in range(50) : "name"])}.tar", job = "pack" }]
  }
  expect_failures = [aws_cloudwatch_event_rule.uploads]
}

run "as_many_places_by_notifications" {
  command = plan
  variables {
    event_source    = "sqs"
    uploads_bucket  = "ups"
    datasets_bucket = "out"
    rules           = [for i in range(9) : { prefix = "${i}/", suffix = "${join("", [for n in range(50) : "name"])}.tar", job = "pack" }]
  }
}

run "more_rights_than_a_role_takes" {
  command = plan
  variables {
    event_source    = "sqs"
    uploads_bucket  = "ups"
    datasets_bucket = "out"
    rules           = [for i in range(6) : { prefix = "${join("", [for n in range(100) : "abcde"])}${i}", job = "pack" }]
  }
  expect_failures = [aws_iam_role_policy.this]
}

run "notifications_that_overlap" {
  command = plan
  variables {
    event_source = "sqs"
    rules        = [{ prefix = "clips/", job = "pack" }, { suffix = ".tar", job = "pack" }]
  }
  expect_failures = [aws_s3_bucket_notification.uploads]
}

run "a_job_without_a_function" {
  command = plan
  variables {
    rules = [{ job = "pack" }, { suffix = ".wav", job = "zoom" }]
  }
  expect_failures = [var.functions]
}

run "a_function_without_a_job" {
  command = plan
  variables {
    rules = [{ job = "zoom" }]
  }
  expect_failures = [var.functions]
}

run "sizes_too_small" {
  command = plan
  variables {
    functions             = { pack = { zip = "./tests/fixtures/fn.zip", memory_mb = 128, max_heap_mb = 16 } }
    log_retention_days    = 2
    abort_incomplete_days = 0
    noncurrent_days       = 14
    max_age_s             = 59
  }
  expect_failures = [var.functions, var.log_retention_days, var.abort_incomplete_days, var.noncurrent_days, var.max_age_s]
}

run "sizes_too_large" {
  command = plan
  variables {
    functions = { pack = { zip = "./tests/fixtures/fn.zip", timeout_s = 901 } }
    max_age_s = 345600
    name      = "a-name-that-leaves-no-room"
  }
  expect_failures = [var.functions, var.max_age_s, var.name]
}

run "heap_without_room" {
  command = plan
  variables {
    functions = { pack = { zip = "./tests/fixtures/fn.zip", memory_mb = 256, max_heap_mb = 201 } }
  }
  expect_failures = [var.functions]
}

run "times_too_short" {
  command = plan
  variables {
    functions = { pack = { zip = "./tests/fixtures/fn.zip", timeout_s = 29 } }
  }
  expect_failures = [var.functions]
}

run "memory_too_large" {
  command = plan
  variables {
    functions = { pack = { zip = "./tests/fixtures/fn.zip", memory_mb = 10241 } }
  }
  expect_failures = [var.functions]
}

run "half_a_megabyte" {
  command = plan
  variables {
    functions       = { pack = { zip = "./tests/fixtures/fn.zip", memory_mb = 512.5 } }
    noncurrent_days = 15.5
  }
  expect_failures = [var.functions, var.noncurrent_days]
}

run "no_uploads_in_a_batch" {
  command = plan
  variables {
    functions = { pack = { zip = "./tests/fixtures/fn.zip", batch_size = 0 } }
  }
  expect_failures = [var.functions]
}

run "too_many_at_a_time" {
  command = plan
  variables {
    functions = { pack = { zip = "./tests/fixtures/fn.zip", max_concurrency = 1001 } }
  }
  expect_failures = [var.functions]
}

run "heap_too_small" {
  command = plan
  variables {
    functions = { pack = { zip = "./tests/fixtures/fn.zip", max_heap_mb = 15 } }
  }
  expect_failures = [var.functions]
}

run "names_that_no_bucket_has" {
  command = plan
  variables {
    uploads_bucket  = "Uploads"
    datasets_bucket = "out_"
  }
  expect_failures = [var.uploads_bucket, var.datasets_bucket]
}

run "batches_too_large" {
  command = plan
  variables {
    functions = { pack = { zip = "./tests/fixtures/fn.zip", batch_size = 11 } }
  }
  expect_failures = [var.functions]
}

run "one_at_a_time" {
  command = plan
  variables {
    functions = { pack = { zip = "./tests/fixtures/fn.zip", max_concurrency = 1 } }
  }
  expect_failures = [var.functions]
}

run "words_that_mean_nothing" {
  command = plan
  variables {
    name         = "Demo"
    architecture = "amd64"
    event_source = "sns"
    log_level    = "trace"
    environment  = { FARREAD_LOG = "info" }
    kms_key_arn  = "alias/mine"
  }
  expect_failures = [var.name, var.architecture, var.event_source, var.log_level, var.environment, var.kms_key_arn]
}

run "rules_that_mean_nothing" {
  command = plan
  variables {
    rules = [{ job = "pack", format = "zip" }]
  }
  expect_failures = [var.rules]
}

run "no_rules" {
  command = plan
  variables {
    rules     = []
    functions = {}
  }
  expect_failures = [var.rules]
}

run "buckets_without_names" {
  command = plan
  variables {
    create_uploads_bucket  = false
    create_datasets_bucket = false
  }
  expect_failures = [var.uploads_bucket, var.datasets_bucket]
}

run "analysis_out_of_bounds" {
  command = plan
  variables {
    analysis = { zip = "./tests/fixtures/fn.zip", max_concurrency = 10001 }
    backfill = { max_concurrency = 0 }
    work     = { prefix = "no/slash" }
  }
  expect_failures = [var.analysis, var.backfill, var.work]
}

run "analysis_that_never_runs" {
  command = plan
  variables {
    analysis = { zip = "./tests/fixtures/fn.zip", reserved_concurrency = 0 }
    work     = { expire_days = 0 }
  }
  expect_failures = [var.analysis, var.work]
}

run "analysis_of_nothing" {
  command = plan
  variables {
    analysis = { zip = "./tests/fixtures/fn.zip", sources = [] }
    work     = { bucket = "No Bucket" }
  }
  expect_failures = [var.analysis, var.work]
}
