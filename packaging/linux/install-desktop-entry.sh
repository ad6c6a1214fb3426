#!/bin/sh
# Makes, or with --remove removes, Outrider's entry in the menus of this user's desktop: three files in the user's own
# folder for such things, whose caches are refreshed.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
data=${XDG_DATA_HOME:-$HOME/.local/share}
entry=$data/applications/outrider.desktop
icon=$data/icons/hicolor/scalable/apps/outrider.svg
mime=$data/mime/packages/outrider.xml

refresh() {
    # Desktops notice by themselves too, only later.
    if command -v update-desktop-database >/dev/null; then
        update-desktop-database -q "$data/applications" || true
    fi
    if command -v update-mime-database >/dev/null && [ -d "$data/mime/packages" ]; then
        update-mime-database "$data/mime" || true
    fi
}

case ${1-} in
--remove)
    rm -f -- "$entry" "$icon" "$mime"
    refresh
    echo "The menu entry is removed."
    exit 0
    ;;
'') ;;
*)
    echo "usage: $0 [--remove]" >&2
    exit 2
    ;;
esac

# In an entry's command these signs have a meaning of their own, and there is no way round a line break.
case $here in
*[\"\`\$\\%]* | *'
'*)
    echo "$0: a menu cannot start programs from this folder, for the signs in its name: $here" >&2
    exit 1
    ;;
esac

mkdir -p -- "$data/applications" "${icon%/*}" "${mime%/*}"
while IFS= read -r line; do
    case $line in
    Exec=*) printf 'Exec="%s/outrider" %%f\n' "$here" ;;
    *) printf '%s\n' "$line" ;;
    esac
done <"$here/share/outrider.desktop" >"$entry"
cp -- "$here/share/outrider.svg" "$icon"
cp -- "$here/share/outrider-mime.xml" "$mime"
refresh
echo "Outrider is in the menu. Call this again after the folder was moved."
