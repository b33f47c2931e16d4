# Sourced by .ci/run on a machine that it may install things on: finds or makes what
# `make e2e` runs on, says so in its environment, and ends at exit what it started.
#
# In this order: the Docker daemon that answers; one that is installed from the
# distribution's packages and started here, its ports on loopback; without a daemon
# LocalStack in a chroot; without that nothing, and then the scenarios run on the
# local cloud only, which `make test` does anyway.
# shellcheck shell=bash

cloud_run=$(mktemp -d /tmp/farread-cloud.XXXXXX) # short: it holds a socket
cloud_policy=                                     # a file that keeps packages from starting daemons
cloud_kept=${XDG_CACHE_HOME:-$HOME/.cache}/farread
cloud_pids=() # what ends at exit, the last first; below 0: a process group

# cloud_end_with GROUP: ends the process group, too, before what it uses.
cloud_end_with() { cloud_pids=("-$1" "${cloud_pids[@]}"); }

cloud_stop() {
    local pid i
    for pid in "${cloud_pids[@]}"; do
        kill -- "$pid" 2>/dev/null || continue
        for ((i = 0; i < 100; i++)); do kill -0 -- "$pid" 2>/dev/null && sleep 0.1 || break; done
        kill -KILL -- "$pid" 2>/dev/null || true
    done
    rm -rf "$cloud_run" "$cloud_policy"
}
trap cloud_stop EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

docker_answers() { timeout 20 docker version >/dev/null 2>&1; }

# start_docker [FLAG...]: a daemon of our own on a socket of its own.
start_docker() {
    local i pid
    dockerd --ip 127.0.0.1 -H "unix://$cloud_run/docker.sock" --exec-root "$cloud_run/exec" --pidfile "$cloud_run/dockerd.pid" "$@" \
        >"$cloud_run/dockerd.log" 2>&1 &
    pid=$!
    export DOCKER_HOST=unix://$cloud_run/docker.sock TESTCONTAINERS_HOST_OVERRIDE=127.0.0.1
    for ((i = 0; i < 900; i++)); do
        kill -0 "$pid" 2>/dev/null || break
        docker_answers && { cloud_pids+=("$pid"); return; }
        sleep 0.2
    done
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
    unset DOCKER_HOST TESTCONTAINERS_HOST_OVERRIDE
    tail -n 3 "$cloud_run/dockerd.log" >&2
    return 1
}

# install_docker: without the daemon that the package would start, which nobody ends.
install_docker() {
    local policy=/usr/sbin/policy-rc.d status=0
    if [[ $EUID -eq 0 && ! -e $policy ]] && printf '#!/bin/sh\nexit 101\n' >$policy; then
        cloud_policy=$policy
        chmod +x $policy
    fi
    apt dockerd docker.io && apt docker docker-cli || status=1
    rm -f "$cloud_policy"
    cloud_policy=
    return $status
}

have_docker() {
    docker_answers && return
    install_docker || return 1
    docker_answers || start_docker || start_docker --storage-driver=vfs
}

# have_image: the one that is named, or made here, or LocalStack's own, which is
# pulled where it is not there.
have_image() {
    [[ -z ${LOCALSTACK_IMAGE:-} ]] || return 0
    if { localstack/build-image.sh --there || apt debootstrap debootstrap; } && LOCALSTACK_IMAGE=$(localstack/build-image.sh | tail -n 1); then return; fi
    LOCALSTACK_IMAGE=localstack/localstack:4.14.0
    docker image inspect $LOCALSTACK_IMAGE >/dev/null 2>&1 || timeout 900 docker pull -q $LOCALSTACK_IMAGE >/dev/null && return
    unset LOCALSTACK_IMAGE
    return 1
}

# start_localstack: without Docker, as processes in a chroot on a free port.
start_localstack() {
    local root port i pid
    root=$cloud_kept/localstack-$(localstack/build-image.sh --name | sed 's/.*\.//')
    [[ -d $root ]] || localstack/build-image.sh --rootfs "$root" || return 1
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    localstack/run-rootfs.sh "$root" "$port" >"$cloud_run/localstack.log" 2>&1 &
    pid=$!
    for ((i = 0; i < 900; i++)); do
        kill -0 "$pid" 2>/dev/null || break
        if python3 -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:$port/_localstack/health', timeout=2)" 2>/dev/null; then
            cloud_pids+=("$pid")
            export E2E_ENDPOINT=http://127.0.0.1:$port
            return
        fi
        sleep 0.2
    done
    kill "$pid" 2>/dev/null || true
    tail -n 5 "$cloud_run/localstack.log" >&2
    return 1
}

find_cloud() {
    if [[ -n ${E2E_ENDPOINT:-} ]]; then
        say "end-to-end tests at $E2E_ENDPOINT"
        return
    fi
    local lack="NO DOCKER DAEMON RUNS HERE"
    if have_docker; then
        if have_image; then
            export LOCALSTACK_IMAGE
            say "end-to-end tests on $LOCALSTACK_IMAGE in Docker $(docker version -f '{{.Server.Version}}')"
            return
        fi
        lack="DOCKER RUNS, BUT AN IMAGE OF LOCALSTACK CAN BE NEITHER MADE NOR PULLED"
    fi
    echo "!! $lack: the end-to-end tests run on LocalStack in a chroot, not in a container" >&2
    apt debootstrap debootstrap && start_localstack && return
    echo "!! AND NO LOCALSTACK EITHER: the scenarios run on the local cloud only; deployment, SQS, SNS and EventBridge go untested" >&2
    return 1
}
