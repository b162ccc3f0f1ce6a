#!/usr/bin/env bash
# make_dataset_test.sh PROGRAM: the folder it writes, the same for the same seed; what it refuses.
set -euo pipefail
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fail() { echo "FAILED: $*" >&2; exit 1; }
expect_exit() {
  local expected=$1 code=0
  shift
  "$@" >out 2>err || code=$?
  [ "$code" = "$expected" ] || fail "$*: exit $code, expected $expected; $(cat err)"
}

"$program" one --classes 12 --per-class 3 --size 40x30 --seed 7 >out
grep -q '^36 JPEGs of 40x30 in 12 classes, ' out || fail "said $(cat out)"
[ "$(find one -name '*.jpg' | wc -l)" = 36 ] || fail "not 36 files"
[ -e one/class00/000000.jpg ] && [ -e one/class11/000002.jpg ] || fail "$(find one)"
"$program" two --classes 12 --per-class 3 --size 40x30 --seed 7 >out
diff -r one two || fail "the same seed drew other pictures"
"$program" three --classes 12 --per-class 3 --size 40x30 --seed 8 >out
if diff -rq one three >out; then fail "another seed drew the same pictures"; fi
if cmp -s one/class00/000000.jpg one/class00/000001.jpg; then fail "two pictures of a class are equal"; fi

expect_exit 3 "$program" one
grep -q 'one exists and is not an empty folder' err || fail "said $(cat err)"
expect_exit 2 "$program"
expect_exit 2 "$program" four --size 40
expect_exit 2 "$program" four --classes 0
expect_exit 2 "$program" four --classes 4x
expect_exit 2 "$program" four --colour red
[ ! -e four ] || fail "a refused command left a folder"
expect_exit 0 "$program" --help
