# Lists the typedef declarations of a preprocessed header, one name on each line:
#
#	E constant		of an enum
#	T type
#	M type member		member.inner for named structures inside
#
# of the types whose names match -v only=REGEX; without it, CUDA's.
#
# Reads the whole input as a stream of tokens and looks at statements that begin with typedef.

{
	gsub(/[][{}()*,;=]/, " & ")
	n = split($0, word, /[ \t]+/)
	for (i = 1; i <= n; i++)
		if (word[i] != "")
			token[++count] = word[i]
}

END {
	for (at = 1; at <= count; at = next_statement(at))
		if (token[at] == "typedef")
			typedef(at, next_statement(at) - 1)
}

function is_name(s) {
	return s ~ /^[A-Za-z_][A-Za-z_0-9]*$/
}

# The token that closes the bracket at position p.
function closing(p, depth) {
	for (depth = 0; p <= count; p++) {
		if (token[p] ~ /^[[({]$/)
			depth++
		else if (token[p] ~ /^[])}]$/ && --depth == 0)
			return p
	}
	return count
}

# Behind the semicolon, or behind the body of a function.
function next_statement(p, kind) {
	for (kind = token[p]; p <= count; p++) {
		if (token[p] == ";")
			return p + 1
		if (token[p] ~ /^[[({]$/) {
			if (token[p] == "{" && kind !~ /^(typedef|struct|union|enum)$/)
				return closing(p) + 1
			p = closing(p)
		}
	}
	return p
}

# The name that tokens from..to declare: the last one outside brackets, or the one in (*name).
function declared(from, to, p, name) {
	for (p = from; p <= to; p++) {
		if (token[p] == "(" && token[p + 1] == "*")
			return token[p + 2]
		if (token[p] ~ /^[[(]$/)
			p = closing(p)
		else if (is_name(token[p]))
			name = token[p]
	}
	return name
}

function typedef(from, to, p, name) {
	name = declared_type(from, to)
	if (name == "" || name !~ (only ? only : "^(CU|cuuint|cl_|GL|EGL|Vdp)"))
		return
	print "T", name
	for (p = from; p < to && token[p] != "{"; p++)
		;
	if (token[p] != "{")
		return
	if (token[from + 1] == "enum")
		constants(p + 1, closing(p) - 1)
	else
		members(name, "", p + 1, closing(p) - 1)
}

# Nothing for a function type, which has no size.
function declared_type(from, to, p) {
	for (p = from; p < to; p++) {
		if (token[p] == "{")
			return declared(closing(p) + 1, to - 1)
		if (token[p] == "(" && token[p + 1] != "*")
			return ""
	}
	return declared(from, to - 1)
}

function constants(from, to, p, fresh) {
	fresh = 1
	for (p = from; p <= to; p++) {
		if (fresh && is_name(token[p]))
			print "E", token[p]
		fresh = token[p] == ","
		if (token[p] == "(")
			p = closing(p)
	}
}

function members(type, prefix, from, to, p, inner, start) {
	for (p = from; p <= to; p++) {
		inner = 0
		for (start = p; p <= to && token[p] != ";"; p++) {
			if (token[p] == "{") {
				inner = p
				p = closing(p)
			} else if (token[p] ~ /^[[(]$/) {
				p = closing(p)
			} else if (token[p] == ",") {
				print "M", type, prefix declared(start, p - 1)
				start = p + 1
			}
		}
		if (inner && closing(inner) == p - 1) {
			members(type, prefix, inner + 1, p - 2)
		} else if (inner) {
			print "M", type, prefix token[p - 1]
			members(type, prefix token[p - 1] ".", inner + 1, closing(inner) - 1)
		} else {
			print "M", type, prefix declared(start, p - 1)
		}
	}
}
