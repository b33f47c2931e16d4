output "uploads_bucket" {
  description = "Bucket to upload to."
  value       = local.uploads
}

output "datasets_bucket" {
  description = "Bucket that datasets and `errors/` are written to."
  value       = local.datasets
}

output "rules" {
  description = "The rules document that the functions have, for `farread backfill` and `farread worker`."
  value       = local.document
}

output "functions" {
  description = "Name and ARN of the function of each job, and of its role and log group."
  value = { for job, f in aws_lambda_function.this : job => {
    name      = f.function_name
    arn       = f.arn
    role      = aws_iam_role.this[job].arn
    log_group = aws_cloudwatch_log_group.this[job].name
  } }
}

output "queues" {
  description = "URL and ARN of the queue of each job, and of its dead-letter queue."
  value = { for job, q in aws_sqs_queue.work : job => {
    url      = q.url
    arn      = q.arn
    dead_url = aws_sqs_queue.dead[job].url
    dead_arn = aws_sqs_queue.dead[job].arn
  } }
}

output "alarms" {
  description = "Names of the alarms."
  value       = [for a in aws_cloudwatch_metric_alarm.this : a.alarm_name]
}

output "alarm_topic_arn" {
  description = "ARN of the alarms' topic, or null."
  value       = one(aws_sns_topic.alarms[*].arn)
}

output "analysis_state_machine_arn" {
  description = "ARN of the state machine for `farread analyze --on`; null without `analysis`."
  value       = try(aws_sfn_state_machine.this["analysis"].arn, null)
}

output "packs_state_machine_arn" {
  description = "ARN of the state machine for `farread pack --on`; null without `packs`."
  value       = try(aws_sfn_state_machine.this["packs"].arn, null)
}

output "backfill_state_machine_arn" {
  description = "ARN of the state machine for `farread backfill --on`; null without `backfill`."
  value       = try(aws_sfn_state_machine.this["backfill"].arn, null)
}

output "work_uri" {
  description = "Where these keep their work, for `--work`; null without either."
  value       = length(local.machines) == 0 ? null : "s3://${local.work}/${var.work.prefix}"
}
