# Secure Boot: the module that was built here is not signed.
machine
gpu ''
text /sys/kernel/security/lockdown 'none [integrity] confidentiality'
look --
