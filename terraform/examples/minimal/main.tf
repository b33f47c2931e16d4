# The least there is: two buckets, and a function that packs every upload by its
# content.

terraform {
  required_version = ">= 1.9.0"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.0, < 7.0"
    }
  }
}

provider "aws" {
  region = "eu-west-1"
}

module "pipeline" {
  source    = "../../modules/pipeline"
  name      = "farread"
  functions = { pack = { zip = var.zip } }
}
