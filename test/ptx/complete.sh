#!/bin/sh
# Checks that every instruction form of milestones 1 and 2 (../ptx-parse/forms.txt) has a spec file here, FORM.ptx or
# FORM-SUFFIX.ptx, that runs the form and states the expected result.
cd "$(dirname "$0")" || exit 1
tested=$(find . -name '*.ptx' -exec awk '
	FNR == 1 {
		name = FILENAME
		sub(/.*\//, "", name)
		sub(/\.ptx$/, "", name)
		judged = 0
	}
	/^\/\/ >>> (expect|error)/ { judged = 1 }
	/^\t/ && judged {
		form = $1 ~ /^@/ ? $2 : $1
		sub(/;$/, "", form)
		if (name == form || index(name, form "-") == 1)
			print form
	}' {} +)
printf '%s\n' "$tested" | awk '
	FILENAME == "-" { tested[$1] = 1; next }
	$1 == "M1" || $1 == "M2" {
		forms++
		if (!($2 in tested)) {
			print "no file tests " $2
			missing++
		}
	}
	END {
		printf "%d forms, %d without a file\n", forms, missing
		exit missing || forms < 570
	}' - ../ptx-parse/forms.txt
