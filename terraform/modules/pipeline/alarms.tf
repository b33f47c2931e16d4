locals {
  alarm_actions = concat(var.alarm_topic_arns, aws_sns_topic.alarms[*].arn)

  alarms = merge(local.machine_alarms, [for job, f in var.functions : {
    "${job}-dead" = {
      text      = "Events that the function could not do after five tries: see its log, mend the cause, then farread replay-dlq."
      namespace = "AWS/SQS", metric = "ApproximateNumberOfMessagesVisible", statistic = "Maximum", above = 0
      dimension = { QueueName = "${var.name}-${job}-dead" }
    }
    "${job}-age" = {
      text      = "Uploads wait: more come than max_concurrency lets through, or all fail."
      namespace = "AWS/SQS", metric = "ApproximateAgeOfOldestMessage", statistic = "Maximum", above = var.max_age_s
      dimension = { QueueName = "${var.name}-${job}" }
    }
    "${job}-errors" = {
      text      = "The function ended without an answer: out of memory or time, or a wrong configuration."
      namespace = "AWS/Lambda", metric = "Errors", statistic = "Sum", above = 0
      dimension = { FunctionName = "${var.name}-${job}" }
    }
    "${job}-failed" = {
      text      = "Uploads that can never become datasets: errors/ in the datasets bucket says what is wrong with each."
      namespace = "farread", metric = "Failed", statistic = "Sum", above = 0 # the function's own metric
      dimension = { function = "${var.name}-${job}" }
    }
    "${job}-throttles" = {
      text      = "The account's concurrent functions are used up: raise that quota, or lower max_concurrency."
      namespace = "AWS/Lambda", metric = "Throttles", statistic = "Sum", above = 0
      dimension = { FunctionName = "${var.name}-${job}" }
    }
  }]...)
}

resource "aws_sns_topic" "alarms" {
  #checkov:skip=CKV_AWS_26:an alarm names no data, and CloudWatch cannot publish to a topic under the managed key: it would be lost unseen
  count = var.create_alarm_topic ? 1 : 0
  name  = "${var.name}-alarms"
  tags  = var.tags
}

resource "aws_cloudwatch_metric_alarm" "this" {
  for_each            = local.alarms
  alarm_name          = "${var.name}-${each.key}"
  alarm_description   = each.value.text
  namespace           = each.value.namespace
  metric_name         = each.value.metric
  statistic           = each.value.statistic
  dimensions          = each.value.dimension
  period              = 300
  evaluation_periods  = 1
  comparison_operator = "GreaterThanThreshold"
  threshold           = each.value.above
  treat_missing_data  = "notBreaching"
  alarm_actions       = local.alarm_actions
  ok_actions          = local.alarm_actions
  tags                = var.tags
}
