#!/bin/sh
# Print the instruction sets of this processor that a compiler for it may use, as Linux names them, in one line.
# "$1", where given, is read in place of /proc/cpuinfo. Of features of another kind a new kernel brings new ones.

simd='pni|ssse3|sse4_1|sse4_2|sse4a|avx|avx2|avx512.*|avx_.*|avx10.*|amx.*|fma|fma4|f16c|xop'
other='aes|vaes|pclmulqdq|vpclmulqdq|gfni|sha_ni|abm|adx|bmi1|bmi2|cx16|lahf_lm|movbe|popcnt|prefetchw|3dnowprefetch|tbm'
arm='asimd.*|fp|fphp|sve.*|sme|sme2.*|sme_.*|i8mm|bf16|atomics|crc32|sha[0-9]*|sm[34]|pmull|fcma|jscvt|lrcpc|ilrcpc|dotprod'

sed -n -e '/^\(flags\|Features\)[^:]*:/{s/^[^:]*://p;q}' "${1:-/proc/cpuinfo}" 2>/dev/null |
    tr -s ' \t' '\n' | grep -Ex "$simd|$other|$arm" | LC_ALL=C sort | tr '\n' ' '
