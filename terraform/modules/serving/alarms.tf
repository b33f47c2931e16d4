locals {
  alarms = {
    errors = {
      text   = "Answers of status 5xx: the source does not answer, the function has too little memory or time, or a fault. See its log."
      metric = "Url5xxCount", statistic = "Sum", above = 0
    }
    crashes = {
      text   = "The function ended without an answer: out of memory or time, a wrong configuration, or a token that cannot be read."
      metric = "Errors", statistic = "Sum", above = 0
    }
    throttles = {
      text   = "Requests found all functions busy and got 429: raise concurrency, or put a cache before it."
      metric = "Throttles", statistic = "Sum", above = 0
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "this" {
  for_each            = local.alarms
  alarm_name          = "${local.function}-${each.key}"
  alarm_description   = each.value.text
  namespace           = "AWS/Lambda"
  metric_name         = each.value.metric
  statistic           = each.value.statistic
  dimensions          = { FunctionName = local.function }
  period              = 300
  evaluation_periods  = 1
  comparison_operator = "GreaterThanThreshold"
  threshold           = each.value.above
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_topic_arns
  ok_actions          = var.alarm_topic_arns
  tags                = var.tags
}
