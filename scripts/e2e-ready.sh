#!/usr/bin/env bash
# Asked by `make e2e` before it builds anything: is there an image to run? Pulling one
# in the middle of a run fails late, and where there is no network with an error about
# names. Where no daemon answers, or another endpoint is named, the tests say so
# themselves.
set -euo pipefail
cd "$(dirname "$0")/.."

[[ -z ${E2E_ENDPOINT:-} ]] || exit 0
command -v docker >/dev/null && timeout 20 docker version >/dev/null 2>&1 || exit 0
image=${LOCALSTACK_IMAGE:-$(sed -n 's/^\tdefaultImage = "\([^"]*\)".*/\1/p' e2e/aws/main_test.go)}
! docker image inspect "$image" >/dev/null 2>&1 || exit 0
made=$(localstack/build-image.sh --name)
if [[ -z ${LOCALSTACK_IMAGE:-} ]] && docker image inspect "$made" >/dev/null 2>&1; then
    echo "e2e: no image $image here, but one that build-image.sh made: LOCALSTACK_IMAGE=$made make e2e" >&2
else
    echo "e2e: no image $image here: docker pull $image, or make one: LOCALSTACK_IMAGE=\$(localstack/build-image.sh) make e2e" >&2
fi
exit 1
