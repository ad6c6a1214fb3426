#!/bin/sh
# Sign an application and put it into a disk image: make_dmg.sh Outrider.app outrider.dmg
# Untested on a Mac.
#
# Environment, all of it optional:
#   OUTRIDER_SIGN_IDENTITY   a "Developer ID Application" certificate in the keychain; without it: signed ad hoc
#   OUTRIDER_NOTARY_PROFILE  what `notarytool store-credentials` was told to call the account; or these three instead:
#   OUTRIDER_NOTARY_KEY      the file of an App Store Connect API key (.p8)
#   OUTRIDER_NOTARY_KEY_ID   its id
#   OUTRIDER_NOTARY_ISSUER   the id of its issuer
#   SOURCE_DATE_EPOCH        the date of every file in the image, in seconds since 1970
# With an identity but no account the image is signed and not notarised.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
entitlements=$here/entitlements.plist
identity=${OUTRIDER_SIGN_IDENTITY:--}

fail() {
    echo "make_dmg.sh: $1" >&2
    exit 1
}

[ $# -eq 2 ] || fail "usage: make_dmg.sh APP DMG"
app=${1%/}
image=$2
[ "$(uname -s)" = Darwin ] || fail "disk images are made on macOS only."
[ -f "$app/Contents/Info.plist" ] || fail "$app is not an application. Run make_dist.py first."
for tool in codesign hdiutil ditto xattr; do
    command -v "$tool" >/dev/null || fail "$tool is missing. Install Xcode's command line tools: xcode-select --install"
done

# The hardened runtime and a secure time stamp are what notarising asks for; an ad hoc signature takes neither.
sign() {
    if [ "$identity" = - ]; then
        codesign --force --sign - "$@"
    else
        codesign --force --sign "$identity" --options runtime --timestamp "$@"
    fi
}

deepest_first() {
    awk -F / '{ print NF "\t" $0 }' | LC_ALL=C sort -k1,1nr -k2 | cut -f2-
}

# Inside out, each file for itself: `codesign --deep` skips code in unusual places, and would give the programs'
# entitlements to every library. Nothing in the application may be changed after this.
sign_application() {
    find "$app/Contents" -type f ! -path "$app/Contents/MacOS/*" -print | deepest_first | while IFS= read -r path; do
        case $(file -b "$path") in
            *Mach-O*) sign "$path" ;;
        esac
    done
    find "$app/Contents" -type d -name '*.framework' -print | deepest_first | while IFS= read -r path; do
        sign "$path"
    done
    # The main program is signed with the bundle as a whole, by the last line.
    find "$app/Contents/MacOS" -type f ! -name outrider -print | LC_ALL=C sort | while IFS= read -r path; do
        sign --entitlements "$entitlements" "$path"
    done
    sign --entitlements "$entitlements" "$app"
    codesign --verify --deep --strict "$app"
}

# Every file gets the same date. hdiutil adds dates and an identifier of its own: the content repeats, the bytes do not.
set_dates() {
    stamp=$(TZ=UTC0 date -r "${SOURCE_DATE_EPOCH:-0}" +%Y%m%d%H%M.%S)
    find "$1" -exec env TZ=UTC0 touch -h -t "$stamp" {} +
}

make_image() {
    scratch=$(mktemp -d)
    mounted=
    trap 'if [ -n "$mounted" ]; then hdiutil detach -quiet -force "$mounted" || true; fi; rm -rf "$scratch"' EXIT
    trap 'exit 1' HUP INT TERM
    mkdir "$scratch/content"
    ditto "$app" "$scratch/content/$(basename "$app")"
    ln -s /Applications "$scratch/content/Applications"
    cp "$app/Contents/Resources/outrider.icns" "$scratch/content/.VolumeIcon.icns"
    [ -z "${SOURCE_DATE_EPOCH:-}" ] || set_dates "$scratch/content"
    hdiutil create -quiet -volname Outrider -fs HFS+ -format UDRW -srcfolder "$scratch/content" "$scratch/raw.dmg"
    mounted=$scratch/volume
    mkdir "$mounted"
    hdiutil attach -quiet -nobrowse -noautoopen -mountpoint "$mounted" "$scratch/raw.dmg"
    # The Finder's flag for "has an icon of its own" (kHasCustomIcon, 0x0400 in the ninth and tenth byte of 32).
    xattr -wx com.apple.FinderInfo 0000000000000000040000000000000000000000000000000000000000000000 "$mounted"
    hdiutil detach -quiet "$mounted"
    mounted=
    # Made under another name first, so that a half image never looks like a whole one.
    hdiutil convert -quiet "$scratch/raw.dmg" -format UDZO -imagekey zlib-level=9 -o "$scratch/packed.dmg"
    mkdir -p "$(dirname "$image")"
    mv -f "$scratch/packed.dmg" "$image"
}

notarise() {
    if [ -n "${OUTRIDER_NOTARY_PROFILE:-}" ]; then
        set -- --keychain-profile "$OUTRIDER_NOTARY_PROFILE"
    elif [ "${OUTRIDER_NOTARY_KEY:+1}${OUTRIDER_NOTARY_KEY_ID:+1}${OUTRIDER_NOTARY_ISSUER:+1}" = 111 ]; then
        set -- --key "$OUTRIDER_NOTARY_KEY" --key-id "$OUTRIDER_NOTARY_KEY_ID" --issuer "$OUTRIDER_NOTARY_ISSUER"
    else
        echo "Signed, but not notarised: no account is named (OUTRIDER_NOTARY_PROFILE, or OUTRIDER_NOTARY_KEY," \
            "OUTRIDER_NOTARY_KEY_ID and OUTRIDER_NOTARY_ISSUER). macOS will refuse to open it at first."
        return
    fi
    # It ends with 0 also where Apple says no, so what it says is what counts.
    answer=$(xcrun notarytool submit "$image" "$@" --wait 2>&1) || fail "notarytool failed: $answer"
    echo "$answer"
    case $answer in
        *"status: Accepted"*) ;;
        *) fail "Apple did not accept $image; \`xcrun notarytool log\` with the id above tells why." ;;
    esac
    xcrun stapler staple "$image"
    spctl --assess --type open --context context:primary-signature "$image"
}

sign_application
make_image
if [ "$identity" = - ]; then
    echo "Not signed: OUTRIDER_SIGN_IDENTITY is not set. macOS will refuse to open it at first."
else
    codesign --force --sign "$identity" --timestamp "$image"
    notarise
fi
echo "$image"
