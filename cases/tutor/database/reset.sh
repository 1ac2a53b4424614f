#!/bin/sh
# The rows as they were before anybody saved: the socket of MariaDB, and the last version of the code that was made with the rows.
set -eu
mariadb --no-defaults --user=root --socket="$1" --database=tutor --execute="
  DELETE FROM evaluation; DELETE FROM execution; DELETE FROM compilation; DELETE FROM code WHERE id > $2;"
