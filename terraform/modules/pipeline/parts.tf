# Functions that do parts of plans for a state machine, and bring them to an end: those of
# analyses, and those of packs, which write datasets.

locals {
  escaped_reads = { for key, list in { analysis = try(var.analysis.sources, null), packs = try(var.packs.sources, null) } : key =>
  [for s in coalesce(list, []) : { bucket = s.bucket, prefix = replace(replace(replace(s.prefix, "$", "$${$}"), "*", "$${*}"), "?", "$${?}") }] }
  escaped_outputs = [for s in try(coalesce(var.packs.outputs, []), []) : { bucket = s.bucket, prefix = replace(replace(replace(s.prefix, "$", "$${$}"), "*", "$${*}"), "?", "$${?}") }]

  # Without a word buckets of this module.
  parts_reads = {
    analysis = length(local.escaped_reads.analysis) > 0 ? local.escaped_reads.analysis : [{ bucket = local.datasets, prefix = "" }]
    packs    = length(local.escaped_reads.packs) > 0 ? local.escaped_reads.packs : [{ bucket = local.uploads, prefix = "" }]
  }
  packs_writes = length(local.escaped_outputs) > 0 ? local.escaped_outputs : [{ bucket = local.datasets, prefix = "" }]

  parts_functions = merge(
    var.analysis == null ? {} : { analysis = { name = "${var.name}-${local.parts_suffix.analysis}", about = "parts of an analysis", is = {
      zip = var.analysis.zip, memory_mb = var.analysis.memory_mb, timeout_s = var.analysis.timeout_s, reserved_concurrency = var.analysis.reserved_concurrency
    } } },
    var.packs == null ? {} : { packs = { name = "${var.name}-${local.parts_suffix.packs}", about = "parts of large packs", is = {
      zip = var.packs.zip, memory_mb = var.packs.memory_mb, timeout_s = var.packs.timeout_s, reserved_concurrency = var.packs.reserved_concurrency
    } } },
  )

  parts_statements = { for key, f in local.parts_functions : key => concat(
    [{
      Sid      = "ReadSources"
      Effect   = "Allow"
      Action   = ["s3:GetObject", "s3:GetObjectVersion"]
      Resource = [for s in local.parts_reads[key] : "${local.arn}:s3:::${s.bucket}/${s.prefix}*"]
    }],
    # This is how S3 says that an object is absent.
    [for i, s in local.parts_reads[key] : {
      Sid       = "ListSources${i}"
      Effect    = "Allow"
      Action    = ["s3:ListBucket"]
      Resource  = ["${local.arn}:s3:::${s.bucket}"]
      Condition = { StringLike = { "s3:prefix" = ["${s.prefix}*"] } }
    }],
    [for s in key == "packs" ? ["outputs"] : [] : {
      Sid      = "WriteOutputs"
      Effect   = "Allow"
      Action   = ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"]
      Resource = [for s in local.packs_writes : "${local.arn}:s3:::${s.bucket}/${s.prefix}*"]
    }],
    [for i, s in key == "packs" ? local.packs_writes : [] : {
      Sid       = "ListOutputs${i}"
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
    }],
    [for s in key == "packs" ? ["chunks"] : [] : {
      Sid      = "Staged"
      Effect   = "Allow"
      Action   = ["s3:DeleteObject"]
      Resource = ["${local.work_arn}/${local.work_prefix}*/chunks/*"]
    }],
    [{
      Sid       = "ListWork"
      Effect    = "Allow"
      Action    = ["s3:ListBucket"]
      Resource  = [local.work_arn]
      Condition = { StringLike = { "s3:prefix" = ["${local.work_prefix}*"] } }
      }, {
      Sid      = "Logs"
      Effect   = "Allow"
      Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
      Resource = ["${local.arn}:logs:${local.region}:${local.account}:log-group:/aws/lambda/${f.name}:*"]
    }],
    local.key_statement,
  ) }
  parts_policies = { for key, s in local.parts_statements : key => jsonencode({ Version = "2012-10-17", Statement = s }) }

  # How much memory they may take the functions hear of Lambda.
  parts_environment = merge(var.environment, { FARREAD_LOG = var.log_level })
}

resource "aws_cloudwatch_log_group" "parts" {
  #checkov:skip=CKV_AWS_158:logs name keys of objects, not what is in them; CloudWatch encrypts them with its own key
  #checkov:skip=CKV_AWS_338:log_retention_days says how long; what became of a plan is in the work bucket
  for_each          = local.parts_functions
  name              = "/aws/lambda/${each.value.name}"
  retention_in_days = var.log_retention_days
  tags              = var.tags
}

resource "aws_iam_role" "parts" {
  for_each             = local.parts_functions
  name                 = "${each.value.name}-${local.region}"
  permissions_boundary = var.permissions_boundary_arn
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "lambda.amazonaws.com" } }]
  })
  tags = var.tags
}

resource "aws_iam_role_policy" "parts" {
  for_each = local.parts_functions
  name     = "worker"
  role     = aws_iam_role.parts[each.key].name
  policy   = local.parts_policies[each.key]
}

resource "aws_lambda_function" "parts" {
  #checkov:skip=CKV_AWS_50:tracing needs rights that the code never uses; the log has the parts and times of every call
  #checkov:skip=CKV_AWS_115:reserved_concurrency turns it on; the state machine limits how many run
  #checkov:skip=CKV_AWS_116:a dead-letter queue is for asynchronous calls, of which there are none
  #checkov:skip=CKV_AWS_117:it talks to S3 alone; in a VPC it would need endpoints or a gateway
  #checkov:skip=CKV_AWS_173:the environment holds a log level, no secrets
  #checkov:skip=CKV_AWS_272:signing profiles belong to who builds the zip; the plan pins the zip by its digest
  for_each                       = local.parts_functions
  function_name                  = each.value.name
  description                    = "farread: ${each.value.about}"
  role                           = aws_iam_role.parts[each.key].arn
  filename                       = each.value.is.zip
  source_code_hash               = filebase64sha256(each.value.is.zip)
  package_type                   = "Zip"
  runtime                        = "provided.al2023"
  handler                        = "bootstrap"
  architectures                  = [var.architecture]
  memory_size                    = each.value.is.memory_mb
  timeout                        = each.value.is.timeout_s
  reserved_concurrent_executions = coalesce(each.value.is.reserved_concurrency, -1)
  environment {
    variables = local.parts_environment
  }
  logging_config {
    log_format = "Text" # the functions write JSON themselves
    log_group  = aws_cloudwatch_log_group.parts[each.key].name
  }
  tags       = var.tags
  depends_on = [aws_iam_role_policy.parts]
}
