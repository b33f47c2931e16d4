locals {
  # The buckets that are made here, by their part.
  created = merge(
    var.create_uploads_bucket ? { uploads = local.uploads } : {},
    var.create_datasets_bucket && local.datasets != local.uploads ? { datasets = local.datasets } : {},
    local.create_work ? { work = local.work } : {},
  )
  bucket_arns = { work = local.work_arn, uploads = "${local.arn}:s3:::${local.uploads}", datasets = "${local.arn}:s3:::${local.datasets}" }
}

resource "aws_s3_bucket" "this" {
  #checkov:skip=CKV_AWS_18:access_log_bucket turns it on; logging what is read costs requests that not everyone wants
  #checkov:skip=CKV_AWS_144:a copy in another region is for the owner of the data to decide and to pay
  #checkov:skip=CKV_AWS_145:kms_key_arn turns it on; keys of S3 encrypt otherwise
  #checkov:skip=CKV2_AWS_62:uploads have a notification; nothing waits for datasets
  for_each      = local.created
  bucket        = each.value
  force_destroy = var.force_destroy
  tags          = var.tags
}

resource "aws_s3_bucket_public_access_block" "this" {
  for_each                = local.created
  bucket                  = aws_s3_bucket.this[each.key].bucket
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_ownership_controls" "this" {
  for_each = local.created
  bucket   = aws_s3_bucket.this[each.key].bucket
  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

# Versions: an event names one, and a replaced upload is still read as it was. What lies
# in the work bucket is never replaced.
resource "aws_s3_bucket_versioning" "this" {
  for_each = { for part, name in local.created : part => name if part != "work" }
  bucket   = aws_s3_bucket.this[each.key].bucket
  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "this" {
  for_each = local.created
  bucket   = aws_s3_bucket.this[each.key].bucket
  rule {
    bucket_key_enabled = var.kms_key_arn != null
    apply_server_side_encryption_by_default {
      sse_algorithm     = var.kms_key_arn == null ? "AES256" : "aws:kms"
      kms_master_key_id = var.kms_key_arn
    }
  }
}

# Workers write in parts: what a killed one left lies anywhere in the bucket, so
# the rule has no filter.
resource "aws_s3_bucket_lifecycle_configuration" "this" {
  for_each = local.created
  bucket   = aws_s3_bucket.this[each.key].bucket
  rule {
    id     = "abort-incomplete-uploads"
    status = "Enabled"
    filter {}
    abort_incomplete_multipart_upload {
      days_after_initiation = var.abort_incomplete_days
    }
  }
  rule {
    id     = "expire-replaced-versions"
    status = var.noncurrent_days == null ? "Disabled" : "Enabled"
    filter {}
    noncurrent_version_expiration {
      noncurrent_days = coalesce(var.noncurrent_days, 15)
    }
    expiration {
      expired_object_delete_marker = true
    }
  }
  dynamic "rule" {
    for_each = each.key == "work" ? [var.work.expire_days] : []
    content {
      id     = "expire-work"
      status = "Enabled"
      filter {}
      expiration {
        days = rule.value
      }
    }
  }
  depends_on = [aws_s3_bucket_versioning.this]
}

resource "aws_s3_bucket_policy" "this" {
  for_each = local.created
  bucket   = aws_s3_bucket.this[each.key].bucket
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "DenyPlainHTTP"
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3:*"
      Resource  = [local.bucket_arns[each.key], "${local.bucket_arns[each.key]}/*"]
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
    }]
  })
  depends_on = [aws_s3_bucket_public_access_block.this]
}

resource "aws_s3_bucket_logging" "this" {
  for_each      = var.access_log_bucket == null ? {} : local.created
  bucket        = aws_s3_bucket.this[each.key].bucket
  target_bucket = var.access_log_bucket
  target_prefix = "${each.value}/"
}
