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

# Prints the name of a Python of at least 3.11.
find_python() {
  local name
  for name in python3 python3.13 python3.12 python3.11; do
    if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then
      echo "$name"
      return
    fi
  done
  return 1
}

# Makes ROOT/.venv with the packages of scripts/requirements.txt. A stamp of what was installed makes the second time quick.
ensure_venv() {
  local root=$1 python stamp
  local venv=$root/.venv wanted=$root/scripts/requirements.txt
  stamp=$(sha256sum < "$wanted")
  if [ "$(cat "$venv/.interop-stamp" 2> /dev/null)" = "$stamp" ] && "$venv/bin/python" -c '' 2> /dev/null; then
    return
  fi
  if ! python=$(find_python); then
    need_packages python3 python3-venv || return 1
    python=$(find_python) || { echo "error: Python 3.11 or newer is needed, found $(python3 --version 2>&1)" >&2; return 1; }
  fi
  "$python" -c 'import ensurepip' 2> /dev/null || need_packages python3-venv || return 1
  echo "installing scripts/requirements.txt into $venv"
  "$venv/bin/python" -c '' 2> /dev/null || timeout 300 "$python" -m venv --clear "$venv" || return 1
  timeout 900 "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$wanted" || return 1
  echo "$stamp" > "$venv/.interop-stamp"
}
