# The rules as the workers read them, and what follows from them.

data "aws_partition" "current" {}
data "aws_caller_identity" "current" {}
data "aws_region" "current" {}

locals {
  account  = data.aws_caller_identity.current.account_id
  region   = data.aws_region.current.region
  arn      = "arn:${data.aws_partition.current.partition}"
  uploads  = coalesce(var.uploads_bucket, "${var.name}-uploads-${local.account}-${local.region}")
  datasets = coalesce(var.datasets_bucket, "${var.name}-datasets-${local.account}-${local.region}")

  rules = [for r in var.rules : {
    bucket = coalesce(r.bucket, local.uploads), prefix = r.prefix, suffix = r.suffix,
    job    = r.job, format = r.format, codec = r.codec, records = r.records, layout = r.layout, chunk = r.chunk, csv = r.csv, append = r.append, to = r.to,
    out    = { bucket = coalesce(r.out.bucket, local.datasets), prefix = r.out.prefix }
  }]

  # One document for all functions: the first rule that matches decides whose an
  # upload is. Members that say nothing are left out: the environment is small.
  document = jsonencode([for r in local.rules : merge(
    { bucket = r.bucket, job = r.job, out = { for k, v in r.out : k => v if v != "" } },
    { for k in ["prefix", "suffix", "format", "codec", "records", "layout", "to"] : k => r[k] if r[k] != "" },
    r.chunk > 0 ? { chunk = r.chunk } : {},
    r.append ? { append = true } : {},
    r.csv == null ? {} : { csv = merge(
      { for k in ["time", "times", "time_format", "tz"] : k => r.csv[k] if r.csv[k] != "" },
      { for k in ["columns", "skip"] : k => r.csv[k] if length(r.csv[k]) > 0 },
      r.csv.sort ? { sort = true } : {},
    ) },
  )])

  environment = { for job, f in var.functions : job => merge(var.environment, {
    FARREAD_RULES      = local.document
    FARREAD_LOG        = var.log_level
    FARREAD_MAX_MEMORY = tostring(f.max_heap_mb)
  }) }

  # How many bytes each function's environment has: Lambda takes 4096.
  environment_bytes = { for job, vars in local.environment : job => sum([for k, v in vars :
    length(k) + floor(length(base64encode(v)) * 3 / 4)
  ]) }

  # What a rule reads and writes, by the beginning of keys. A folder that a marker
  # closes is read as a whole, and its output has a name of its own.
  reach = [for r in local.rules : (
    startswith("_SUCCESS", element(split("/", r.prefix), -1)) || startswith("manifest.json", element(split("/", r.prefix), -1))
  ) ? trimsuffix(r.prefix, element(split("/", r.prefix), -1)) : r.prefix]

  # Two rules whose places overlap: by the beginning of keys, and by their end.
  pairs = [for i, j in setproduct(range(length(local.rules)), range(length(local.rules))) : { a = local.rules[j[0]], b = local.rules[j[1]] } if j[0] < j[1]]

  loops = [for p in setproduct(local.rules, local.rules) : "${p[1].out.bucket}/${p[1].out.prefix}" if p[0].bucket == p[1].out.bucket && (
    startswith(p[0].prefix, p[1].out.prefix) || startswith(p[1].out.prefix, p[0].prefix) ||
    startswith(p[0].prefix, "errors/") || startswith("errors/", p[0].prefix)
  )]

  collisions = [for p in local.pairs : "${p.a.out.prefix} and ${p.b.out.prefix}" if p.a.out.prefix != p.b.out.prefix && (
    startswith(p.a.out.prefix, p.b.out.prefix) || startswith(p.b.out.prefix, p.a.out.prefix)
  )]

  # S3 refuses notifications that one upload could match twice.
  overlaps = [for p in local.pairs : "${p.a.prefix}*${p.a.suffix} and ${p.b.prefix}*${p.b.suffix}" if(
    startswith(p.a.prefix, p.b.prefix) || startswith(p.b.prefix, p.a.prefix)) && (
    endswith(p.a.suffix, p.b.suffix) || endswith(p.b.suffix, p.a.suffix)
  )]

  strangers = [for r in local.rules : "${r.bucket} to ${r.out.bucket}" if r.bucket != local.uploads || r.out.bucket != local.datasets]
}
