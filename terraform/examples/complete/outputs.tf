output "uploads_bucket" {
  description = "Bucket to upload to."
  value       = module.pipeline.uploads_bucket
}

output "datasets_bucket" {
  description = "Bucket to read datasets from."
  value       = module.pipeline.datasets_bucket
}

output "rules" {
  description = "The rules document, with the buckets' names."
  value       = module.pipeline.rules
}

output "queues" {
  description = "Queues and dead-letter queues, for `farread replay-dlq`."
  value       = module.pipeline.queues
}

output "serving_url" {
  description = "Where the datasets are served."
  value       = module.serving.url
}

output "analysis_state_machine_arn" {
  description = "State machine for `farread analyze --on`."
  value       = module.pipeline.analysis_state_machine_arn
}

output "backfill_state_machine_arn" {
  description = "State machine for `farread backfill --on`."
  value       = module.pipeline.backfill_state_machine_arn
}

output "work_uri" {
  description = "Where both keep their work, for `--work`."
  value       = module.pipeline.work_uri
}
