# Sourced by the scripts beside it, not run: finds Python, keeps the virtual environment.
# shellcheck shell=bash
#
#   PYTHON=/path/to/python3.12   the interpreter to use (default: the newest one from 3.11 on)
#   VENV=/path/to/environment    where the environment lives (default: .venv in the checkout)

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
VENV=${VENV:-$ROOT/.venv}
export PIP_DISABLE_PIP_VERSION_CHECK=1

say() { printf '%s\n' "== $*" >&2; }
die() { printf '%s\n' "${0##*/}: $*" >&2; exit 1; }

# True for an interpreter that starts, is new enough and can make environments.
usable_python() {
    "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    if [[ -n ${PYTHON:-} ]]; then
        usable_python "$PYTHON" || die "PYTHON=$PYTHON is no Python 3.11 or newer with venv"
        printf '%s' "$PYTHON"
        return
    fi
    local name
    for name in python3.14 python3.13 python3.12 python3.11 python3 python; do
        if usable_python "$name"; then
            printf '%s' "$name"
            return
        fi
    done
    die "no Python 3.11 or newer with its venv module was found; install one" \
        "(Debian, Ubuntu: apt install python3 python3-venv) or set PYTHON=/path/to/python"
}

# Which interpreter an environment was made from: its version and home.
identity() {
    "$1" -c 'import sys; print(sys.version_info[:3], sys.base_prefix)' 2>/dev/null
}

# True where the environment starts, has pip, and is of the interpreter that was asked for.
healthy_venv() {
    "$VENV/bin/python" -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' \
        >/dev/null 2>&1 || return 1
    [[ -z ${PYTHON:-} || $(identity "$PYTHON") == "$(identity "$VENV/bin/python")" ]]
}

make_venv() {
    local python
    healthy_venv && return
    python=$(find_python) || exit 1
    if [[ -e $VENV && -n $(ls -A "$VENV") ]]; then
        [[ -e $VENV/pyvenv.cfg ]] || die "$VENV exists and is no virtual environment; set VENV"
        say "replacing the broken environment $VENV"
    fi
    say "making the environment $VENV with $("$python" --version)"
    "$python" -m venv --clear "$VENV" || die "cannot make $VENV; set VENV=/path/that/can/be/written"
}

# What an installation depends on: the project's metadata, the interpreter, the checkout's place.
fingerprint() {
    { cat "$ROOT/pyproject.toml"; identity "$VENV/bin/python"; printf '%s' "$ROOT"; } | cksum
}

# install [EXTRA]: the package, editable, with an extra; does nothing where that is in place.
install() {
    local extra=${1:-} stamp=$VENV/.installed${1:+-$1} now
    now=$(fingerprint)
    [[ -f $stamp && $(<"$stamp") == "$now" ]] && return
    say "installing w2v-sgns${extra:+[$extra]} into $VENV (a minute where it downloads)"
    "$VENV/bin/python" -m pip install --quiet --editable "$ROOT${extra:+[$extra]}" || return 1
    printf '%s' "$now" >"$stamp"
}
