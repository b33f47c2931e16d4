terraform {
  required_version = ">= 1.9.0" # validations that look at other variables
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.28, < 7.0" # permissions for calls by a function URL
    }
  }
}
