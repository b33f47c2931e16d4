variable "zip" {
  description = "The archive that `make zip` wrote."
  type        = string
  default     = "../../../dist/fn-pack-arm64.zip"
}
