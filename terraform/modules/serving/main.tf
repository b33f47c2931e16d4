# The function, its URL, and who may call it.

data "aws_partition" "current" {}
data "aws_caller_identity" "current" {}
data "aws_region" "current" {}

locals {
  account  = data.aws_caller_identity.current.account_id
  region   = data.aws_region.current.region
  arn      = "arn:${data.aws_partition.current.partition}"
  function = "${var.name}-serve"
  open     = contains(["token", "public"], var.access)

  environment = merge(var.environment, {
    FARREAD_ROOTS        = jsonencode({ for name, r in var.roots : name => "s3://${r.bucket}/${r.prefix}" })
    FARREAD_TTL          = "${var.ttl_s}s"
    FARREAD_MAX_RESPONSE = tostring(var.max_response_mb)
    FARREAD_RAW          = { redirect = "5", all = "all", off = "off" }[var.raw]
    FARREAD_LOG          = var.log_level
    }, length(var.cors) > 0 ? { FARREAD_CORS = join(",", var.cors) } : {},
  var.token_parameter != null ? { FARREAD_TOKEN_PARAMETER = coalesce(var.token_parameter, "none") } : {})

  # How many bytes the function's environment has: Lambda takes 4096.
  environment_bytes = sum([for k, v in local.environment : length(k) + floor(length(base64encode(v)) * 3 / 4)])
}

resource "aws_cloudwatch_log_group" "this" {
  #checkov:skip=CKV_AWS_158:the log names keys of objects, not what is in them; CloudWatch encrypts it with its own key
  #checkov:skip=CKV_AWS_338:log_retention_days says how long
  name              = "/aws/lambda/${local.function}"
  retention_in_days = var.log_retention_days
  tags              = var.tags
}

resource "aws_lambda_function" "this" {
  #checkov:skip=CKV_AWS_50:tracing needs rights that the code never uses; the log has requests, bytes and times of every answer
  #checkov:skip=CKV_AWS_115:concurrency sets it; only -1 leaves it to the account
  #checkov:skip=CKV_AWS_116:a dead-letter queue is for asynchronous calls, of which there are none
  #checkov:skip=CKV_AWS_117:it talks to S3 and Systems Manager alone; in a VPC it would need endpoints or a gateway
  #checkov:skip=CKV_AWS_173:the environment holds names of places, and of the parameter with the token, no secrets
  #checkov:skip=CKV_AWS_272:signing profiles belong to who builds the zip; the plan pins the zip by its digest
  function_name                  = local.function
  description                    = "farread: datasets over HTTP"
  role                           = aws_iam_role.this.arn
  filename                       = var.zip
  source_code_hash               = filebase64sha256(var.zip)
  package_type                   = "Zip"
  runtime                        = "provided.al2023"
  handler                        = "bootstrap"
  architectures                  = [var.architecture]
  memory_size                    = var.memory_mb
  timeout                        = var.timeout_s
  reserved_concurrent_executions = var.concurrency
  environment {
    variables = local.environment
  }
  logging_config {
    log_format = "Text" # the function writes JSON itself
    log_group  = aws_cloudwatch_log_group.this.name
  }
  tags       = var.tags
  depends_on = [aws_iam_role_policy.this]

  lifecycle {
    precondition {
      condition     = local.environment_bytes <= 4096
      error_message = "The roots and the other variables have ${local.environment_bytes} bytes; a function's environment takes 4096."
    }
  }
}

# No CORS here: the function answers preflights itself, as behind every other front.
resource "aws_lambda_function_url" "this" {
  #checkov:skip=CKV_AWS_258:access says who may call it; with "token" and "public" the function decides, without IAM
  function_name      = aws_lambda_function.this.function_name
  authorization_type = local.open ? "NONE" : "AWS_IAM"
  invoke_mode        = "RESPONSE_STREAM"
}

# A URL takes two rights: to call it, and to run the function by way of it. With "iam"
# the callers' own policies give them.
locals {
  callers = {
    token      = { principal = "*", source = null }
    public     = { principal = "*", source = null }
    cloudfront = { principal = "cloudfront.amazonaws.com", source = one(aws_cloudfront_distribution.this[*].arn) }
  }
}

resource "aws_lambda_permission" "url" {
  #checkov:skip=CKV_AWS_301:"token" and "public" are for callers without IAM
  count                  = var.access == "iam" ? 0 : 1
  statement_id           = "CallURL"
  action                 = "lambda:InvokeFunctionUrl"
  function_name          = aws_lambda_function.this.function_name
  function_url_auth_type = aws_lambda_function_url.this.authorization_type
  principal              = local.callers[var.access].principal
  source_arn             = local.callers[var.access].source
}

resource "aws_lambda_permission" "function" {
  #checkov:skip=CKV_AWS_301:only by way of the URL; "token" and "public" are for callers without IAM
  count                    = var.access == "iam" ? 0 : 1
  statement_id             = "RunByURL"
  action                   = "lambda:InvokeFunction"
  function_name            = aws_lambda_function.this.function_name
  invoked_via_function_url = true
  principal                = local.callers[var.access].principal
  source_arn               = local.callers[var.access].source
}
