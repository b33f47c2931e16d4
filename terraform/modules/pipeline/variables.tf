variable "name" {
  description = "Begins the name of everything that is made here."
  type        = string
  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,22}[a-z0-9]$", var.name))
    error_message = "name has 3 to 24 lower-case letters, digits and hyphens, and begins with a letter: bucket names take no more."
  }
}

variable "rules" {
  description = "What becomes of an upload, the first rule that matches wins: the rules document of the workers. `bucket` and `out.bucket` may be left out; they are this module's buckets."
  type = list(object({
    bucket  = optional(string)           # that of the uploads
    prefix  = optional(string, "")       # keys begin with it
    suffix  = optional(string, "")       # keys end with it
    job     = string                     # `pack`, or `zoom` for zoom-cache files of series
    format  = optional(string, "")       # container to make: `gulp`, `b2nd` or `bloscpack`; empty: by content
    codec   = optional(string, "")       # of formats that compress, as `zstd-5`; of `zoom` the type of samples, as `pcm-i16`
    layout  = optional(string, "")       # which images of a gulp are one id: `clips`, `imagefolder`, `webdataset`, `flat`; empty: by their names
    records = optional(string, "")       # how bloscpack tells records apart: `lines`, `jsonl`, `files`, `u32le` …; empty: by content
    append  = optional(bool, false)      # the arrays or series of all uploads join one dataset, in the order of their keys; of format `b2nd`, or of the job `zoom`
    to      = optional(string, "")       # key of that dataset behind `out.prefix`, as `days.b2nd`
    chunk   = optional(number, 0)        # bytes of one chunk of a bloscpack; 0: its default
    csv = optional(object({              # of `zoom`: how CSVs are read
      time        = optional(string, "") # the column of the times, or columns joined by `+`
      times       = optional(string, "") # what numbers there are: `s`, `ms`, `us`, `ns`, `min`, `h`, `d`, `date`, `year`, `excel`
      time_format = optional(string, "") # how times are written, for strptime
      tz          = optional(string, "") # zone of times that tell none, as `Europe/Berlin`
      columns     = optional(list(string), [])
      skip        = optional(list(string), [])
      sort        = optional(bool, false) # rows are put in the order of their times, which otherwise must not go back
    }))
    out = optional(object({
      bucket = optional(string)     # that of the datasets
      prefix = optional(string, "") # begins every output's key
    }), {})
  }))
  default = [{ job = "pack" }]
  validation {
    condition     = length(var.rules) > 0
    error_message = "rules: there has to be one."
  }
  validation {
    condition     = alltrue([for r in var.rules : contains(["pack", "zoom"], r.job)])
    error_message = "rules: job is \"pack\" or \"zoom\"."
  }
  validation {
    condition     = alltrue([for r in var.rules : contains(["", "b2nd", "bloscpack", "gulp"], r.format)])
    error_message = "rules: format is \"b2nd\", \"bloscpack\" or \"gulp\", or left out: by content."
  }
  validation {
    condition     = alltrue([for r in var.rules : contains(["", "lines", "jsonl", "files", "u32le", "u32be", "u64le", "u64be", "varint", "chunks"], r.records)])
    error_message = "rules: records is \"lines\", \"jsonl\", \"files\", \"u32le\", \"u32be\", \"u64le\", \"u64be\", \"varint\" or \"chunks\", or left out: by content."
  }
  validation {
    condition     = alltrue([for r in var.rules : can(regex("^((pcm-)?(f32|f64|int|i8|i16|i32|i64)|bool|word|u8|u16|u32|u64)?$", r.codec)) if r.job == "zoom"])
    error_message = "rules: codec of the job zoom is a type of samples: f32, f64, i16, u8, pcm-i16 …"
  }
  validation {
    condition     = alltrue([for r in var.rules : r.format != "gulp" && can(regex("^(blosclz|lz4|lz4hc|zlib|zstd)(-[0-9])?$", r.codec)) if r.job == "pack" && r.codec != ""])
    error_message = "rules: codec of the job pack is of b2nd and bloscpack: blosclz, lz4, lz4hc, zlib or zstd, and after a dash a level."
  }
  validation {
    condition     = alltrue([for r in var.rules : contains(["", "clips", "imagefolder", "webdataset", "flat"], r.layout)])
    error_message = "rules: layout is \"clips\", \"imagefolder\", \"webdataset\" or \"flat\", or left out: by the names."
  }
  validation {
    condition     = alltrue([for r in var.rules : r.format == "gulp" if r.layout != ""])
    error_message = "rules: layout is of format gulp."
  }
  validation {
    condition     = alltrue([for r in var.rules : r.format == "" && r.records == "" && r.chunk == 0 if r.job == "zoom"])
    error_message = "rules: format, records and chunk say nothing about the job zoom."
  }
  validation {
    condition     = alltrue([for r in var.rules : r.job == "zoom" && contains(["", "s", "ms", "us", "ns", "min", "h", "d", "date", "year", "excel"], r.csv.times) && (r.csv.times == "" || r.csv.time_format == "") if r.csv != null])
    error_message = "rules: csv is of the job zoom; its times is a unit, and not beside time_format."
  }
  validation {
    condition     = alltrue([for r in var.rules : r.append || r.to == ""])
    error_message = "rules: to names the dataset of a rule with append = true."
  }
  validation {
    condition     = alltrue([for r in var.rules : (r.job == "zoom" || r.format == "b2nd") && endswith(r.to, r.job == "zoom" ? ".zoom" : ".b2nd") && length(base64encode("${r.to}x")) <= 684 if r.append]) # 4 letters for every 3 of 513 bytes
    error_message = "rules: append is of format b2nd, with a to that ends in .b2nd, or of the job zoom, with one that ends in .zoom; to has at most 512 bytes: the key of the dataset behind out.prefix."
  }
  validation {
    condition     = alltrue([for r in var.rules : r.format == "bloscpack" if r.records != "" || r.chunk != 0])
    error_message = "rules: records and chunk are of format bloscpack."
  }
  validation {
    condition     = alltrue([for r in var.rules : r.chunk >= 0 && r.chunk <= 33554432 && floor(r.chunk) == r.chunk && (r.chunk == 0 || r.records == "" || r.records == "chunks")])
    error_message = "rules: chunk is a whole number of bytes up to 32 MiB, and says nothing about records of their own length."
  }
  validation {
    condition     = alltrue([for r in var.rules : length(base64encode("${r.out.prefix}xx")) <= 344]) # 4 letters for every 3 of 258 bytes
    error_message = "rules: out.prefix has at most 256 bytes."
  }
  validation {
    condition     = alltrue([for r in var.rules : length(base64encode("${r.prefix}x")) <= 684]) # 4 letters for every 3 of 513 bytes
    error_message = "rules: prefix has at most 512 bytes here: keys of outputs are cut where they would be too long, and a function may write below its prefixes alone."
  }
}

variable "functions" {
  description = "A function for each job that the rules name, `pack` and `zoom`. `zip` is the path of what `make zip` wrote for it and for `architecture`."
  type = map(object({
    zip             = string                # path of the archive
    memory_mb       = optional(number, 512) # memory, and with it processors and network
    timeout_s       = optional(number, 300) # longest invocation; a worker takes about a second for 20 MiB at worst
    batch_size      = optional(number, 1)   # most uploads of one invocation
    max_concurrency = optional(number, 10)  # most invocations at once
    max_heap_mb     = optional(number, 200) # soft limit of the heap
  }))
  validation {
    condition     = alltrue([for job, f in var.functions : contains(["pack", "zoom"], job)])
    error_message = "functions: there are functions for the jobs \"pack\" and \"zoom\"."
  }
  validation {
    condition     = toset(keys(var.functions)) == toset([for r in var.rules : r.job])
    error_message = "functions: one for each job that a rule names, and no other."
  }
  validation {
    condition     = alltrue([for f in values(var.functions) : f.memory_mb >= 256 && f.memory_mb <= 10240 && floor(f.memory_mb) == f.memory_mb])
    error_message = "functions: memory_mb is from 256, the bound of a worker, to 10240."
  }
  validation {
    condition     = alltrue([for f in values(var.functions) : f.timeout_s >= 30 && f.timeout_s <= 900 && floor(f.timeout_s) == f.timeout_s])
    error_message = "functions: timeout_s is from 30 to 900."
  }
  validation {
    condition     = alltrue([for f in values(var.functions) : f.batch_size >= 1 && f.batch_size <= 10 && floor(f.batch_size) == f.batch_size])
    error_message = "functions: batch_size is from 1 to 10: more would have to be waited for."
  }
  validation {
    condition     = alltrue([for f in values(var.functions) : f.max_concurrency >= 2 && f.max_concurrency <= 1000 && floor(f.max_concurrency) == f.max_concurrency])
    error_message = "functions: max_concurrency is from 2 to 1000."
  }
  validation {
    condition     = alltrue([for f in values(var.functions) : f.max_heap_mb >= 16 && f.max_heap_mb <= f.memory_mb - 56])
    error_message = "functions: max_heap_mb is from 16 to memory_mb - 56: the program itself needs room, too."
  }
}

variable "analysis" {
  description = "A state machine and a function for `farread analyze --on`; null: neither is made."
  type = object({
    zip                  = string                 # path of the archive
    memory_mb            = optional(number, 1769) # memory, and with it processors and network; from 1769 a whole processor
    timeout_s            = optional(number, 900)  # longest call; a part takes seconds
    max_concurrency      = optional(number, 100)  # most calls at once
    reserved_concurrency = optional(number)       # so many of the account's concurrent calls are its own, and no more; null: none are set aside
    sources = optional(list(object({              # what may be analyzed; null: the datasets bucket
      bucket = string                             # its name
      prefix = optional(string, "")               # keys begin with it
    })))
  })
  default = null
  validation {
    condition     = var.analysis == null || try(var.analysis.memory_mb >= 512 && var.analysis.memory_mb <= 10240 && floor(var.analysis.memory_mb) == var.analysis.memory_mb, false)
    error_message = "analysis: memory_mb is from 512 to 10240."
  }
  validation {
    condition     = var.analysis == null || try(var.analysis.timeout_s >= 30 && var.analysis.timeout_s <= 900 && floor(var.analysis.timeout_s) == var.analysis.timeout_s, false)
    error_message = "analysis: timeout_s is from 30 to 900."
  }
  validation {
    condition     = var.analysis == null || try(var.analysis.max_concurrency >= 1 && var.analysis.max_concurrency <= 10000 && floor(var.analysis.max_concurrency) == var.analysis.max_concurrency, false)
    error_message = "analysis: max_concurrency is from 1 to 10000, the most that a distributed map runs."
  }
  validation {
    condition     = var.analysis == null || try(coalesce(var.analysis.reserved_concurrency, 1) >= 1 && floor(coalesce(var.analysis.reserved_concurrency, 1)) == coalesce(var.analysis.reserved_concurrency, 1), false)
    error_message = "analysis: reserved_concurrency is a whole number from 1: with 0 nothing would ever run."
  }
  validation {
    condition     = var.analysis == null || try(var.analysis.sources == null || length(coalesce(var.analysis.sources, [])) > 0 && length(coalesce(var.analysis.sources, [])) <= 20, false)
    error_message = "analysis: sources are from 1 to 20, or left out: the datasets bucket."
  }
}

variable "packs" {
  description = "A state machine and a function for `farread pack --on`; null: neither is made."
  type = object({
    zip                  = string                 # path of the archive
    memory_mb            = optional(number, 1769) # memory, and with it processors and network; from 1769 a whole processor
    timeout_s            = optional(number, 900)  # longest call; a part takes seconds
    max_concurrency      = optional(number, 100)  # most calls at once
    reserved_concurrency = optional(number)       # so many of the account's concurrent calls are its own, and no more; null: none are set aside
    sources = optional(list(object({              # what may be packed; null: the uploads bucket
      bucket = string                             # its name
      prefix = optional(string, "")               # keys begin with it
    })))
    outputs = optional(list(object({ # where it may write; null: the datasets bucket
      bucket = string                # its name
      prefix = optional(string, "")  # keys begin with it
    })))
  })
  default = null
  validation {
    condition     = var.packs == null || try(var.packs.memory_mb >= 512 && var.packs.memory_mb <= 10240 && floor(var.packs.memory_mb) == var.packs.memory_mb, false)
    error_message = "packs: memory_mb is from 512 to 10240."
  }
  validation {
    condition     = var.packs == null || try(var.packs.timeout_s >= 30 && var.packs.timeout_s <= 900 && floor(var.packs.timeout_s) == var.packs.timeout_s, false)
    error_message = "packs: timeout_s is from 30 to 900."
  }
  validation {
    condition     = var.packs == null || try(var.packs.max_concurrency >= 1 && var.packs.max_concurrency <= 10000 && floor(var.packs.max_concurrency) == var.packs.max_concurrency, false)
    error_message = "packs: max_concurrency is from 1 to 10000, the most that a distributed map runs."
  }
  validation {
    condition     = var.packs == null || try(coalesce(var.packs.reserved_concurrency, 1) >= 1 && floor(coalesce(var.packs.reserved_concurrency, 1)) == coalesce(var.packs.reserved_concurrency, 1), false)
    error_message = "packs: reserved_concurrency is a whole number from 1: with 0 nothing would ever run."
  }
  validation {
    condition     = var.packs == null || try(var.packs.sources == null || length(coalesce(var.packs.sources, [])) > 0 && length(coalesce(var.packs.sources, [])) <= 20, false)
    error_message = "packs: sources are from 1 to 20, or left out: the uploads bucket."
  }
  validation {
    condition     = var.packs == null || try(var.packs.outputs == null || length(coalesce(var.packs.outputs, [])) > 0 && length(coalesce(var.packs.outputs, [])) <= 20, false)
    error_message = "packs: outputs are from 1 to 20, or left out: the datasets bucket."
  }
}

variable "backfill" {
  description = "A state machine for `farread backfill --on`, which calls the functions; null: none is made."
  type = object({
    max_concurrency = optional(number, 10) # most calls at once, beside those of uploads
  })
  default = null
  validation {
    condition     = var.backfill == null || try(var.backfill.max_concurrency >= 1 && var.backfill.max_concurrency <= 10000 && floor(var.backfill.max_concurrency) == var.backfill.max_concurrency, false)
    error_message = "backfill: max_concurrency is from 1 to 10000, the most that a distributed map runs."
  }
}

variable "work" {
  description = "Where `analysis`, `packs` and `backfill` keep plans, parts and results. A bucket that is given is not changed: see to it that what lies under the prefix expires."
  type = object({
    bucket      = optional(string)     # its name; null: NAME-work-ACCOUNT-REGION is made
    prefix      = optional(string, "") # keys begin with it
    expire_days = optional(number, 7)  # days after which all in a bucket that is made here is removed
  })
  default = {}
  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", coalesce(var.work.bucket, "some-name")))
    error_message = "work: bucket is no name of a bucket."
  }
  validation {
    condition     = (var.work.prefix == "" || endswith(var.work.prefix, "/")) && !startswith(var.work.prefix, "/") && length(base64encode("${var.work.prefix}x")) <= 344 # 4 letters for every 3 of 257 bytes
    error_message = "work: prefix ends in a slash, begins with none, and has at most 256 bytes."
  }
  validation {
    condition     = var.work.expire_days >= 1 && floor(var.work.expire_days) == var.work.expire_days
    error_message = "work: expire_days is a whole number from 1."
  }
}

variable "architecture" {
  description = "Processor of the functions; the zips have to be for it."
  type        = string
  default     = "arm64"
  validation {
    condition     = contains(["arm64", "x86_64"], var.architecture)
    error_message = "architecture is arm64 or x86_64."
  }
}

variable "event_source" {
  description = "How uploads reach the queues: `eventbridge`, or `sqs` for S3's own notifications straight to them. Those take rules only that cannot both match, and are the bucket's one notification document."
  type        = string
  default     = "eventbridge"
  validation {
    condition     = contains(["eventbridge", "sqs"], var.event_source)
    error_message = "event_source is eventbridge or sqs."
  }
}

variable "create_uploads_bucket" {
  description = "Make the bucket of the uploads; false: `uploads_bucket` is there already."
  type        = bool
  default     = true
}

variable "uploads_bucket" {
  description = "Name of the bucket of the uploads; null: NAME-uploads-ACCOUNT-REGION."
  type        = string
  default     = null
  validation {
    condition     = var.create_uploads_bucket || var.uploads_bucket != null
    error_message = "uploads_bucket: a bucket that is not made here has to be named."
  }
  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", coalesce(var.uploads_bucket, "some-name")))
    error_message = "uploads_bucket is no bucket name."
  }
}

variable "create_datasets_bucket" {
  description = "Make the bucket of the datasets; false: `datasets_bucket` is there already."
  type        = bool
  default     = true
}

variable "datasets_bucket" {
  description = "Name of the bucket of the datasets; null: NAME-datasets-ACCOUNT-REGION. It may be that of the uploads, if no rule watches what rules write."
  type        = string
  default     = null
  validation {
    condition     = var.create_datasets_bucket || var.datasets_bucket != null
    error_message = "datasets_bucket: a bucket that is not made here has to be named."
  }
  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", coalesce(var.datasets_bucket, "some-name")))
    error_message = "datasets_bucket is no bucket name."
  }
}

variable "manage_notification" {
  description = "Write the uploads bucket's notification document, which replaces what is there; null: only of a bucket that is made here. Where it is not written, EventBridge has to be on, or the queues notified, by who owns the bucket."
  type        = bool
  default     = null
}

variable "force_destroy" {
  description = "Let a destroy delete buckets that are not empty, with all that is in them."
  type        = bool
  default     = false
}

variable "kms_key_arn" {
  description = "ARN of a KMS key that encrypts the buckets' objects; null: keys of S3. The key's policy has to let this account's roles use it."
  type        = string
  default     = null
  validation {
    condition     = var.kms_key_arn == null || can(regex("^arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/", var.kms_key_arn))
    error_message = "kms_key_arn is the ARN of a key, not of an alias."
  }
}

variable "access_log_bucket" {
  description = "Bucket for S3's access logs of the buckets that are made here; null: none are kept."
  type        = string
  default     = null
}

variable "abort_incomplete_days" {
  description = "Days after which uploads in parts that nobody finished are removed, a killed worker's among them."
  type        = number
  default     = 1
  validation {
    condition     = var.abort_incomplete_days >= 1 && floor(var.abort_incomplete_days) == var.abort_incomplete_days
    error_message = "abort_incomplete_days is a whole number from 1."
  }
}

variable "noncurrent_days" {
  description = "Days after which replaced and deleted versions are removed; null: never."
  type        = number
  default     = null
  validation {
    condition     = coalesce(var.noncurrent_days, 15) >= 15 && floor(coalesce(var.noncurrent_days, 15)) == coalesce(var.noncurrent_days, 15)
    error_message = "noncurrent_days is a whole number from 15: events wait in the dead-letter queue for 14 days, and name versions."
  }
}

variable "labels_from_tags" {
  description = "Let the function `pack` read the tags of uploads, which may hold labels."
  type        = bool
  default     = true
}

variable "log_level" {
  description = "Least level of the functions' log."
  type        = string
  default     = "info"
  validation {
    condition     = contains(["debug", "info", "warn", "error"], var.log_level)
    error_message = "log_level is debug, info, warn or error."
  }
}

variable "log_retention_days" {
  description = "Days that the logs are kept."
  type        = number
  default     = 30
  validation {
    condition = contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653],
    var.log_retention_days)
    error_message = "log_retention_days is one of the values that CloudWatch Logs takes: 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653."
  }
}

variable "environment" {
  description = "More environment variables of the functions, such as AWS_ENDPOINT_URL on an emulator."
  type        = map(string)
  default     = {}
  validation {
    condition     = length([for k in keys(var.environment) : k if startswith(k, "FARREAD_")]) == 0
    error_message = "environment: names that begin with FARREAD_ are set by this module."
  }
}

variable "permissions_boundary_arn" {
  description = "Permissions boundary of the functions' roles; null: none."
  type        = string
  default     = null
}

variable "alarm_topic_arns" {
  description = "SNS topics that alarms are told to."
  type        = list(string)
  default     = []
}

variable "create_alarm_topic" {
  description = "Make an SNS topic that alarms are told to; who is to hear of them subscribes to it."
  type        = bool
  default     = false
}

variable "max_age_s" {
  description = "Age of the oldest waiting upload, in seconds, that is an alarm."
  type        = number
  default     = 3600
  validation {
    condition     = var.max_age_s >= 60 && var.max_age_s < 345600
    error_message = "max_age_s is from 60, and below the four days that uploads wait."
  }
}

variable "tags" {
  description = "Tags of everything that is made here."
  type        = map(string)
  default     = {}
}
