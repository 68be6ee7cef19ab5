# Prints a C prototype for each function of an .api file that cuGetProcAddress knows, or with -v all=1 of all of
# them, twins included; each after a line that only compiles if the headers above have declared the name already.

$1 == "library" {
	result = $4
}

$1 !~ /^[0-9]+$/ || $2 == "data" || ($3 == "-" && !all) {
	next
}

{
	text = $5
	for (i = 6; i <= NF; i++)
		text = text " " $i
	count++
	twin[count] = $4 == "-" ? "" : "_" substr($4, 1, index($4, ":") - 1)
	if ($2 == "alias") {
		name[count] = $5
		target[count] = $7
		next
	}
	name[count] = substr(text, 1, index(text, "(") - 1)
	text = ", " substr(text, index(text, "(") + 1)
	while (match(text, /, (drop|inout|in|out|host)\??(\([^)]*\))? /))
		text = substr(text, 1, RSTART + 1) substr(text, RSTART + RLENGTH)
	match(name[count], /[A-Za-z0-9_]+$/)
	returned = substr(name[count], 1, RSTART - 1)
	name[count] = substr(name[count], RSTART)
	type[name[count]] = returned ? returned : result " "
	args[name[count]] = substr(text, 3)
}

END {
	for (i = 1; i <= count; i++) {
		of = target[i] ? target[i] : name[i]
		prototype(name[i], type[of], args[of])
		if (twin[i])
			prototype(name[i] twin[i], type[of], args[of])
	}
}

function prototype(name, type, args) {
	print "extern __typeof__(" name ") " name ";"
	print type name "(" args ";"
}
