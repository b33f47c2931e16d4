# State machines of Step Functions: `farread analyze --on` and `farread pack --on` run parts of
# plans on them, `farread backfill --on` the functions over what is in the uploads bucket
# already.

locals {
  work        = coalesce(var.work.bucket, "${var.name}-work-${local.account}-${local.region}")
  create_work = var.work.bucket == null && (var.analysis != null || var.packs != null || var.backfill != null)
  work_arn    = "${local.arn}:s3:::${local.work}"
  work_prefix = replace(replace(replace(var.work.prefix, "$", "$${$}"), "*", "$${*}"), "?", "$${?}")

  parts_suffix = { analysis = "analyze", packs = "packs" }

  states = "${local.arn}:states:${local.region}:${local.account}"

  # Names are made here, so that a machine's own rights can name it before it is there.
  function_prefix = "${local.arn}:lambda:${local.region}:${local.account}:function:${var.name}-"
  machines = merge(
    { for key, most in { for k, v in { analysis = var.analysis, packs = var.packs } : k => v.max_concurrency if v != null } : key => {
      name        = "${var.name}-${key}"
      comment     = { analysis = "farread analyze --on", packs = "farread pack --on" }[key]
      definition  = replace(templatefile("${path.module}/analysis.asl.json", { function_arn = "${local.function_prefix}${local.parts_suffix[key]}", max_concurrency = most }), "arn:aws:states:::", "${local.arn}:states:::")
      functions   = ["${local.function_prefix}${local.parts_suffix[key]}"]
      writes      = []
      description = { analysis = "An analysis failed: farread analyze tells why; the same command does what is missing.", packs = "A pack failed: farread pack tells why; the same command does what is missing." }[key]
    } },
    { for key, name in { for k in var.backfill == null ? [] : ["backfill"] : k => "${var.name}-${k}" } : key => {
      name        = name
      comment     = "farread backfill --on"
      definition  = replace(templatefile("${path.module}/backfill.asl.json", { function_prefix = local.function_prefix, max_concurrency = var.backfill.max_concurrency }), "arn:aws:states:::", "${local.arn}:states:::")
      functions   = [for job in keys(var.functions) : "${local.function_prefix}${job}"]
      writes      = ["${local.work_arn}/${local.work_prefix}backfill/*"] # what became of each batch
      description = "A backfill failed: see its execution; the same command of farread backfill does what is missing."
    } },
  )

  key_statement = [for key in var.kms_key_arn == null ? [] : [var.kms_key_arn] : {
    Sid       = "Key"
    Effect    = "Allow"
    Action    = ["kms:Decrypt", "kms:GenerateDataKey"]
    Resource  = [key]
    Condition = { StringEquals = { "kms:ViaService" = "s3.${local.region}.amazonaws.com" } }
  }]

  # A distributed map starts executions of its own machine.
  machine_policies = { for key, m in local.machines : key => jsonencode({ Version = "2012-10-17", Statement = concat(
    [
      { Sid = "Invoke", Effect = "Allow", Action = ["lambda:InvokeFunction"], Resource = m.functions },
      { Sid = "Children", Effect = "Allow", Action = ["states:StartExecution"], Resource = ["${local.states}:stateMachine:${m.name}"] },
      {
        Sid      = "Executions"
        Effect   = "Allow"
        Action   = ["states:DescribeExecution", "states:StopExecution"]
        Resource = ["${local.states}:execution:${m.name}:*", "${local.states}:execution:${m.name}/*"]
      },
      { Sid = "List", Effect = "Allow", Action = ["s3:GetObject"], Resource = ["${local.work_arn}/${local.work_prefix}*"] },
    ],
    [for place in m.writes : { Sid = "Results", Effect = "Allow", Action = ["s3:PutObject"], Resource = [place] }],
    local.key_statement,
  ) }) }

  machine_alarms = { for key, m in local.machines : "${key}-failed" => {
    text      = m.description
    namespace = "AWS/States", metric = "ExecutionsFailed", statistic = "Sum", above = 0
    dimension = { StateMachineArn = "${local.states}:stateMachine:${m.name}" }
  } }
}

resource "aws_iam_role" "machine" {
  for_each             = local.machines
  name                 = "${each.value.name}-machine-${local.region}"
  permissions_boundary = var.permissions_boundary_arn
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "states.amazonaws.com" }
      Condition = { StringEquals = { "aws:SourceAccount" = local.account }, ArnLike = { "aws:SourceArn" = "${local.states}:stateMachine:*" } }
    }]
  })
  tags = var.tags
}

resource "aws_iam_role_policy" "machine" {
  for_each = local.machines
  name     = "machine"
  role     = aws_iam_role.machine[each.key].name
  policy   = local.machine_policies[each.key]
}

resource "aws_sfn_state_machine" "this" {
  #checkov:skip=CKV_AWS_284:tracing needs rights on everything; the history of an execution has all of its steps
  #checkov:skip=CKV_AWS_285:logs need rights on everything; Step Functions keeps the history for 90 days, and the functions log what they do
  for_each   = local.machines
  name       = each.value.name
  type       = "STANDARD"
  role_arn   = aws_iam_role.machine[each.key].arn
  definition = each.value.definition
  tags       = var.tags
  depends_on = [aws_iam_role_policy.machine]
}
