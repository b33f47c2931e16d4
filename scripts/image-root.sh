#!/usr/bin/env bash
# image-root.sh PROGRAM DIR: a folder for docker build, with the Dockerfile and, in root/, all that the image has.
set -euo pipefail
program=$1 dir=$2
top=$(cd "$(dirname "$0")/.." && pwd)
rm -rf "$dir"
mkdir -p "$dir"/root/{data,tmp,etc/ssl/certs}
chmod 1777 "$dir/root/tmp"
cp "$program" "$dir/root/farread"
cp "$top/LICENSE" "$dir/root/"
cp "$top/Dockerfile" "$dir/"
# Where Go looks for them on Linux.
go run -C "$top/scripts/release" ./roots >"$dir/root/etc/ssl/certs/ca-certificates.crt"
