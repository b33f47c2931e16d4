variable "name" {
  description = "Begins the name of everything that is made here."
  type        = string
  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,22}[a-z0-9]$", var.name))
    error_message = "name has 3 to 24 lower-case letters, digits and hyphens, and begins with a letter."
  }
}

variable "roots" {
  description = "What is served, by the names that paths have for it: `/slice/NAME/KEY`. Nothing else can be read."
  type = map(object({
    bucket = string               # where the datasets are
    prefix = optional(string, "") # keys begin with it; a folder ends in a slash, anything else is one dataset
  }))
  validation {
    condition     = length(var.roots) > 0
    error_message = "roots: there has to be one."
  }
  validation {
    condition     = alltrue([for name in keys(var.roots) : can(regex("^[A-Za-z0-9._-]{1,64}$", name)) && !contains([".", ".."], name)])
    error_message = "roots: a name has letters, digits, dots, hyphens and underscores, 64 at most."
  }
  validation {
    condition     = alltrue([for r in values(var.roots) : can(regex("^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", r.bucket))])
    error_message = "roots: bucket is no bucket name."
  }
  validation {
    condition     = alltrue([for r in values(var.roots) : length(base64encode("${r.prefix}x")) <= 684 && !startswith(r.prefix, "/")]) # 4 letters for every 3 of 513 bytes
    error_message = "roots: prefix has at most 512 bytes, and does not begin with a slash."
  }
}

variable "zip" {
  description = "Path of what `make zip` wrote for `fn-serve` and for `architecture`."
  type        = string
}

variable "access" {
  description = "Who may read: `token`, who has the bearer token of `token_parameter` or a link that is signed with it; `iam`, whom IAM lets call the URL; `cloudfront`, who can reach the distribution of `cloudfront`, which alone may call the URL; `public`, everybody."
  type        = string
  validation {
    condition     = contains(["token", "iam", "cloudfront", "public"], var.access)
    error_message = "access is token, iam, cloudfront or public."
  }
}

variable "token_parameter" {
  description = "Name of a parameter of Systems Manager, best a SecureString, with the token; the function reads it at its start. It is made elsewhere, so that the token is not in this state."
  type        = string
  default     = null
  validation {
    condition     = (var.token_parameter != null) == (var.access == "token")
    error_message = "token_parameter belongs to access = \"token\", and to nothing else: CloudFront and IAM need the header that a token would be in."
  }
  validation {
    condition     = can(regex("^/?[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*$", coalesce(var.token_parameter, "x")))
    error_message = "token_parameter is no name of a parameter."
  }
}

variable "token_kms_key_arn" {
  description = "ARN of the KMS key of the parameter; null: the account's own for Systems Manager, which needs no right."
  type        = string
  default     = null
  validation {
    condition     = var.token_kms_key_arn == null || can(regex("^arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/", var.token_kms_key_arn))
    error_message = "token_kms_key_arn is the ARN of a key, not of an alias."
  }
}

variable "kms_key_arns" {
  description = "ARNs of KMS keys that the datasets are encrypted with. Their policies have to let this account's roles use them."
  type        = list(string)
  default     = []
  validation {
    condition     = alltrue([for arn in var.kms_key_arns : can(regex("^arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/", arn))])
    error_message = "kms_key_arns are ARNs of keys, not of aliases."
  }
}

variable "architecture" {
  description = "Processor of the function; the zip has to be for it."
  type        = string
  default     = "arm64"
  validation {
    condition     = contains(["arm64", "x86_64"], var.architecture)
    error_message = "architecture is arm64 or x86_64."
  }
}

variable "memory_mb" {
  description = "Memory of the function, and with it processors and network. A quarter is for what is kept between requests."
  type        = number
  default     = 512
  validation {
    condition     = var.memory_mb >= 256 && var.memory_mb <= 10240 && floor(var.memory_mb) == var.memory_mb
    error_message = "memory_mb is from 256 to 10240."
  }
}

variable "timeout_s" {
  description = "Longest time of an answer, until its last byte is sent."
  type        = number
  default     = 60
  validation {
    condition     = var.timeout_s >= 5 && var.timeout_s <= 900 && floor(var.timeout_s) == var.timeout_s
    error_message = "timeout_s is from 5 to 900."
  }
}

variable "concurrency" {
  description = "Most requests at once, each of which has a function of its own: reserved concurrency, taken from the account's. Others get 429. -1: as many as the account has."
  type        = number
  default     = 20
  validation {
    condition     = (var.concurrency == -1 || var.concurrency >= 1) && floor(var.concurrency) == var.concurrency
    error_message = "concurrency is a whole number from 1, or -1."
  }
}

variable "cors" {
  description = "Origins whose pages may read answers, as `https://viewer.example`; `*` alone: all."
  type        = list(string)
  default     = []
  validation {
    condition     = join(",", var.cors) == "*" || alltrue([for o in var.cors : can(regex("^https?://[^/,* ]+$", o))])
    error_message = "cors: an origin is a scheme and a host, without a slash at its end; \"*\" stands alone."
  }
}

variable "ttl_s" {
  description = "How long a dataset is believed to be current, and answers may be kept, in seconds."
  type        = number
  default     = 10
  validation {
    condition     = var.ttl_s >= 0 && var.ttl_s <= 86400 && floor(var.ttl_s) == var.ttl_s
    error_message = "ttl_s is a whole number from 0 to 86400."
  }
}

variable "max_response_mb" {
  description = "Largest answer in MiB, except of raw."
  type        = number
  default     = 16
  validation {
    condition     = var.max_response_mb >= 1 && var.max_response_mb <= 200 && var.max_response_mb * 4 <= var.memory_mb && floor(var.max_response_mb) == var.max_response_mb
    error_message = "max_response_mb is from 1 to 200, and a quarter of memory_mb at most."
  }
}

variable "raw" {
  description = "Stored bytes: `redirect`, answers from 5 MiB on are a redirection to a presigned URL of S3, good for five minutes without a token; `all`, the function sends all, slowly beyond 6 MB and within its time; `off`, none are served."
  type        = string
  default     = "redirect"
  validation {
    condition     = contains(["redirect", "all", "off"], var.raw)
    error_message = "raw is redirect, all or off."
  }
}

variable "cloudfront" {
  description = "The distribution, with `access = \"cloudfront\"`."
  type = object({
    aliases            = optional(list(string), [])         # names of one's own
    certificate_arn    = optional(string)                   # their certificate, in us-east-1
    price_class        = optional(string, "PriceClass_100") # where it answers from
    web_acl_arn        = optional(string)                   # a web ACL of WAF with scope CLOUDFRONT, in us-east-1
    trusted_key_groups = optional(list(string), [])         # groups of keys that sign URLs or cookies; none: everybody may read
    log_bucket         = optional(string)                   # domain name of a bucket for its access logs; null: none are kept
  })
  default = {}
  validation {
    condition     = (length(var.cloudfront.aliases) > 0) == (var.cloudfront.certificate_arn != null)
    error_message = "cloudfront: aliases and certificate_arn belong together."
  }
  validation {
    condition     = contains(["PriceClass_All", "PriceClass_200", "PriceClass_100"], var.cloudfront.price_class)
    error_message = "cloudfront: price_class is PriceClass_All, PriceClass_200 or PriceClass_100."
  }
  validation {
    condition     = var.cloudfront.web_acl_arn == null || can(regex("^arn:[a-z-]+:wafv2:us-east-1:[0-9]{12}:global/webacl/", var.cloudfront.web_acl_arn))
    error_message = "cloudfront: web_acl_arn is the ARN of a web ACL of scope CLOUDFRONT."
  }
}

variable "log_level" {
  description = "Least level of the function's log: `info` has a line for each request, `error` one for each answer that is the server's fault."
  type        = string
  default     = "info"
  validation {
    condition     = contains(["debug", "info", "warn", "error"], var.log_level)
    error_message = "log_level is debug, info, warn or error."
  }
}

variable "log_retention_days" {
  description = "Days that the log is kept."
  type        = number
  default     = 30
  validation {
    condition = contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653],
    var.log_retention_days)
    error_message = "log_retention_days is one of the values that CloudWatch Logs takes: 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653."
  }
}

variable "environment" {
  description = "More environment variables of the function, such as AWS_ENDPOINT_URL on an emulator."
  type        = map(string)
  default     = {}
  validation {
    condition     = length([for k in keys(var.environment) : k if startswith(k, "FARREAD_")]) == 0
    error_message = "environment: names that begin with FARREAD_ are set by this module."
  }
}

variable "permissions_boundary_arn" {
  description = "Permissions boundary of the function's role; null: none."
  type        = string
  default     = null
}

variable "alarm_topic_arns" {
  description = "SNS topics that alarms are told to."
  type        = list(string)
  default     = []
}

variable "tags" {
  description = "Tags of everything that is made here."
  type        = map(string)
  default     = {}
}
