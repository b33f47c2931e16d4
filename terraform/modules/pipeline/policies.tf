# What a function may do, and nothing more: a test runs every kind of job and
# compares the requests with these documents.

locals {
  # "*", "?" and "$" of keys are themselves in patterns of IAM.
  places = [for i, r in local.rules : {
    job    = r.job
    joins  = r.append
    source = replace(replace(replace(local.reach[i], "$", "$${$}"), "*", "$${*}"), "?", "$${?}")
    target = replace(replace(replace("${r.out.prefix}${r.append ? r.to : local.reach[i]}", "$", "$${$}"), "*", "$${*}"), "?", "$${?}")
    error  = replace(replace(replace("errors/${r.prefix}", "$", "$${$}"), "*", "$${*}"), "?", "$${?}")
  }]
  sources = { for job, f in var.functions : job => distinct([for p in local.places : "${p.source}*" if p.job == job]) }
  targets = { for job, f in var.functions : job => distinct([for p in local.places : "${p.target}*" if p.job == job && !p.joins]) }
  joined  = { for job, f in var.functions : job => distinct([for p in local.places : p.target if p.job == job && p.joins]) }
  errors  = { for job, f in var.functions : job => distinct([for p in local.places : "${p.error}*" if p.job == job]) }

  # Rules for one kind of output have nothing to delete but members of a .npz.
  retires = { for job, f in var.functions : job => anytrue([for r in local.rules : contains(["", "b2nd"], r.format) && !r.append if r.job == job && job == "pack"]) }

  statements = { for job, f in var.functions : job => concat(
    [{
      Sid      = "ReadUploads"
      Effect   = "Allow"
      Action   = concat(["s3:GetObject", "s3:GetObjectVersion"], job == "pack" && var.labels_from_tags ? ["s3:GetObjectTagging", "s3:GetObjectVersionTagging"] : [])
      Resource = [for p in local.sources[job] : "${local.bucket_arns.uploads}/${p}"]
    }],
    # Parts are listed to see that an aborted upload left none. Where content says
    # what an upload becomes, the output of an older version may be of another kind, and
    # is deleted; so are members that a .npz no longer has.
    [for targets in [local.targets[job]] : {
      Sid      = "WriteDatasets"
      Effect   = "Allow"
      Action   = concat(["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"], local.retires[job] ? ["s3:DeleteObject"] : [])
      Resource = [for p in targets : "${local.bucket_arns.datasets}/${p}"]
    } if length(targets) > 0],
    # A dataset that grows is read by its version, and copied from there.
    [for joined in [local.joined[job]] : {
      Sid      = "JoinDatasets"
      Effect   = "Allow"
      Action   = ["s3:GetObject", "s3:GetObjectVersion", "s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"]
      Resource = [for p in joined : "${local.bucket_arns.datasets}/${p}"]
    } if length(joined) > 0],
    [{
      Sid      = "ReportErrors"
      Effect   = "Allow"
      Action   = ["s3:PutObject"]
      Resource = [for p in local.errors[job] : "${local.bucket_arns.datasets}/${p}"]
      },
      # Besides folders of uploads this is how S3 says that an object is absent;
      # without it the answer is 403, which may be anything.
      {
        Sid       = "ListUploads"
        Effect    = "Allow"
        Action    = ["s3:ListBucket"]
        Resource  = [local.bucket_arns.uploads]
        Condition = contains(local.sources[job], "*") ? { StringLikeIfExists = { "s3:prefix" = local.sources[job] } } : { StringLike = { "s3:prefix" = local.sources[job] } }
      },
      {
        Sid       = "ListDatasets"
        Effect    = "Allow"
        Action    = ["s3:ListBucket"]
        Resource  = [local.bucket_arns.datasets]
        Condition = { StringLike = { "s3:prefix" = concat(local.targets[job], local.joined[job]) } }
      },
      {
        Sid      = "Queue"
        Effect   = "Allow"
        Action   = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"]
        Resource = [aws_sqs_queue.work[job].arn]
      },
      {
        Sid      = "Logs"
        Effect   = "Allow"
        Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
        Resource = ["${aws_cloudwatch_log_group.this[job].arn}:*"]
      },
      ], [for key in var.kms_key_arn == null ? [] : [var.kms_key_arn] : {
        Sid       = "Key" # parts of an upload are read again with it
        Effect    = "Allow"
        Action    = ["kms:Decrypt", "kms:GenerateDataKey"]
        Resource  = [key]
        Condition = { StringEquals = { "kms:ViaService" = "s3.${local.region}.amazonaws.com" } }
  }]) }

  # How many characters a policy has at most; the rest is about ARNs that a plan does
  # not know yet, and has up to 800. A role takes 10240.
  policy_size = { for job, s in local.statements : job => 800 + length(jsonencode([
    for one in s : one if contains(["ReadUploads", "WriteDatasets", "JoinDatasets", "ReportErrors", "ListUploads", "ListDatasets"], one.Sid)
  ])) }

  policies = { for job, s in local.statements : job => jsonencode({ Version = "2012-10-17", Statement = s }) }
}

resource "aws_iam_role" "this" {
  for_each             = var.functions
  name                 = "${var.name}-${each.key}-${local.region}"
  permissions_boundary = var.permissions_boundary_arn
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "lambda.amazonaws.com" } }]
  })
  tags = var.tags
}

resource "aws_iam_role_policy" "this" {
  for_each = var.functions
  name     = "worker"
  role     = aws_iam_role.this[each.key].name
  policy   = local.policies[each.key]

  lifecycle {
    precondition {
      condition     = local.policy_size[each.key] <= 10240
      error_message = "The rights of the function ${each.key} have ${local.policy_size[each.key]} characters; a role takes 10240. Use fewer rules, or shorter prefixes."
    }
  }
}
