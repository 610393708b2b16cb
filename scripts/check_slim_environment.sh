#!/usr/bin/env bash
# `check` and `replay` in a real environment that has python-flint and the command-line library only.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PY:-python3}" -m venv "$work/venv"
bin="$work/venv/bin"
"$bin/python" -m pip install --quiet -c constraints.txt python-flint typer
mkdir "$work/source"  # a build inside the checkout would leave its traces there
cp -r pyproject.toml README.md LICENSE proofkv_verify "$work/source"
"$bin/python" -m pip install --quiet --no-deps "$work/source"
cat > "$work/make.py" <<'PYTHON'
import sys
from fractions import Fraction
from pathlib import Path

from proofkv_verify.certificate import Certificate, Counterexample, Interval, to_json
from proofkv_verify.kinds import Instance

fields = {"weights": (Fraction(1), Fraction(1)), "ratios": (Fraction(2), Fraction(2))}
quarter = Interval(Fraction(1, 4), Fraction(1, 4))
hidden = {**fields, "tilts": (Fraction(2), Fraction(1, 2))}
place = Path(sys.argv[1])
case = Counterexample("audit:example", Instance("softmax_tv", hidden), quarter, quarter, "fuzz", 0)
(place / "case.json").write_text(to_json(case))
certificate = Certificate("softmax_tv_mean_upper", Instance("softmax_tv", fields), Fraction(1, 2))
(place / "cert.json").write_text(to_json(certificate))
PYTHON
(cd "$work" && "$bin/python" make.py "$work")
for absent in torch numpy z3 hypothesis mpmath jinja2; do
  if "$bin/python" -c "import $absent" 2>/dev/null; then echo "$absent is installed: this checks nothing"; exit 1; fi
done
code=0
(cd "$work" && "$bin/proofkv-verify" replay case.json) || code=$?
[ "$code" = 1 ] || { echo "replay: expected exit code 1, got $code"; exit 1; }
(cd "$work" && "$bin/proofkv-verify" check cert.json)
echo "check and replay work without torch, numpy, z3, hypothesis, mpmath and jinja2"
