output "url" {
  description = "Where it answers: the distribution, or the function URL."
  value       = var.access == "cloudfront" ? "https://${one(concat(slice(var.cloudfront.aliases, 0, min(1, length(var.cloudfront.aliases))), local.aliased ? [] : aws_cloudfront_distribution.this[*].domain_name))}/" : aws_lambda_function_url.this.function_url
}

output "function" {
  description = "Name and ARN of the function, its own URL, its role and its log group."
  value = {
    name      = aws_lambda_function.this.function_name
    arn       = aws_lambda_function.this.arn
    url       = aws_lambda_function_url.this.function_url
    role      = aws_iam_role.this.arn
    log_group = aws_cloudwatch_log_group.this.name
  }
}

output "distribution" {
  description = "Id, ARN, domain name and hosted zone of the distribution, for records of DNS; null without one."
  value = one([for d in aws_cloudfront_distribution.this : {
    id             = d.id
    arn            = d.arn
    domain_name    = d.domain_name
    hosted_zone_id = d.hosted_zone_id
  }])
}

output "alarms" {
  description = "Names of the alarms."
  value       = [for a in aws_cloudwatch_metric_alarm.this : a.alarm_name]
}
