# What the function may do, and nothing more: a test asks the server for everything that
# it answers, and compares its requests with this document.

locals {
  # "*", "?" and "$" of keys are themselves in patterns of IAM.
  reach   = { for name, r in var.roots : name => "${replace(replace(replace(r.prefix, "$", "$${$}"), "*", "$${*}"), "?", "$${?}")}*" }
  buckets = distinct([for r in values(var.roots) : r.bucket])
  below   = { for b in local.buckets : b => distinct([for name, r in var.roots : local.reach[name] if r.bucket == b]) }

  statements = concat([
    {
      Sid      = "ReadDatasets"
      Effect   = "Allow"
      Action   = ["s3:GetObject", "s3:GetObjectVersion"]
      Resource = distinct([for name, r in var.roots : "${local.arn}:s3:::${r.bucket}/${local.reach[name]}"])
    },
    {
      Sid      = "Logs"
      Effect   = "Allow"
      Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
      Resource = ["${aws_cloudwatch_log_group.this.arn}:*"]
    },
    # Besides listings this is how S3 says that an object is absent; without it the
    # answer is 403, which may be anything.
    ], [for i, b in local.buckets : {
      Sid       = "ListDatasets${i}"
      Effect    = "Allow"
      Action    = ["s3:ListBucket"]
      Resource  = ["${local.arn}:s3:::${b}"]
      Condition = contains(local.below[b], "*") ? { StringLikeIfExists = { "s3:prefix" = ["*"] } } : { StringLike = { "s3:prefix" = local.below[b] } }
      }], [for keys in length(var.kms_key_arns) > 0 ? [var.kms_key_arns] : [] : {
      Sid       = "Keys"
      Effect    = "Allow"
      Action    = ["kms:Decrypt"]
      Resource  = keys
      Condition = { StringLike = { "kms:ViaService" = "s3.*.amazonaws.com" } }
      }], [for name in var.token_parameter != null ? [var.token_parameter] : [] : {
      Sid      = "Token"
      Effect   = "Allow"
      Action   = ["ssm:GetParameter"]
      Resource = ["${local.arn}:ssm:${local.region}:${local.account}:parameter/${trimprefix(name, "/")}"]
      }], [for key in var.token_kms_key_arn != null ? [var.token_kms_key_arn] : [] : {
      Sid       = "TokenKey"
      Effect    = "Allow"
      Action    = ["kms:Decrypt"]
      Resource  = [key]
      Condition = { StringEquals = { "kms:ViaService" = "ssm.${local.region}.amazonaws.com" } }
  }])

  policy = jsonencode({ Version = "2012-10-17", Statement = local.statements })
  # How many characters it has at most; a role takes 10240. The log's ARN is not known
  # before it is there, and has up to 200.
  policy_size = 300 + length(jsonencode([for s in local.statements : s if s.Sid != "Logs"]))
}

resource "aws_iam_role" "this" {
  name                 = "${local.function}-${local.region}"
  permissions_boundary = var.permissions_boundary_arn
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "lambda.amazonaws.com" } }]
  })
  tags = var.tags
}

resource "aws_iam_role_policy" "this" {
  name   = "read"
  role   = aws_iam_role.this.name
  policy = local.policy

  lifecycle {
    precondition {
      condition     = local.policy_size <= 10240
      error_message = "The rights of the function have ${local.policy_size} characters; a role takes 10240. Use fewer roots, or shorter prefixes."
    }
  }
}
