# Tsung with a name server of its own.
epmd &
exec tsung "$@"
