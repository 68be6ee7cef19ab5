# Prints a C prototype for each function of an .api file that cuGetProcAddress knows, twins included, each
# after a line that only compiles if the headers above have declared the name already.

$1 !~ /^[0-9]+$/ || $3 == "-" {
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
	args[name[count]] = substr(text, 3)
}

END {
	for (i = 1; i <= count; i++) {
		prototype(name[i], args[target[i] ? target[i] : name[i]])
		if (twin[i])
			prototype(name[i] twin[i], args[target[i] ? target[i] : name[i]])
	}
}

function prototype(name, args) {
	print "extern __typeof__(" name ") " name ";"
	print "CUresult " name "(" args ";"
}
