# Sourced by scripts/bench and scripts/soak: sets ROOT, PYTHON and BENCH_D, and sees to it that the
# Python packages are there and that mounts are gone when the script ends.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BENCH_D=$ROOT/scripts/bench.d
VENV=$ROOT/.venv
PYTHON=$VENV/bin/python

if [[ ! -x $PYTHON ]]; then
    echo "creating $VENV" >&2
    timeout 300 python3 -m venv "$VENV"
fi
if ! timeout 60 "$PYTHON" -c 'import deltalake, duckdb, duckdb_extension_delta, pyarrow' 2>/dev/null; then
    echo "installing $BENCH_D/requirements.txt into $VENV" >&2
    timeout 900 "$PYTHON" -m pip install --quiet --disable-pip-version-check -r "$BENCH_D/requirements.txt"
fi

# Mounts announce themselves in this file, one "MOUNTPOINT<TAB>BINARY" a line, and Python strikes
# them out when they are gone. What is left when the script ends is taken down here.
DELTAFS_BENCH_MOUNTS=$(mktemp "${TMPDIR:-/tmp}/deltafs-bench-mounts.XXXXXX")
export DELTAFS_BENCH_MOUNTS

# What mounts keep is this run's own.
XDG_CACHE_HOME=$(mktemp -d "${TMPDIR:-/tmp}/deltafs-bench-cache.XXXXXX")
export XDG_CACHE_HOME

take_down() {
    local status=$?
    trap - EXIT
    [[ -n ${CHILD:-} ]] && kill -TERM "$CHILD" 2>/dev/null && wait "$CHILD" 2>/dev/null
    if [[ -s $DELTAFS_BENCH_MOUNTS ]]; then
        timeout 120 "$PYTHON" "$BENCH_D/mounts.py" "$DELTAFS_BENCH_MOUNTS" >&2 || true
    fi
    rm -rf "$DELTAFS_BENCH_MOUNTS" "$XDG_CACHE_HOME"
    exit "$status"
}
trap take_down EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Runs Python as a child that the traps above can reach, and returns its status.
run_python() {
    "$PYTHON" "$@" &
    CHILD=$!
    local status=0
    wait "$CHILD" || status=$?
    CHILD=
    return "$status"
}
