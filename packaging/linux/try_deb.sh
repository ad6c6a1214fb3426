#!/bin/bash
# Tries a .deb where nothing else is: installs it in a bare Debian, runs it there, removes it and looks for leftovers.
#
#     try_deb.sh [--suite bookworm] [--mirror URL] [--base TAR] [--recommends] [--models FOLDER] DEB [COMMAND [WORD...]]
#
# The bare system comes from debootstrap (minbase: no Python, no X, no fonts), by default from the mirror that this
# machine uses; --base names an archive to keep it in for the next time. COMMAND runs on this machine, @ROOT@ in its
# words being the system's folder; without one it is the smoke test of the installed program, which loads a model of the
# folder that --models names. Needs root, debootstrap and Xvfb. Everything mounted is mounted in a namespace of its own,
# which the kernel takes down with the last process.
# Exit status: 0 all well, 1 something is wrong (said), 2 wrong usage.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
suite=bookworm
mirror=
base=
recommends=--no-install-recommends
models=

main() {
    local deb
    while [ $# -gt 0 ]; do
        case $1 in
        --suite | --mirror | --base | --models) [ $# -ge 2 ] || usage ;;
        esac
        case $1 in
        --suite) suite=$2 && shift 2 ;;
        --mirror) mirror=$2 && shift 2 ;;
        --base) base=$2 && shift 2 ;;
        --models) models=$(realpath -- "$2") && shift 2 ;;
        --recommends) recommends=--install-recommends && shift ;;
        -*) usage ;;
        *) break ;;
        esac
    done
    [ $# -ge 1 ] || usage
    deb=$(realpath -- "$1") && shift
    [ -f "$deb" ] || fail "there is no file $deb"
    [ "$(id -u)" = 0 ] || fail "only root can install packages, in a chroot too"
    for tool in Xvfb unshare dpkg-deb; do
        command -v "$tool" >/dev/null || fail "$tool is missing"
    done
    [ $# -gt 0 ] || set -- python3 "$here/../smoke_test.py" ${models:+--models "$models"} chroot @ROOT@ /usr/bin/outrider

    # Outside of the namespace nothing is ever mounted in this folder, so that it can simply be deleted.
    scratch=$(mktemp -d "${TMPDIR:-/tmp}/try-deb.XXXXXX")
    trap 'rm -rf --one-file-system -- "$scratch"' EXIT
    chmod 755 "$scratch"
    make_system "$scratch/root"
    # bash runs the trap above only once the child is gone; the child takes all of its processes along.
    TRY_DEB_INSIDE=1 unshare --mount --pid --fork --kill-child=KILL \
        "${BASH_SOURCE[0]}" "$scratch/root" "$deb" "$recommends" "$@"
}

usage() {
    sed -n '4s/^# *//p' "${BASH_SOURCE[0]}" >&2
    exit 2
}

fail() {
    echo "try_deb: $*" >&2
    exit 1
}

say() {
    echo "==> $*"
}

make_system() {
    local root=$1
    mkdir "$root"
    if [ -n "$base" ] && [ -f "$base" ]; then
        tar -C "$root" --numeric-owner -xf "$base"
        return
    fi
    command -v debootstrap >/dev/null || fail "debootstrap is missing; it is a Debian package of that name"
    # The fields in the format are apt's, not the shell's.
    # shellcheck disable=SC2016
    [ -n "$mirror" ] || mirror=$(apt-get indextargets 'Created-By: Packages' --format '$(RELEASE) $(SITE)' |
        sed -n "s/^$suite //p" | head -n 1)
    [ -n "$mirror" ] || fail "this machine has no mirror for $suite; name one with --mirror"
    say "Making a bare Debian ($suite)"
    debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$root.log" 2>&1 ||
        fail "debootstrap failed: $(tail -n 3 "$root.log")"
    if [ -n "$base" ]; then
        tar -C "$root" --numeric-owner -cf "$base.unfinished" . && mv -- "$base.unfinished" "$base"
    fi
}

# From here on: inside the namespace ----------------------------------------------------------------------------------

inside() {
    root=$1 deb=$2 recommends=$3
    shift 3
    wrong=0
    package=$(dpkg-deb -f "$deb" Package)
    mount_what_programs_expect
    assert_no_python "before"
    cp -- "$deb" "$root/package.deb"
    in_root useradd --create-home tester
    say "Updating the lists of packages"
    in_root apt-get -q update >"$root.log" 2>&1 || fail "apt-get update: $(tail -n 3 "$root.log")"

    list_files >"$root.before"
    say "Installing $(basename -- "$deb") ($recommends)"
    in_root apt-get -q -y "$recommends" install /package.deb >"$root.log" 2>&1 ||
        fail "it cannot be installed: $(grep -v '^Get:' "$root.log" | tail -n 15)"
    echo "    $(grep -c '^Setting up' "$root.log") packages came with it, $(du -sxm "$root/usr" | cut -f 1) MB in /usr now"
    assert_no_python "with the package"
    verify_files "as installed"
    list_files >"$root.installed"

    start_display
    say "Running it as an ordinary user"
    as_user outrider --version || note "outrider --version failed"
    as_user outrider-engine generate --max-tokens 16 Hello || note "outrider-engine generate failed"
    as_user outrider --smoke-test >"$root.smoke" || note "outrider --smoke-test failed"
    cut -c 1-300 "$root.smoke"
    say "Running: ${*//@ROOT@/$root}"
    "${@//@ROOT@/$root}" || note "the command failed"
    compare "$root.installed" "the program wrote or removed"
    verify_files "after it has run"

    say "Removing it"
    in_root apt-get -q -y purge "$package" >"$root.log" 2>&1 || note "purge failed: $(tail -n 5 "$root.log")"
    in_root apt-get -q -y --purge autoremove >>"$root.log" 2>&1 || note "autoremove failed: $(tail -n 5 "$root.log")"
    grep -i "directory .* not empty" "$root.log" && note "folders were left because they were not empty"
    compare "$root.before" "left behind or removed too much"
    echo "    of the user's own: $(cd "$root/home/tester" && find . -type f -newer "$root.before" | sort | tr '\n' ' ')"
    [ "$wrong" = 0 ] && say "All is well."
    return "$wrong"
}

mount_what_programs_expect() {
    mount -t proc proc "$root/proc"
    mount -t sysfs -o ro sysfs "$root/sys"
    mount -t tmpfs tmpfs "$root/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
    mkdir -p "$root/tmp/.X11-unix" /tmp/.X11-unix
    mount --bind /tmp/.X11-unix "$root/tmp/.X11-unix"
    # A new process namespace: what reads /proc outside of the chroot must see the same one.
    mount -t proc proc /proc
    cp -L /etc/resolv.conf "$root/etc/resolv.conf"
}

in_root() {
    # apt's proxy on this machine, if it has one, is needed in there too.
    chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        ${http_proxy:+http_proxy="$http_proxy"} "$@"
}

as_user() {
    timeout 180 chroot --userspec=tester:tester "$root" env -i -C /home/tester HOME=/home/tester PATH=/usr/bin:/bin \
        LC_ALL=C.UTF-8 DISPLAY="$DISPLAY" "$@"
}

assert_no_python() {
    local found
    found=$(find "$root/usr/bin" "$root/usr/local/bin" -name 'python*' | head -n 3)
    [ -z "$found" ] || fail "there is a Python in the system $1: $found"
}

start_display() {
    # In this namespace: it ends with us.
    coproc XVFB { exec Xvfb -displayfd 1 -screen 0 1280x960x24 -nolisten tcp -noreset 2>/dev/null; }
    local number
    read -r -t 20 -u "${XVFB[0]}" number || fail "Xvfb does not start"
    export DISPLAY=":$number"
}

# All that is in the system but what changes by itself: kinds and names.
list_files() {
    (cd "$root" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./tmp -o -path ./run \
        -o -path ./home -o -path ./root -o -path ./package.deb -o -path ./var/lib/apt -o -path ./var/lib/dpkg \
        -o -path ./var/log -o -path ./var/cache \) -prune -o -printf '%y %p %l\n' | LC_ALL=C sort)
}

compare() {
    local changed
    changed=$(list_files | LC_ALL=C comm -3 "$1" - | sed 's/^\t/+ /; t; s/^/- /')
    [ -z "$changed" ] && return
    note "$2:"
    head -n 40 <<<"$changed"
}

verify_files() {
    local differing
    differing=$(in_root dpkg --verify "$package" 2>&1) || true
    [ -z "$differing" ] || note "not as packed, $1: $differing"
}

note() {
    echo "try_deb: $*" >&2
    wrong=1
}

if [ "${TRY_DEB_INSIDE-}" = 1 ]; then
    inside "$@"
else
    main "$@"
fi
