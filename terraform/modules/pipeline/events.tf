# Uploads -> (EventBridge ->) a queue for each function, and a dead-letter queue
# behind each.

resource "aws_sqs_queue" "dead" {
  for_each                  = var.functions
  name                      = "${var.name}-${each.key}-dead"
  message_retention_seconds = 1209600 # 14 days, the most there is
  sqs_managed_sse_enabled   = true
  tags                      = var.tags
}

resource "aws_sqs_queue" "work" {
  for_each                   = var.functions
  name                       = "${var.name}-${each.key}"
  visibility_timeout_seconds = 6 * each.value.timeout_s # AWS: at least that, so that throttled batches do not count as received
  message_retention_seconds  = 345600
  sqs_managed_sse_enabled    = true
  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.dead[each.key].arn
    maxReceiveCount     = 5
  })
  tags = var.tags
}

resource "aws_sqs_queue_redrive_allow_policy" "dead" {
  for_each  = var.functions
  queue_url = aws_sqs_queue.dead[each.key].id
  redrive_allow_policy = jsonencode({
    redrivePermission = "byQueue"
    sourceQueueArns   = [aws_sqs_queue.work[each.key].arn]
  })
}

locals {
  eventbridge = var.event_source == "eventbridge"

  # Who may put events into a function's queue: its rule, or the bucket.
  senders = { for job, f in var.functions : job => local.eventbridge ? {
    Principal = { Service = "events.amazonaws.com" }
    Condition = { ArnEquals = { "aws:SourceArn" = aws_cloudwatch_event_rule.uploads[job].arn } }
    } : {
    Principal = { Service = "s3.amazonaws.com" }
    Condition = { ArnEquals = { "aws:SourceArn" = local.bucket_arns.uploads }, StringEquals = { "aws:SourceAccount" = local.account } }
  } }

  queue_policies = { for q in concat(
    [for job, f in var.functions : { key = "work/${job}", job = job, url = aws_sqs_queue.work[job].id, arn = aws_sqs_queue.work[job].arn }],
    # What EventBridge cannot deliver it puts beside what workers could not do.
    [for job, f in var.functions : { key = "dead/${job}", job = job, url = aws_sqs_queue.dead[job].id, arn = aws_sqs_queue.dead[job].arn } if local.eventbridge],
  ) : q.key => q }
  queue_keys = toset(concat([for job in keys(var.functions) : "work/${job}"], local.eventbridge ? [for job in keys(var.functions) : "dead/${job}"] : []))

  # Keys as EventBridge matches them, for each rule of a function; "*" in names is
  # no wildcard. A prefix and a suffix may share letters of a short key.
  patterns = { for job, f in var.functions : job => flatten([for r in local.rules :
    concat(
      [for p in [r.prefix] : { prefix = p } if r.suffix == ""],
      [for s in [r.suffix] : { suffix = s } if s != "" && r.prefix == ""],
      [for p in [r.prefix] : { wildcard = "${local.literal[p]}*${local.literal[r.suffix]}" } if p != "" && r.suffix != ""],
      [for n in range(1, min(length(r.prefix), length(r.suffix)) + 1) : "${r.prefix}${substr(r.suffix, n, -1)}" if endswith(r.prefix, substr(r.suffix, 0, n))],
    ) if r.job == job
  ]) }
  literal    = { for s in toset(flatten([for r in local.rules : [r.prefix, r.suffix]])) : s => replace(replace(s, "\\", "\\\\"), "*", "\\*") }
  everything = { for job, f in var.functions : job => anytrue([for r in local.rules : r.job == job && r.prefix == "" && r.suffix == ""]) }

  # What EventBridge lets through to a function. It takes 2048 characters.
  event_patterns = { for job, f in var.functions : job => jsonencode({
    source        = ["aws.s3"]
    "detail-type" = ["Object Created"]
    detail = merge(
      { bucket = { name = [local.uploads] } },
      local.everything[job] ? {} : { object = { key = local.patterns[job] } },
    )
  }) }
}

resource "aws_sqs_queue_policy" "this" {
  for_each  = local.queue_keys
  queue_url = local.queue_policies[each.key].url
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [merge(local.senders[local.queue_policies[each.key].job], {
      Sid      = "Events"
      Effect   = "Allow"
      Action   = "sqs:SendMessage"
      Resource = local.queue_policies[each.key].arn
      }), {
      Sid       = "DenyPlainHTTP"
      Effect    = "Deny"
      Principal = "*"
      Action    = "sqs:*"
      Resource  = local.queue_policies[each.key].arn
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
    }]
  })
}

# Rules do not look at sizes: matching of numbers ends at 5.0e9, and the worker
# knows what it can do.
resource "aws_cloudwatch_event_rule" "uploads" {
  for_each      = local.eventbridge ? var.functions : {}
  name          = "${var.name}-${each.key}"
  description   = "Uploads for the function ${var.name}-${each.key}"
  event_pattern = local.event_patterns[each.key]
  tags          = var.tags

  lifecycle {
    precondition {
      condition     = length(local.event_patterns[each.key]) <= 2048
      error_message = "The prefixes and suffixes of the job ${each.key} make a pattern of ${length(local.event_patterns[each.key])} characters; EventBridge takes 2048. Let one rule match more of the uploads, or use event_source = \"sqs\"."
    }
  }
}

resource "aws_cloudwatch_event_target" "queue" {
  for_each = local.eventbridge ? var.functions : {}
  rule     = aws_cloudwatch_event_rule.uploads[each.key].name
  arn      = aws_sqs_queue.work[each.key].arn
  dead_letter_config {
    arn = aws_sqs_queue.dead[each.key].arn
  }
}

resource "aws_s3_bucket_notification" "uploads" {
  count       = coalesce(var.manage_notification, var.create_uploads_bucket) ? 1 : 0
  bucket      = local.uploads
  eventbridge = local.eventbridge
  dynamic "queue" {
    for_each = local.eventbridge ? [] : local.rules
    content {
      id            = "${var.name}-${queue.key}"
      queue_arn     = aws_sqs_queue.work[queue.value.job].arn
      events        = ["s3:ObjectCreated:*"]
      filter_prefix = queue.value.prefix
      filter_suffix = queue.value.suffix
    }
  }
  depends_on = [aws_s3_bucket.this, aws_sqs_queue_policy.this]

  lifecycle {
    precondition {
      condition     = local.eventbridge || length(local.overlaps) == 0
      error_message = "S3 refuses notifications that overlap (${join(", ", local.overlaps)}): use event_source = \"eventbridge\"."
    }
  }
}
