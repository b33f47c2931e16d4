# What a plan refuses.
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

run "no_roots" {
  command = plan
  variables {
    roots = {}
  }
  expect_failures = [var.roots]
}

run "name_of_a_root" {
  command = plan
  variables {
    roots = { "a/b" = { bucket = "datasets" } }
  }
  expect_failures = [var.roots]
}

run "dots" {
  command = plan
  variables {
    roots = { ".." = { bucket = "datasets" } }
  }
  expect_failures = [var.roots]
}

run "bucket" {
  command = plan
  variables {
    roots = { a = { bucket = "No_Bucket" } }
  }
  expect_failures = [var.roots]
}

run "long_prefix" {
  command = plan
  variables {
    roots = { a = { bucket = "datasets", prefix = join("", [for i in range(513) : "x"]) } }
  }
  expect_failures = [var.roots]
}

run "access" {
  command = plan
  variables {
    access = "all"
  }
  expect_failures = [var.access]
}

run "token_without_parameter" {
  command = plan
  variables {
    token_parameter = null
  }
  expect_failures = [var.token_parameter]
}

run "parameter_without_token" {
  command = plan
  variables {
    access = "public"
  }
  expect_failures = [var.token_parameter]
}

run "name_of_a_parameter" {
  command = plan
  variables {
    token_parameter = "a b"
  }
  expect_failures = [var.token_parameter]
}

run "alias_of_a_key" {
  command = plan
  variables {
    kms_key_arns = ["arn:aws:kms:eu-west-1:123456789012:alias/x"]
  }
  expect_failures = [var.kms_key_arns]
}

run "alias_of_the_tokens_key" {
  command = plan
  variables {
    token_kms_key_arn = "arn:aws:kms:eu-west-1:123456789012:alias/x"
  }
  expect_failures = [var.token_kms_key_arn]
}

run "little_memory" {
  command = plan
  variables {
    memory_mb = 128
  }
  expect_failures = [var.memory_mb]
}

run "large_answers" {
  command = plan
  variables {
    max_response_mb = 150
  }
  expect_failures = [var.max_response_mb]
}

run "no_concurrency" {
  command = plan
  variables {
    concurrency = 0
  }
  expect_failures = [var.concurrency]
}

run "origin_with_a_slash" {
  command = plan
  variables {
    cors = ["https://a.example/"]
  }
  expect_failures = [var.cors]
}

run "all_origins_and_one" {
  command = plan
  variables {
    cors = ["*", "https://a.example"]
  }
  expect_failures = [var.cors]
}

run "ttl" {
  command = plan
  variables {
    ttl_s = -1
  }
  expect_failures = [var.ttl_s]
}

run "raw" {
  command = plan
  variables {
    raw = "some"
  }
  expect_failures = [var.raw]
}

run "timeout" {
  command = plan
  variables {
    timeout_s = 901
  }
  expect_failures = [var.timeout_s]
}

run "architecture" {
  command = plan
  variables {
    architecture = "amd64"
  }
  expect_failures = [var.architecture]
}

run "aliases_without_a_certificate" {
  command = plan
  variables {
    cloudfront = { aliases = ["data.example.org"] }
  }
  expect_failures = [var.cloudfront]
}

run "regional_web_acl" {
  command = plan
  variables {
    cloudfront = { web_acl_arn = "arn:aws:wafv2:eu-west-1:123456789012:regional/webacl/x/1" }
  }
  expect_failures = [var.cloudfront]
}

run "price_class" {
  command = plan
  variables {
    cloudfront = { price_class = "cheap" }
  }
  expect_failures = [var.cloudfront]
}

run "own_names" {
  command = plan
  variables {
    environment = { FARREAD_TOKEN = "x" }
  }
  expect_failures = [var.environment]
}

run "retention" {
  command = plan
  variables {
    log_retention_days = 8
  }
  expect_failures = [var.log_retention_days]
}

run "level" {
  command = plan
  variables {
    log_level = "loud"
  }
  expect_failures = [var.log_level]
}

run "name" {
  command = plan
  variables {
    name = "Demo"
  }
  expect_failures = [var.name]
}

run "much_environment" {
  command = plan
  variables {
    roots = { for i in range(60) : "root${i}" => { bucket = "datasets", prefix = join("", [for k in range(60) : "x"]) } }
  }
  expect_failures = [aws_lambda_function.this]
}

run "many_rights" {
  command = plan
  variables {
    roots = { for i in range(12) : "root${i}" => { bucket = "datasets", prefix = "${i}${join("", [for k in range(450) : "*"])}" } }
  }
  expect_failures = [aws_iam_role_policy.this]
}
