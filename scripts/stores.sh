#!/usr/bin/env bash
# stores.sh [NAME…]: gets S3 servers that others made, each in its version below, into
# ~/.cache/farread/stores, tries `farread doctor` and a round trip on each, and puts the table
# into docs/stores.md. With names it tries these alone, and only prints. Needs what `make build` makes, Go,
# Python 3.11, Java 17 with Maven, cargo, and for LocalStack root and debootstrap, or its
# address in E2E_ENDPOINT. A quarter of an hour the first time, then three minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

versitygw=$(awk '$1 == "github.com/versity/versitygw" {print substr($2, 2)}' localcloud/go.mod)
moto=5.2.5
gofakes3=1.2.0
s3mock=4.11.0
s3sfs=0.14.1
localstack=$(sed -n 's/^VERSION=\([0-9.]*\).*/\1/p' localstack/build-image.sh)

kept=${XDG_CACHE_HOME:-$HOME/.cache}/farread/stores
mkdir -p "$kept"
say() { echo "stores: $*" >&2; }

get_versitygw() { # as localcloud embeds it
    servers+=("versitygw $versitygw=bin/localcloud --dir {dir} --addr 127.0.0.1:0")
}

get_moto() {
    local venv=$kept/moto-$moto
    if [[ ! -f $venv/ready ]]; then
        python3 -m venv "$venv"
        "$venv/bin/pip" install --quiet --disable-pip-version-check "moto[s3,server]==$moto"
        touch "$venv/ready"
    fi
    servers+=("moto $moto=$venv/bin/moto_server -H 127.0.0.1 -p {port}")
}

get_gofakes3() {
    local dir=$kept/gofakes3-$gofakes3
    [[ -x $dir/gofakes3 ]] || GOFLAGS=-trimpath CGO_ENABLED=0 GOBIN=$dir go install "github.com/johannesboyne/gofakes3/cmd/gofakes3@v$gofakes3"
    servers+=("gofakes3 $gofakes3=$dir/gofakes3 -backend memory -host 127.0.0.1:{port}")
}

get_s3mock() {
    local jar=$kept/s3mock-$s3mock-exec.jar
    [[ -f $jar ]] || mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
        "-Dartifact=com.adobe.testing:s3mock:$s3mock:jar:exec" "-DoutputDirectory=$kept"
    servers+=("S3Mock $s3mock=java -Xmx512m -Dcom.adobe.testing.s3mock.store.root={dir} -Dserver.port={port2} -Dhttp.port={port} -jar $jar")
}

get_s3s-fs() {
    if [[ ! -x $kept/s3s-fs-$s3sfs/bin/s3s-fs ]]; then
        local target
        target=$(mktemp -d)
        CARGO_TARGET_DIR=$target cargo install --quiet --locked --features binary --root "$kept/s3s-fs-$s3sfs" "s3s-fs@$s3sfs" || { rm -rf "$target"; return 1; }
        rm -rf "$target"
    fi
    servers+=("s3s-fs $s3sfs=$kept/s3s-fs-$s3sfs/bin/s3s-fs --access-key test --secret-key testtest --host 127.0.0.1 --port {port} {dir}")
}

get_localstack() {
    if [[ -z ${E2E_ENDPOINT:-} ]]; then
        # shellcheck source=scripts/e2e-cloud.sh
        source scripts/e2e-cloud.sh
        command -v debootstrap >/dev/null || { say "debootstrap is missing"; return 1; }
        start_localstack || return 1
    fi
    servers+=("LocalStack $localstack=$E2E_ENDPOINT")
}

all=(versitygw moto gofakes3 s3mock s3s-fs localstack)
servers=()
lacks=()
for name in "${@:-${all[@]}}"; do
    say "getting $name"
    "get_$name" || lacks+=("$name")
done
page=(-page docs/stores.md)
[[ $# -eq 0 && ${#lacks[@]} -eq 0 ]] || page=()
go run ./scripts/stores -farread bin/farread "${page[@]}" "${servers[@]}"
[[ ${#lacks[@]} -eq 0 ]] || { say "docs/stores.md stays as it is: could not get ${lacks[*]}"; exit 1; }
