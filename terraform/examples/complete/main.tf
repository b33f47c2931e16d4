# Clips, arrays, records and sound, each by a rule; encrypted with a key of one's
# own, kept for a while, watched, analyzed, and served over HTTP.

terraform {
  required_version = ">= 1.9.0"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.28, < 7.0"
    }
  }
}

provider "aws" {
  region = var.region
}

data "aws_caller_identity" "current" {}
data "aws_partition" "current" {}

resource "aws_kms_key" "data" {
  description             = "${var.name}: uploads and datasets"
  enable_key_rotation     = true
  deletion_window_in_days = 30
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "AccountAdministration" # roles use the key as their own policies say
      Effect    = "Allow"
      Action    = "kms:*"
      Resource  = "*"
      Principal = { AWS = "arn:${data.aws_partition.current.partition}:iam::${data.aws_caller_identity.current.account_id}:root" }
    }]
  })
}

module "pipeline" {
  source = "../../modules/pipeline"
  name   = var.name

  # The same document drives `farread backfill`: terraform output -raw rules
  rules = jsondecode(file("${path.module}/rules.json"))

  functions = {
    pack = {
      zip             = "${var.zips}/fn-pack-${local.arch}.zip"
      memory_mb       = 1024
      timeout_s       = 900
      max_concurrency = 50
    }
    zoom = {
      zip        = "${var.zips}/fn-zoom-${local.arch}.zip"
      batch_size = 5 # recordings are short
    }
  }
  architecture = var.architecture

  # farread analyze --on, farread pack --on, farread backfill --on: ARNs and --work are outputs.
  analysis = { zip = "${var.zips}/fn-analyze-${local.arch}.zip", max_concurrency = 200 }
  packs    = { zip = "${var.zips}/fn-packs-${local.arch}.zip", max_concurrency = 200 }
  backfill = { max_concurrency = 50 }

  kms_key_arn           = aws_kms_key.data.arn
  noncurrent_days       = 30
  abort_incomplete_days = 2
  access_log_bucket     = var.access_log_bucket

  log_retention_days = 90
  create_alarm_topic = true
  max_age_s          = 1800

  tags = { application = var.name }
}

# The datasets over HTTP, for who has the token. It is in Systems Manager, and not in
# this state: aws ssm put-parameter --type SecureString --name /NAME/token --value …
module "serving" {
  source = "../../modules/serving"
  name   = var.name
  zip    = "${var.zips}/fn-serve-${local.arch}.zip"

  roots           = { datasets = { bucket = module.pipeline.datasets_bucket } }
  access          = "token"
  token_parameter = "/${var.name}/token"
  cors            = var.viewers

  architecture       = var.architecture
  memory_mb          = 1024
  concurrency        = 50
  kms_key_arns       = [aws_kms_key.data.arn]
  log_retention_days = 90
  alarm_topic_arns   = [module.pipeline.alarm_topic_arn]

  tags = { application = var.name }
}

locals {
  arch = { arm64 = "arm64", x86_64 = "amd64" }[var.architecture]
}

resource "aws_sns_topic_subscription" "operator" {
  count     = var.operator_email == null ? 0 : 1
  topic_arn = module.pipeline.alarm_topic_arn
  protocol  = "email"
  endpoint  = var.operator_email
}
