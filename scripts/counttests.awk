# Reads what `go test -v` prints, passes on all but the comings and goings of tests, and
# ends with how many there were: a run that tests nothing should look like one.
/^=== / { next }
match($0, /^ *--- (PASS|FAIL|SKIP): /) {
	kind = substr($0, index($0, "--- ") + 4, 4)
	n[kind]++
	if (kind == "PASS") next
}
{ print; fflush() }
END { printf "%d tests and parts of tests passed, %d failed, %d were skipped\n", n["PASS"], n["FAIL"], n["SKIP"] }
