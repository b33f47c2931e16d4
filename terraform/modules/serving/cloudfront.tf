# A cache at the edge, which alone may call the URL.

locals {
  cloudfront = var.access == "cloudfront" ? 1 : 0
  aliased    = length(var.cloudfront.aliases) > 0
}

resource "aws_cloudfront_origin_access_control" "this" {
  count                             = local.cloudfront
  name                              = "${local.function}-${local.region}"
  description                       = "${local.function}: requests to the function URL are signed"
  origin_access_control_origin_type = "lambda"
  signing_behavior                  = "always"
  signing_protocol                  = "sigv4"
}

# Answers say themselves how long they may be kept. The query is a part of what is
# asked, and so is the origin of a page if only some may read.
resource "aws_cloudfront_cache_policy" "this" {
  count       = local.cloudfront
  name        = "${local.function}-${local.region}"
  comment     = "${local.function}: as the answers say"
  min_ttl     = 0
  default_ttl = 0
  max_ttl     = 31536000
  parameters_in_cache_key_and_forwarded_to_origin {
    # Lambda undoes encodings, and CloudFront encodes no answer whose length it does not know.
    enable_accept_encoding_brotli = false
    enable_accept_encoding_gzip   = false
    cookies_config {
      cookie_behavior = "none"
    }
    headers_config {
      header_behavior = length(var.cors) > 0 ? "whitelist" : "none"
      dynamic "headers" {
        for_each = length(var.cors) > 0 ? ["Origin"] : []
        content {
          items = [headers.value]
        }
      }
    }
    query_strings_config {
      query_string_behavior = "all"
    }
  }
}

resource "aws_cloudfront_distribution" "this" {
  #checkov:skip=CKV_AWS_68:web_acl_arn puts WAF before it; who reads is not for this module to say
  #checkov:skip=CKV2_AWS_47:the same; the function is a Go program, and logs nothing through Log4j
  #checkov:skip=CKV_AWS_86:log_bucket keeps access logs; the function's log has every request that is not answered at the edge
  #checkov:skip=CKV_AWS_174:with CloudFront's own certificate the least version cannot be set; with one's own it is TLS 1.2
  #checkov:skip=CKV2_AWS_42:certificate_arn sets one
  #checkov:skip=CKV_AWS_305:there is no page at the root unless the gateway has one, and then it answers for / itself
  #checkov:skip=CKV_AWS_310:there is one function
  #checkov:skip=CKV_AWS_374:who reads is not for this module to say
  #checkov:skip=CKV2_AWS_32:the gateway sets its security headers itself
  count           = local.cloudfront
  comment         = local.function
  enabled         = true
  is_ipv6_enabled = true
  http_version    = "http2and3"
  price_class     = var.cloudfront.price_class
  aliases         = var.cloudfront.aliases
  web_acl_id      = var.cloudfront.web_acl_arn

  origin {
    origin_id                = "function"
    domain_name              = trimsuffix(trimprefix(aws_lambda_function_url.this.function_url, "https://"), "/")
    origin_access_control_id = aws_cloudfront_origin_access_control.this[0].id
    custom_origin_config {
      http_port              = 80
      https_port             = 443
      origin_protocol_policy = "https-only"
      origin_ssl_protocols   = ["TLSv1.2"]
      origin_read_timeout    = min(var.timeout_s, 60)
    }
  }

  default_cache_behavior {
    target_origin_id       = "function"
    viewer_protocol_policy = "redirect-to-https"
    allowed_methods        = ["GET", "HEAD", "OPTIONS"]
    cached_methods         = ["GET", "HEAD"]
    cache_policy_id        = aws_cloudfront_cache_policy.this[0].id
    trusted_key_groups     = var.cloudfront.trusted_key_groups
    compress               = false
  }

  # What is wrong for now is asked for again; absent Zarr chunks say themselves how long.
  dynamic "custom_error_response" {
    for_each = toset([400, 403, 404, 405, 414, 416, 500, 501, 502, 503, 504])
    content {
      error_code            = custom_error_response.value
      error_caching_min_ttl = 0
    }
  }

  restrictions {
    geo_restriction {
      restriction_type = "none"
    }
  }

  viewer_certificate {
    cloudfront_default_certificate = !local.aliased
    acm_certificate_arn            = var.cloudfront.certificate_arn
    minimum_protocol_version       = local.aliased ? "TLSv1.2_2021" : "TLSv1"
    ssl_support_method             = local.aliased ? "sni-only" : null
  }

  dynamic "logging_config" {
    for_each = var.cloudfront.log_bucket == null ? [] : [var.cloudfront.log_bucket]
    content {
      bucket          = logging_config.value
      prefix          = "${local.function}/"
      include_cookies = false
    }
  }
  tags = var.tags
}
