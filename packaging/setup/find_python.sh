#!/bin/sh
# Print the first Python that Outrider runs on. "$1", where given, is the only candidate.

candidates=${1:-"python3 python3.13 python3.12 python3.11 /usr/bin/python3"}
seen=""
for name in $candidates; do
    version=$("$name" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue
    case $version in
        3.11 | 3.12 | 3.13)
            command -v "$name"
            exit 0
            ;;
    esac
    case " $seen " in *" $version "*) ;; *) seen="$seen $version" ;; esac
done

if [ -n "$seen" ]; then
    found="found only$seen"
elif [ -n "$1" ]; then
    found="'$1' is not a Python that runs"
else
    found="found none"
fi
echo "Outrider needs Python 3.11, 3.12 or 3.13 ($found)." >&2
echo "Install one of them (on Debian: apt-get install python3 python3-venv), or name it: make PYTHON=/path/to/python3.12" >&2
exit 1
