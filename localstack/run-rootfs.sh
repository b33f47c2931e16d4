#!/usr/bin/env bash
# Runs the LocalStack of `build-image.sh --rootfs DIR` without Docker, in a chroot, on
# a port of loopback, until it is ended. Its functions are its child processes, and
# what it keeps is gone with it.
#
#   run-rootfs.sh DIR PORT
set -euo pipefail
root=${1:?folder} port=${2:?port}
mkdir -p "$root/tmp" "$root/var/lib/localstack"
exec chroot "$root" env -i PATH=/opt/localstack/bin:/usr/local/bin:/usr/bin:/bin HOME=/root LANG=C.UTF-8 \
    GATEWAY_LISTEN="127.0.0.1:$port" LOCALSTACK_HOST="127.0.0.1:$port" LAMBDA_RUNTIME_EXECUTOR=child \
    DISABLE_EVENTS=1 SKIP_SSL_CERT_DOWNLOAD=1 DNS_ADDRESS=0 PYTHONUNBUFFERED=1 PERSISTENCE=0 \
    LAMBDA_RETRY_BASE_DELAY=1 LAMBDA_EVENT_SOURCE_MAPPING_POLL_INTERVAL_SEC=0.1 \
    LAMBDA_EVENT_SOURCE_MAPPING_MAX_BACKOFF_ON_EMPTY_POLL_SEC=0.2 \
    /opt/localstack/bin/python -m localstack.runtime.main
