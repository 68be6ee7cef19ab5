#!/bin/sh
# Regenerate the files in link/ from those in image/: inputs for cuLinkAddData in the format of test/fuzz/link.c.
set -e
cd "$(dirname "$0")"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
PTX=1 FATBIN=2 OBJECT=3 LIBRARY=4 CUBIN=0
byte() { printf '%b' "$(printf '\\0%o' "$1")"; }
part() { # kind, file
	n=$(wc -c <"$2")
	byte "$1"
	for shift in 0 8 16 24; do byte $((n >> shift & 255)); done
	cat "$2"
}
object() { # section, fatbin, object
	printf '.section %s,"a"\n.balign 8\n.incbin "%s"\n' "$1" "$2" | as -o "$3" -
}
head='.version 7.0\n.target sm_70\n.address_size 64\n'
printf "$head"'.extern .func (.param .b32 r) f(.param .b32 a);\n.extern .global .u32 bias;\n.visible .entry k(.param .u64 o)\n{ .reg .b64 d; .reg .b32 x; .param .b32 a; .param .b32 b;\nld.param.u64 d, [o]; ld.global.u32 x, [bias]; st.param.b32 [a], x;\ncall (b), f, (a); ld.param.b32 x, [b]; st.global.u32 [d], x; ret; }\n' >"$tmp/uses.ptx"
printf "$head"'.visible .global .u32 bias = 14;\n.visible .func (.param .b32 r) f(.param .b32 a)\n{ .reg .b32 x; ld.param.b32 x, [a]; mul.lo.u32 x, x, 3; st.param.b32 [r], x; ret; }\n' >"$tmp/has.ptx"
object .nv_fatbin image/ptx-lz4.fatbin "$tmp/one.o"
object __nv_relfatbin image/rdc-lz4.fatbin "$tmp/two.o"
strip "$tmp/one.o" "$tmp/two.o"
echo "no object" >"$tmp/a member with a long name"
(cd "$tmp" && ar rcD good.a "a member with a long name" two.o && ar rcD bad.a one.o two.o)
mkdir -p link
{ part $PTX "$tmp/uses.ptx"; part $PTX "$tmp/has.ptx"; } >link/texts
{ part $PTX "$tmp/uses.ptx"; part $PTX "$tmp/uses.ptx"; } >link/twice
part $FATBIN image/rdc-lz4.fatbin >link/fatbin
part $CUBIN image/sm_90.cubin >link/cubin
part $OBJECT "$tmp/two.o" >link/object
part $LIBRARY "$tmp/good.a" >link/library
part $LIBRARY "$tmp/bad.a" >link/library-twice
{ part $LIBRARY "$tmp/good.a"; part $PTX "$tmp/has.ptx"; part $PTX "$tmp/uses.ptx"; } >link/mixed
