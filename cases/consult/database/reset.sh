# The stores as they were: the votes of the first start, and nothing in Redis. `matrix.yaml` and `tune.yaml` run this before each trial.
set -eu
psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --host 127.0.0.1 --port 15432 --username consult --dbname consult \
  --file "$(dirname "$0")/reset.sql"
redis-cli -h 127.0.0.1 -p 16379 FLUSHALL
