resource "aws_cloudwatch_log_group" "this" {
  #checkov:skip=CKV_AWS_158:logs name keys of objects, not what is in them; CloudWatch encrypts them with its own key
  #checkov:skip=CKV_AWS_338:log_retention_days says how long; what became of an upload is in its metadata and under errors/
  for_each          = var.functions
  name              = "/aws/lambda/${var.name}-${each.key}"
  retention_in_days = var.log_retention_days
  tags              = var.tags
}

resource "aws_lambda_function" "this" {
  #checkov:skip=CKV_AWS_50:tracing needs rights that the code never uses; the log has requests, bytes and times of every upload
  #checkov:skip=CKV_AWS_115:reserved concurrency makes SQS messages fail unseen; the event source mapping limits how many run
  #checkov:skip=CKV_AWS_116:the queue has a dead-letter queue; that of a function is for asynchronous calls, of which there are none
  #checkov:skip=CKV_AWS_117:it talks to S3 alone; in a VPC it would need endpoints or a gateway
  #checkov:skip=CKV_AWS_173:the environment holds rules and a log level, no secrets
  #checkov:skip=CKV_AWS_272:signing profiles belong to who builds the zip; the plan pins the zip by its digest
  for_each         = var.functions
  function_name    = "${var.name}-${each.key}"
  description      = "farread: the job ${each.key}"
  role             = aws_iam_role.this[each.key].arn
  filename         = each.value.zip
  source_code_hash = filebase64sha256(each.value.zip)
  package_type     = "Zip"
  runtime          = "provided.al2023"
  handler          = "bootstrap"
  architectures    = [var.architecture]
  memory_size      = each.value.memory_mb
  timeout          = each.value.timeout_s
  environment {
    variables = local.environment[each.key]
  }
  logging_config {
    log_format = "Text" # the functions write JSON themselves, metrics among it
    log_group  = aws_cloudwatch_log_group.this[each.key].name
  }
  tags       = var.tags
  depends_on = [aws_iam_role_policy.this]

  lifecycle {
    precondition {
      condition     = length(local.strangers) == 0
      error_message = "Rules may name this module's buckets alone, ${local.uploads} and ${local.datasets}, not ${join(", ", local.strangers)}."
    }
    precondition {
      condition     = length(local.loops) == 0
      error_message = "Outputs lie under a watched prefix of the same bucket, a loop: ${join(", ", local.loops)}. errors/ is an output, too."
    }
    precondition {
      condition     = length(local.collisions) == 0
      error_message = "Outputs of two rules can get the same key: out.prefix ${join(", ", local.collisions)}."
    }
    precondition {
      condition     = local.environment_bytes[each.key] <= 4096
      error_message = "The rules and the other variables have ${local.environment_bytes[each.key]} bytes; a function's environment takes 4096."
    }
  }
}

resource "aws_lambda_event_source_mapping" "queue" {
  for_each                = var.functions
  event_source_arn        = aws_sqs_queue.work[each.key].arn
  function_name           = aws_lambda_function.this[each.key].function_name
  batch_size              = each.value.batch_size
  function_response_types = ["ReportBatchItemFailures"]
  # Not reserved concurrency: with that, batches are received and then throttled,
  # until they are in the dead-letter queue.
  scaling_config {
    maximum_concurrency = each.value.max_concurrency
  }
  tags = var.tags
}
