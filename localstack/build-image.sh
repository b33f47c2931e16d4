#!/usr/bin/env bash
# Makes a local image of LocalStack from packages, for machines that cannot pull
# images: Debian's (debootstrap, trixie for its Python 3.13) and Python's (uv,
# resolving as of LocalStack's release), with the executor of this folder in the
# place of the Lambda containers. Needs root, debootstrap, python3-venv and a
# Docker daemon; takes about two minutes, and nothing if the image is there.
#
#   build-image.sh          makes the image if it is missing, prints its name last
#   build-image.sh --name   only prints the name: it changes with what goes in
#   build-image.sh --there  only says by its exit status whether Docker has it
#   build-image.sh --rootfs DIR   lays the file system into DIR and stops there
set -euo pipefail
cd "$(dirname "$0")"

VERSION=4.14.0      # the last that starts without a token
AS_OF=2026-03-01T00:00:00Z # packages newer than this are not looked at
UV_VERSION=0.13.9
SUITE=trixie        # LocalStack 4.14 needs Python 3.13

inputs=$(cat build-image.sh executor/pyproject.toml executor/farread_executor.py | sha256sum)
NAME=farread/localstack:$VERSION-local.h${inputs:0:12}
[[ ${1:-} != --name ]] || { echo "$NAME"; exit; }

there() { docker image inspect "$NAME" >/dev/null 2>&1; }
if [[ ${1:-} == --there ]]; then
    there
    exit
fi

say() { echo "build-image: $*" >&2; }
missing() { say "$1 is missing: install $2"; exit 1; }
if [[ ${1:-} != --rootfs ]]; then
    command -v docker >/dev/null || missing docker docker.io
    ! there || { say "$NAME is there"; echo "$NAME"; exit; }
fi
[[ $EUID -eq 0 ]] || { say "debootstrap needs root"; exit 1; }
command -v debootstrap >/dev/null || missing debootstrap debootstrap
python3 -c 'import venv, ensurepip' 2>/dev/null || missing "Python's venv" python3-venv

work=$(mktemp -d "${TMPDIR:-/var/tmp}/localstack-image.XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/root
SECONDS=0

debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates "$SUITE" "$root" >"$work/log" 2>&1 ||
    { tail -n 20 "$work/log" >&2; exit 1; }
say "Debian $SUITE after $SECONDS s"

# Packages come through this machine's settings; none of them stays in the image.
python3 -m venv "$work/uv"
"$work/uv/bin/pip" -q install "uv==$UV_VERSION"
cp "$work/uv/bin/uv" "$root/usr/local/bin/uv"
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
certificates=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
[[ ! -f $certificates ]] || cp -L "$certificates" "$root/tmp/certificates.pem"
cp -r executor "$root/tmp/executor"

inside() {
    chroot "$root" env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/root VIRTUAL_ENV=/opt/localstack \
        SSL_CERT_FILE=/tmp/certificates.pem UV_NO_CACHE=1 \
        ${http_proxy+http_proxy="$http_proxy"} ${https_proxy+https_proxy="$https_proxy"} \
        ${UV_INDEX_URL+UV_INDEX_URL="$UV_INDEX_URL"} ${UV_DEFAULT_INDEX+UV_DEFAULT_INDEX="$UV_DEFAULT_INDEX"} "$@"
}
inside python3 -m venv --without-pip /opt/localstack
inside uv pip install -q --exclude-newer "$AS_OF" "localstack-core[runtime]==$VERSION"
inside uv pip install -q --exclude-newer "$AS_OF" --no-deps /tmp/executor
say "LocalStack $VERSION after $SECONDS s"

rm -rf "$root"/usr/local/bin/uv "$root"/tmp/* "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* \
    "$root"/usr/share/{doc,man,locale,info}/* "$root"/etc/resolv.conf
mkdir -p "$root/etc/localstack/init/ready.d" "$root/var/lib/localstack"

if [[ ${1:-} == --rootfs ]]; then
    mkdir -p "$2"
    cp -a "$root/." "$2"
    exit
fi
tar -C "$root" --numeric-owner -c . | docker import \
    -c 'ENV PATH=/opt/localstack/bin:/usr/local/bin:/usr/bin:/bin LAMBDA_RUNTIME_EXECUTOR=child GATEWAY_LISTEN=0.0.0.0:4566 DISABLE_EVENTS=1 SKIP_SSL_CERT_DOWNLOAD=1 DNS_ADDRESS=0 PYTHONUNBUFFERED=1' \
    -c 'EXPOSE 4566' -c 'ENTRYPOINT ["/opt/localstack/bin/python","-m","localstack.runtime.main"]' - "$NAME" >/dev/null
say "$(docker image inspect -f '{{.Size}}' "$NAME" | awk '{printf "%.0f MB", $1 / 1e6}') in $SECONDS s"
echo "$NAME"
