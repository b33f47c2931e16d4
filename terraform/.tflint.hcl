# The rules that tflint brings along, all of them. The plugin with AWS's values is
# left out: it comes from a place that not every machine reaches; the Go test
# beside this file compares values with the SDK's instead.
config {
  call_module_type = "local"
}

plugin "terraform" {
  enabled = true
  preset  = "all"
}
