# Needs neither credentials nor AWS: what the provider would answer is made up.
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
  # ARNs and addresses as the provider's own checks accept them.
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::123456789012:role/mock" }
  }
  mock_resource "aws_lambda_function" {
    defaults = { arn = "arn:aws:lambda:eu-west-1:123456789012:function:mock" }
  }
  mock_resource "aws_lambda_function_url" {
    defaults = { function_url = "https://mock.lambda-url.eu-west-1.on.aws/" }
  }
  mock_resource "aws_cloudfront_distribution" {
    defaults = { arn = "arn:aws:cloudfront::123456789012:distribution/MOCK", domain_name = "mock.cloudfront.net" }
  }
  mock_resource "aws_cloudwatch_log_group" {
    defaults = { arn = "arn:aws:logs:eu-west-1:123456789012:log-group:mock" }
  }
}

variables {
  name            = "demo"
  roots           = { sets = { bucket = "datasets", prefix = "sets/" } }
  zip             = "./tests/fixtures/fn.zip"
  access          = "token"
  token_parameter = "/demo/token"
}

run "token" {
  command = apply

  assert {
    condition = (aws_lambda_function.this.runtime == "provided.al2023" && aws_lambda_function.this.handler == "bootstrap" && aws_lambda_function.this.architectures == tolist(["arm64"]) &&
      aws_lambda_function.this.memory_size == 512 && aws_lambda_function.this.timeout == 60 && aws_lambda_function.this.reserved_concurrent_executions == 20 &&
    aws_lambda_function.this.source_code_hash == filebase64sha256("./tests/fixtures/fn.zip"))
    error_message = "A static arm64 program, replaced when the zip is another, twenty at once."
  }
  assert {
    condition = aws_lambda_function.this.environment[0].variables == tomap({
      FARREAD_ROOTS        = "{\"sets\":\"s3://datasets/sets/\"}", FARREAD_TOKEN_PARAMETER = "/demo/token", FARREAD_TTL = "10s",
      FARREAD_MAX_RESPONSE = "16", FARREAD_RAW = "5", FARREAD_LOG = "info"
    })
    error_message = "Nothing else is in the environment, and no token."
  }
  assert {
    condition     = aws_lambda_function_url.this.authorization_type == "NONE" && aws_lambda_function_url.this.invoke_mode == "RESPONSE_STREAM" && output.url == aws_lambda_function_url.this.function_url
    error_message = "The function decides, and streams."
  }
  assert {
    condition = (jsonencode([for p in concat(aws_lambda_permission.url, aws_lambda_permission.function) : [p.action, p.principal, p.function_url_auth_type, p.invoked_via_function_url, p.source_arn]]) ==
    jsonencode([["lambda:InvokeFunctionUrl", "*", "NONE", null, null], ["lambda:InvokeFunction", "*", null, true, null]]))
    error_message = "Everybody may call the URL, and run the function by way of it alone."
  }
  assert {
    condition = jsonencode(jsondecode(aws_iam_role_policy.this.policy).Statement) == jsonencode([
      { Sid = "ReadDatasets", Effect = "Allow", Action = ["s3:GetObject", "s3:GetObjectVersion"], Resource = ["arn:aws:s3:::datasets/sets/*"] },
      { Sid = "Logs", Effect = "Allow", Action = ["logs:CreateLogStream", "logs:PutLogEvents"], Resource = ["${aws_cloudwatch_log_group.this.arn}:*"] },
      { Sid = "ListDatasets0", Effect = "Allow", Action = ["s3:ListBucket"], Resource = ["arn:aws:s3:::datasets"], Condition = { StringLike = { "s3:prefix" = ["sets/*"] } } },
      { Sid = "Token", Effect = "Allow", Action = ["ssm:GetParameter"], Resource = ["arn:aws:ssm:eu-west-1:123456789012:parameter/demo/token"] },
    ])
    error_message = "It reads below its prefix, its token, and writes its log."
  }
  assert {
    condition     = jsondecode(aws_iam_role.this.assume_role_policy).Statement == [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "lambda.amazonaws.com" } }] && aws_iam_role.this.permissions_boundary == null
    error_message = "Lambda alone takes the role."
  }
  assert {
    condition = { for k, a in aws_cloudwatch_metric_alarm.this : k => [a.namespace, a.metric_name, a.statistic, a.dimensions.FunctionName, tostring(a.threshold), a.comparison_operator, a.treat_missing_data] } == {
      errors    = ["AWS/Lambda", "Url5xxCount", "Sum", "demo-serve", "0", "GreaterThanThreshold", "notBreaching"]
      crashes   = ["AWS/Lambda", "Errors", "Sum", "demo-serve", "0", "GreaterThanThreshold", "notBreaching"]
      throttles = ["AWS/Lambda", "Throttles", "Sum", "demo-serve", "0", "GreaterThanThreshold", "notBreaching"]
    } && aws_lambda_function.this.function_name == "demo-serve"
    error_message = "Alarms look at what Lambda counts, and one is too many."
  }
  assert {
    condition     = aws_cloudwatch_log_group.this.name == "/aws/lambda/demo-serve" && aws_cloudwatch_log_group.this.retention_in_days == 30 && one(aws_lambda_function.this.logging_config).log_group == aws_cloudwatch_log_group.this.name
    error_message = "The log goes to a group that forgets."
  }
  assert {
    condition     = length(aws_cloudfront_distribution.this) + length(aws_cloudfront_cache_policy.this) + length(aws_cloudfront_origin_access_control.this) == 0 && output.distribution == null
    error_message = "CloudFront has no part in it."
  }
}

run "iam" {
  command = apply
  variables {
    access          = "iam"
    token_parameter = null
    raw             = "off"
    cors            = ["https://a.example", "https://b.example:8443"]
    concurrency     = -1
  }
  assert {
    condition     = aws_lambda_function_url.this.authorization_type == "AWS_IAM" && length(aws_lambda_permission.url) + length(aws_lambda_permission.function) == 0
    error_message = "Only the callers' own policies let them call it."
  }
  assert {
    condition     = aws_lambda_function.this.environment[0].variables["FARREAD_RAW"] == "off" && aws_lambda_function.this.environment[0].variables["FARREAD_CORS"] == "https://a.example,https://b.example:8443" && !contains(keys(aws_lambda_function.this.environment[0].variables), "FARREAD_TOKEN_PARAMETER")
    error_message = "The function has its choices, and no token."
  }
  assert {
    condition     = length([for s in jsondecode(aws_iam_role_policy.this.policy).Statement : s if contains(["Token", "TokenKey", "Keys"], s.Sid)]) == 0
    error_message = "Nor the right to one."
  }
}

run "many_roots_and_keys" {
  command = apply
  variables {
    roots = {
      all  = { bucket = "open-data" }
      one  = { bucket = "datasets", prefix = "a*b/x.b2nd" }
      sets = { bucket = "datasets", prefix = "sets/" }
    }
    kms_key_arns      = ["arn:aws:kms:eu-west-1:123456789012:key/1"]
    token_kms_key_arn = "arn:aws:kms:eu-west-1:123456789012:key/2"
    token_parameter   = "plain"
  }
  assert {
    condition = { for s in jsondecode(aws_iam_role_policy.this.policy).Statement : s.Sid => jsonencode([s.Resource, try(s.Condition, null)]) if s.Sid != "Logs" } == {
      ReadDatasets  = jsonencode([["arn:aws:s3:::open-data/*", "arn:aws:s3:::datasets/a$${*}b/x.b2nd*", "arn:aws:s3:::datasets/sets/*"], null])
      ListDatasets0 = jsonencode([["arn:aws:s3:::open-data"], { StringLikeIfExists = { "s3:prefix" = ["*"] } }])
      ListDatasets1 = jsonencode([["arn:aws:s3:::datasets"], { StringLike = { "s3:prefix" = ["a$${*}b/x.b2nd*", "sets/*"] } }])
      Keys          = jsonencode([["arn:aws:kms:eu-west-1:123456789012:key/1"], { StringLike = { "kms:ViaService" = "s3.*.amazonaws.com" } }])
      Token         = jsonencode([["arn:aws:ssm:eu-west-1:123456789012:parameter/plain"], null])
      TokenKey      = jsonencode([["arn:aws:kms:eu-west-1:123456789012:key/2"], { StringEquals = { "kms:ViaService" = "ssm.eu-west-1.amazonaws.com" } }])
    }
    error_message = "Each bucket is listed below its own prefixes, and a star in a key is a star."
  }
  assert {
    condition = jsondecode(aws_lambda_function.this.environment[0].variables["FARREAD_ROOTS"]) == {
      all = "s3://open-data/", one = "s3://datasets/a*b/x.b2nd", sets = "s3://datasets/sets/"
    }
    error_message = "The function has all roots."
  }
}

run "cloudfront" {
  command = apply
  variables {
    access          = "cloudfront"
    token_parameter = null
    cors            = ["*"]
    cloudfront = {
      aliases            = ["data.example.org"]
      certificate_arn    = "arn:aws:acm:us-east-1:123456789012:certificate/1"
      web_acl_arn        = "arn:aws:wafv2:us-east-1:123456789012:global/webacl/x/1"
      trusted_key_groups = ["group"]
      log_bucket         = "logs.s3.amazonaws.com"
    }
  }
  assert {
    condition = ([for p in concat(aws_lambda_permission.url, aws_lambda_permission.function) : [p.principal, p.source_arn]] ==
      [for i in [1, 2] : ["cloudfront.amazonaws.com", one(aws_cloudfront_distribution.this).arn]] &&
    aws_lambda_function_url.this.authorization_type == "AWS_IAM")
    error_message = "The distribution alone may call the URL."
  }
  assert {
    condition = (one(aws_cloudfront_origin_access_control.this).origin_access_control_origin_type == "lambda" && one(aws_cloudfront_origin_access_control.this).signing_behavior == "always" &&
      one(one(aws_cloudfront_distribution.this).origin).domain_name == "mock.lambda-url.eu-west-1.on.aws" &&
    one(one(aws_cloudfront_distribution.this).origin).origin_access_control_id == one(aws_cloudfront_origin_access_control.this).id)
    error_message = "It signs its requests."
  }
  assert {
    condition = (one(aws_cloudfront_cache_policy.this).min_ttl == 0 && one(aws_cloudfront_cache_policy.this).default_ttl == 0 && one(aws_cloudfront_cache_policy.this).max_ttl == 31536000 &&
      one(one(aws_cloudfront_cache_policy.this).parameters_in_cache_key_and_forwarded_to_origin).query_strings_config[0].query_string_behavior == "all" &&
      one(one(aws_cloudfront_cache_policy.this).parameters_in_cache_key_and_forwarded_to_origin).headers_config[0].headers[0].items == toset(["Origin"]) &&
    one(one(aws_cloudfront_distribution.this).default_cache_behavior).cache_policy_id == one(aws_cloudfront_cache_policy.this).id)
    error_message = "Answers are kept as they say, by path, query and origin."
  }
  assert {
    condition = (one(aws_cloudfront_distribution.this).web_acl_id == "arn:aws:wafv2:us-east-1:123456789012:global/webacl/x/1" &&
      one(one(aws_cloudfront_distribution.this).default_cache_behavior).trusted_key_groups == tolist(["group"]) &&
      one(one(aws_cloudfront_distribution.this).default_cache_behavior).viewer_protocol_policy == "redirect-to-https" &&
      one(one(aws_cloudfront_distribution.this).viewer_certificate).minimum_protocol_version == "TLSv1.2_2021" &&
    one(one(aws_cloudfront_distribution.this).logging_config).bucket == "logs.s3.amazonaws.com")
    error_message = "WAF, signers, certificate and log are as asked for."
  }
  assert {
    condition     = output.url == "https://data.example.org/" && output.distribution.domain_name == "mock.cloudfront.net"
    error_message = "It answers under its alias."
  }
  assert {
    condition     = alltrue([for e in one(aws_cloudfront_distribution.this).custom_error_response : e.error_caching_min_ttl == 0])
    error_message = "No error is kept longer than it says."
  }
}

run "cloudfront_alone" {
  command = apply
  variables {
    access          = "cloudfront"
    token_parameter = null
  }
  assert {
    condition     = output.url == "https://mock.cloudfront.net/" && one(one(aws_cloudfront_distribution.this).viewer_certificate).cloudfront_default_certificate && one(one(aws_cloudfront_cache_policy.this).parameters_in_cache_key_and_forwarded_to_origin).headers_config[0].header_behavior == "none"
    error_message = "Without more, it answers under CloudFront's own name."
  }
}
