# The function that makes the parts of an analysis, and merges them.

locals {
  analysis_sources = [for s in try(coalesce(var.analysis.sources, []), []) : { bucket = s.bucket, prefix = replace(replace(replace(s.prefix, "$", "$${$}"), "*", "$${*}"), "?", "$${?}") }]
  # Without a word the datasets of this module.
  analysis_reads = length(local.analysis_sources) > 0 ? local.analysis_sources : [{ bucket = local.datasets, prefix = "" }]

  analysis_statements = concat(
    [{
      Sid      = "ReadSources"
      Effect   = "Allow"
      Action   = ["s3:GetObject", "s3:GetObjectVersion"]
      Resource = [for s in local.analysis_reads : "${local.arn}:s3:::${s.bucket}/${s.prefix}*"]
    }],
    # This is how S3 says that an object is absent.
    [for i, s in local.analysis_reads : {
      Sid       = "ListSources${i}"
      Effect    = "Allow"
      Action    = ["s3:ListBucket"]
      Resource  = ["${local.arn}:s3:::${s.bucket}"]
      Condition = { StringLike = { "s3:prefix" = ["${s.prefix}*"] } }
    }],
    [{
      Sid      = "Work"
      Effect   = "Allow"
      Action   = ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"]
      Resource = ["${local.work_arn}/${local.work_prefix}*"]
      }, {
      Sid       = "ListWork"
      Effect    = "Allow"
      Action    = ["s3:ListBucket"]
      Resource  = [local.work_arn]
      Condition = { StringLike = { "s3:prefix" = ["${local.work_prefix}*"] } }
      }, {
      Sid      = "Logs"
      Effect   = "Allow"
      Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
      Resource = ["${local.arn}:logs:${local.region}:${local.account}:log-group:/aws/lambda/${var.name}-analyze:*"]
    }],
    local.key_statement,
  )
  analysis_policy = jsonencode({ Version = "2012-10-17", Statement = local.analysis_statements })

  # How much memory it may take the function hears of Lambda.
  analysis_environment = merge(var.environment, { FARREAD_LOG = var.log_level })
}

resource "aws_cloudwatch_log_group" "analysis" {
  #checkov:skip=CKV_AWS_158:logs name keys of objects, not what is in them; CloudWatch encrypts them with its own key
  #checkov:skip=CKV_AWS_338:log_retention_days says how long; what became of an analysis is in the work bucket
  for_each          = local.analyzes
  name              = "/aws/lambda/${var.name}-analyze"
  retention_in_days = var.log_retention_days
  tags              = var.tags
}

resource "aws_iam_role" "analysis" {
  for_each             = local.analyzes
  name                 = "${var.name}-analyze-${local.region}"
  permissions_boundary = var.permissions_boundary_arn
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "lambda.amazonaws.com" } }]
  })
  tags = var.tags
}

resource "aws_iam_role_policy" "analysis" {
  for_each = local.analyzes
  name     = "worker"
  role     = aws_iam_role.analysis[each.key].name
  policy   = local.analysis_policy
}

resource "aws_lambda_function" "analysis" {
  #checkov:skip=CKV_AWS_50:tracing needs rights that the code never uses; the log has the parts and times of every call
  #checkov:skip=CKV_AWS_115:reserved_concurrency turns it on; the state machine limits how many run
  #checkov:skip=CKV_AWS_116:a dead-letter queue is for asynchronous calls, of which there are none
  #checkov:skip=CKV_AWS_117:it talks to S3 alone; in a VPC it would need endpoints or a gateway
  #checkov:skip=CKV_AWS_173:the environment holds a log level, no secrets
  #checkov:skip=CKV_AWS_272:signing profiles belong to who builds the zip; the plan pins the zip by its digest
  for_each                       = local.analyzes
  function_name                  = "${var.name}-analyze"
  description                    = "farread: parts of an analysis"
  role                           = aws_iam_role.analysis[each.key].arn
  filename                       = var.analysis.zip
  source_code_hash               = filebase64sha256(var.analysis.zip)
  package_type                   = "Zip"
  runtime                        = "provided.al2023"
  handler                        = "bootstrap"
  architectures                  = [var.architecture]
  memory_size                    = var.analysis.memory_mb
  timeout                        = var.analysis.timeout_s
  reserved_concurrent_executions = coalesce(var.analysis.reserved_concurrency, -1)
  environment {
    variables = local.analysis_environment
  }
  logging_config {
    log_format = "Text" # the function writes JSON itself
    log_group  = aws_cloudwatch_log_group.analysis[each.key].name
  }
  tags       = var.tags
  depends_on = [aws_iam_role_policy.analysis]
}
