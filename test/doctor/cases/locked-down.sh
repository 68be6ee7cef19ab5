# Secure Boot: the locally built kernel module is not signed.
machine
gpu ''
text /sys/kernel/security/lockdown 'none [integrity] confidentiality'
look --
