# Sourced by scripts/interop and scripts/test: makes the Python environment that the comparisons need.

# Installs Debian packages that are missing; without root, says which.
need_packages() {
  local missing=()
  local package
  for package; do
    dpkg-query -W -f '${Status}' "$package" 2> /dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if ! command -v apt-get > /dev/null || [ "$(id -u)" != 0 ]; then
    echo "error: install ${missing[*]} first (as root: apt-get install ${missing[*]})" >&2
    return 1
  fi
  echo "installing ${missing[*]}"
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}" > /dev/null 2>&1 ||
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}" > /dev/null; }
}

# Prints the name of a Python from 3.FIRST to 3.LAST.
find_python() {
  local first=$1 last=$2 name
  for name in python3 python3.13 python3.12 python3.11 python3.10 python3.9; do
    if "$name" -c "import sys; sys.exit(not (3, $first) <= sys.version_info[:2] <= (3, $last))" 2> /dev/null; then
      echo "$name"
      return
    fi
  done
  return 1
}

# Makes ROOT/.venv with the packages of scripts/requirements.txt.
ensure_venv() {
  make_venv "$1/.venv" "$1/scripts/requirements.txt" 11 99
}

# Makes the environment VENV with the packages that REQUIREMENTS pins, by a Python from 3.FIRST to 3.LAST. A stamp of
# what was installed makes the second time quick.
make_venv() {
  local venv=$1 wanted=$2 first=$3 last=$4 python stamp
  stamp=$(sha256sum < "$wanted")
  if [ "$(cat "$venv/.interop-stamp" 2> /dev/null)" = "$stamp" ] && "$venv/bin/python" -c '' 2> /dev/null; then
    return
  fi
  if ! python=$(find_python "$first" "$last"); then
    if [ "$last" = 99 ]; then
      need_packages python3 python3-venv || return 1
      python=$(find_python "$first" "$last")
    else
      python=$(fetch_python "$venv-python" "3.$last")
    fi || { echo "error: Python 3.$first to 3.$last is needed, found $(python3 --version 2>&1)" >&2; return 1; }
  fi
  "$python" -c 'import ensurepip' 2> /dev/null || need_packages python3-venv || return 1
  echo "installing ${wanted##*/} into $venv"
  "$venv/bin/python" -c '' 2> /dev/null || timeout 300 "$python" -m venv --clear "$venv" || return 1
  timeout 900 "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$wanted" || return 1
  echo "$stamp" > "$venv/.interop-stamp"
}

# Makes ROOT/.venv-node: the packages of npm that scripts/requirements-node.txt pins, and a `python` which is that of
# ROOT/.venv, by which a run tells that they are there.
make_node() {
  local root=$1 home=$1/.venv-node wanted=$1/scripts/requirements-node.txt stamp
  stamp=$(sha256sum < "$wanted")
  [ "$(cat "$home/.interop-stamp" 2> /dev/null)" != "$stamp" ] || return 0
  command -v node > /dev/null && command -v npm > /dev/null || { echo "error: node and npm are needed" >&2; return 1; }
  echo "installing ${wanted##*/} into $home"
  mkdir -p "$home/bin"
  # shellcheck disable=SC2046 # a package a word
  timeout 600 npm install --prefix "$home" --no-save --no-audit --no-fund --loglevel=error $(grep -v '^#' "$wanted") \
    > /dev/null || return 1
  printf '#!/bin/sh\nexec "%s/.venv/bin/python" "$@"\n' "$root" > "$home/bin/python"
  chmod +x "$home/bin/python"
  echo "$stamp" > "$home/.interop-stamp"
}

# Installs a Python of that VERSION below DIRECTORY by way of uv, and prints its path.
fetch_python() {
  local directory=$1 version=$2
  {
    "$(find_python 9 99)" -m venv --clear "$directory" &&
      "$directory/bin/python" -m pip install --quiet --disable-pip-version-check uv==0.13.9 &&
      UV_PYTHON_INSTALL_DIR=$directory/pythons timeout 600 "$directory/bin/uv" python install "$version"
  } >&2 || return 1
  UV_PYTHON_INSTALL_DIR=$directory/pythons "$directory/bin/uv" python find --no-project --managed-python "$version"
}
