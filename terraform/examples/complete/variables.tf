variable "name" {
  description = "Begins every name."
  type        = string
  default     = "farread"
}

variable "region" {
  description = "Region of everything."
  type        = string
  default     = "eu-west-1"
}

variable "architecture" {
  description = "arm64 or x86_64."
  type        = string
  default     = "arm64"
}

variable "zips" {
  description = "Folder that `make zip` wrote to."
  type        = string
  default     = "../../../dist"
}

variable "access_log_bucket" {
  description = "Bucket for S3's access logs; null: none."
  type        = string
  default     = null
}

variable "operator_email" {
  description = "Who hears of alarms; null: nobody."
  type        = string
  default     = null
}

variable "viewers" {
  description = "Origins whose pages may read what is served."
  type        = list(string)
  default     = []
}
