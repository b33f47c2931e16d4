output "uploads_bucket" {
  description = "Bucket to upload to."
  value       = module.pipeline.uploads_bucket
}

output "datasets_bucket" {
  description = "Bucket to read datasets from."
  value       = module.pipeline.datasets_bucket
}
